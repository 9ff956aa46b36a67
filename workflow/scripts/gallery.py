from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as entries:
    import yaml

    from bertshift.files import read_json, read_tsv, write_text
    from bertshift.page import data
    from bertshift.page.pairs import pairs
    from bertshift.page.render import render
    from bertshift.rows.blocks import read_with_blocks

    published = {
        Path(file).parent.name: yaml.safe_load(Path(file).read_text(encoding="utf-8"))
        for file in snakemake.input.published
    }
    files = zip(
        entries, snakemake.input.figures, snakemake.input.captions, snakemake.input.images, strict=True
    )
    figures = [
        data.figure(entry, read_tsv(table), Path(caption).read_text(encoding="utf-8"), published, image)
        for entry, table, caption, image in files
    ]
    examples = {Path(file).stem: read_json(file) for file in snakemake.input.examples}
    compared = pairs({path: read_with_blocks(path) for path in snakemake.input.tables})
    whole = data.page(figures, read_tsv(snakemake.input.claims), published, compared, examples)
    write_text(snakemake.output[0], render(whole))
