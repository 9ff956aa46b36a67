from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.models.source import carry_source
    from bertshift.training.finetuning import trainer

    settings["training"]["code"] = snakemake.params.code
    start, folder = (Path(files[0]).parent for files in (snakemake.input.start, snakemake.output))
    trainer(start, Path(snakemake.input.examples).parent)(settings, folder)
    carry_source(start, folder)
