from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.files import write_text
    from bertshift.page.make import make

    write_text(snakemake.output[0], make(settings["entries"], snakemake.input))
