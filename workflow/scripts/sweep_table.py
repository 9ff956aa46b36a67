from bertshift.running.jobs import job

with job(snakemake):
    import pandas as pd

    from bertshift.files import read_tsv, write_tsv
    from bertshift.rows.table import concatenate

    concatenate(snakemake.output.scores, snakemake.input.scores)
    write_tsv(snakemake.output.losses, pd.concat(map(read_tsv, snakemake.input.losses)))
