from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.models.source import carry_source
    from bertshift.training.finetuning import trainer

    settings["training"]["code"] = snakemake.params.code
    start = Path(snakemake.input.start[0]).parent
    weights = [file for file in snakemake.output if file.endswith(".safetensors")]
    folders = {
        share: Path(file).parent for share, file in zip(settings["shares"], weights, strict=True)
    }
    train = trainer(start, Path(snakemake.input.examples).parent)
    train(settings, folders)
    for folder in folders.values():
        carry_source(start, folder)
