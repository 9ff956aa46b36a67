import json
import os
from pathlib import Path

from bertshift.jobs import job

# The workflow is offline; this rule is what may reach the hub.
for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
    os.environ.pop(name, None)

with job(snakemake):
    from bertshift.data.prepare import prepare_from_hub, prepare_from_mirror

    source = json.loads(snakemake.params.source)
    directory = Path(snakemake.output[0]).parent
    if source["source"] == "hub":
        prepare_from_hub(source["name"], source["spec"], directory, Path(source["cache"]))
    else:
        prepare_from_mirror(source["name"], source["spec"], Path(source["mirror"]), directory)
