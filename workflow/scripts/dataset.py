import json
from pathlib import Path

from bertshift import network
from bertshift.jobs import job

source = json.loads(snakemake.params.source)
if source["source"] == "hub":
    network.allow()

with job(snakemake):
    from bertshift.data.prepare import prepare_from_hub, prepare_from_mirror

    directory = Path(snakemake.output[0]).parent
    if source["source"] == "hub":
        prepare_from_hub(source["name"], source["spec"], directory, Path(source["cache"]))
    else:
        prepare_from_mirror(
            source["name"], source["spec"], Path(source["mirror"]), directory, source["source"]
        )
