import json
import os
from pathlib import Path

from bertshift.jobs import job

with job(snakemake):
    from bertshift.world.generate import generate_world

    settings = json.loads(snakemake.params.settings)
    generate_world(Path(os.path.commonpath(snakemake.output)), settings["sizes"], settings["seed"])
