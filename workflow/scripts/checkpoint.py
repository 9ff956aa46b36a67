import json
from pathlib import Path

from bertshift import network
from bertshift.jobs import job

source, shape = json.loads(snakemake.params.source), json.loads(snakemake.params.shape)
if "hub" in source:
    network.allow()

with job(snakemake):
    from bertshift.models.loading import download_checkpoint, import_checkpoint
    from bertshift.models.shape import check_shape

    directory = Path(snakemake.output[0]).parent
    if "hub" in source:
        cache = Path(snakemake.params.cache)
        download_checkpoint(source["hub"], source.get("revision"), directory, cache, source.get("lowercase"))
    else:
        import_checkpoint(Path(source["path"]).expanduser(), directory, lowercase=source.get("lowercase"))
    check_shape(directory, **shape)
