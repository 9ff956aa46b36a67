import os
from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from demo_world.generate import generate_world

    directory = Path(os.path.commonpath(snakemake.output))
    generate_world(directory, settings["sizes"], settings["seed"])
