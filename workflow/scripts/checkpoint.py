import json
import os
from pathlib import Path

from bertshift.jobs import job

for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
    os.environ.pop(name, None)

with job(snakemake):
    from bertshift.models.loading import download_checkpoint, import_checkpoint
    from bertshift.models.shape import check_shape

    source, shape = json.loads(snakemake.params.source), json.loads(snakemake.params.shape)
    directory = Path(snakemake.output[0]).parent
    if "hub" in source:
        cache = Path(snakemake.params.cache)
        download_checkpoint(source["hub"], source.get("revision"), directory, cache)
    else:
        import_checkpoint(Path(source["path"]).expanduser(), directory)
    check_shape(directory, **shape)
