import json
from pathlib import Path

from bertshift import network
from bertshift.jobs import job

network.allow()

with job(snakemake):
    from bertshift.data.edges.download import download

    download(path=Path(snakemake.output[0]), **json.loads(snakemake.params.source))
