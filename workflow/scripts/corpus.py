from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake, downloads=True) as settings:
    from bertshift.data.edges.download import download

    download(path=Path(snakemake.output[0]), **settings)
