import json
from pathlib import Path

from bertshift.jobs import job

with job(snakemake):
    from bertshift.training.finetuning import trainer

    settings = json.loads(snakemake.params.settings)
    settings["training"]["code"] = snakemake.params.code
    train_run = trainer(Path(snakemake.params.start), Path(snakemake.input.examples).parent)
    train_run(settings, Path(snakemake.output[0]).parent)
