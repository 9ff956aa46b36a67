import json
from pathlib import Path

from bertshift.jobs import job

with job(snakemake):
    import yaml

    from bertshift.files import read_tsv, write_text
    from bertshift.gallery import render

    names = json.loads(snakemake.params.figures)
    published = {
        Path(file).stem: yaml.safe_load(Path(file).read_text()) for file in snakemake.input.published
    }
    captions = {name: Path(file).read_text() for name, file in zip(names, snakemake.input.captions)}
    figures = {name: read_tsv(file) for name, file in zip(names, snakemake.input.figures)}
    write_text(snakemake.output[0], render(figures, read_tsv(snakemake.input.claims), published, captions))
