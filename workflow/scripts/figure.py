from bertshift.jobs import job

with job(snakemake):
    import yaml

    from bertshift.files import read_tsv
    from bertshift.plots import catalogue, style

    with open(snakemake.input.published, encoding="utf-8") as file:
        published = yaml.safe_load(file)
    tables = {path: read_tsv(path) for path in snakemake.input.tables}
    figure, table = catalogue.draw(snakemake.params.name, tables, published)
    style.save(figure, table, snakemake.output.png, snakemake.output.pdf, snakemake.output.tsv)
