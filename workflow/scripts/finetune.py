from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.models.source import carry_source
    from bertshift.training.finetuning import trainer

    settings["training"]["code"] = snakemake.params.code
    start = Path(snakemake.input.start[0]).parent
    folder = Path(snakemake.output[0]).parent
    train = trainer(start, Path(snakemake.input.examples).parent)
    train(settings, folder)
    carry_source(start, folder)
