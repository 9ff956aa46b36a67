from bertshift.running.jobs import job

with job(snakemake) as settings:
    import yaml

    from bertshift.figures import style
    from bertshift.papers.by_name import draw
    from bertshift.rows.blocks import read_with_blocks

    with open(snakemake.input.published, encoding="utf-8") as file:
        published = yaml.safe_load(file)
    tables = {path: read_with_blocks(path) for path in snakemake.input.tables}
    outputs = (snakemake.output[kind] for kind in ("png", "tsv", "txt", "pdf"))
    style.save(draw(settings["name"], tables, published), *outputs)
