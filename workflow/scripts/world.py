import os
from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from demo_world.generate import generate_world

    generate_world(Path(os.path.commonpath(snakemake.output)), settings["sizes"], settings["seed"])
