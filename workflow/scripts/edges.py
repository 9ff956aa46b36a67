import json
from pathlib import Path

from bertshift.jobs import job

with job(snakemake):
    from bertshift.data.edges.prepare import prepare_edges

    source = json.loads(snakemake.params.source)
    folder = Path(snakemake.output[0]).parent
    prepare_edges(source["name"], source["spec"], Path(source["root"]), folder, source["origin"])
