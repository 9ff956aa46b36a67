from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as names:
    import yaml

    from bertshift.files import read_tsv, write_text
    from bertshift.papers.gallery import render

    published = {
        Path(file).parent.name: yaml.safe_load(Path(file).read_text()) for file in snakemake.input.published
    }
    captions = {name: Path(file).read_text() for name, file in zip(names, snakemake.input.captions)}
    figures = {name: read_tsv(file) for name, file in zip(names, snakemake.input.figures)}
    write_text(snakemake.output[0], render(figures, read_tsv(snakemake.input.claims), published, captions))
