from bertshift.running.jobs import job

with job(snakemake):
    import yaml

    from bertshift.figures import style
    from bertshift.papers.by_name import draw
    from bertshift.rows.table import Table

    with open(snakemake.input.published, encoding="utf-8") as file:
        published = yaml.safe_load(file)
    tables = {path: Table.read(path) for path in snakemake.input.tables}
    name = f"{snakemake.wildcards.paper}/{snakemake.wildcards.item}"
    outputs = snakemake.output
    style.save(draw(name, tables, published), outputs.png, outputs.tsv, outputs.txt, outputs.pdf)
