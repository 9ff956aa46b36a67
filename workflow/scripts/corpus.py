from pathlib import Path

from bertshift.running import network
from bertshift.running.jobs import job

network.allow()

with job(snakemake) as settings:
    from bertshift.data.edges.download import download

    download(path=Path(snakemake.output[0]), **settings)
