from bertshift.running.jobs import job

with job(snakemake):
    import yaml

    from bertshift.figures import style
    from bertshift.papers.by_name import draw
    from bertshift.rows.blocks import read_with_blocks

    with open(snakemake.input.published, encoding="utf-8") as file:
        published = yaml.safe_load(file)
    wanted = snakemake.wildcards
    tables = {path: read_with_blocks(path) for path in snakemake.input.tables}
    outputs = (snakemake.output[kind] for kind in ("png", "tsv", "txt", "pdf"))
    style.save(draw(f"{wanted.paper}/{wanted.item}", tables, published), *outputs)
