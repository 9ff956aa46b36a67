import json
from pathlib import Path

from bertshift.jobs import job

with job(snakemake):
    from bertshift.models.source import carry_source
    from bertshift.training.finetuning import trainer

    settings = json.loads(snakemake.params.settings)
    settings["training"]["code"] = snakemake.params.code
    start, folder = Path(snakemake.params.start), Path(snakemake.output[0]).parent
    trainer(start, Path(snakemake.input.examples).parent)(settings, folder)
    carry_source(start, folder)
