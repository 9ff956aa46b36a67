import json
from functools import partial
from pathlib import Path

from bertshift.jobs import job

with job(snakemake):
    from bertshift.data.examples import read_examples, read_sidecar
    from bertshift.models.variants import apply_variants
    from bertshift.naming import parse_variant
    from bertshift.training.finetuning import finetune
    from bertshift.training.settings import TrainSettings

    settings = json.loads(snakemake.params.settings)
    variants = [parse_variant(text) for text in settings["variants"]]
    kinds = {variant.kind for variant in variants}
    start, data = Path(snakemake.params.start), Path(snakemake.input.examples).parent
    finetune(
        settings["task"],
        {split: read_examples(data, split) for split in ("train", "dev")},
        read_sidecar(data),
        start,
        Path(snakemake.output[0]).parent,
        TrainSettings(**settings["training"]),
        settings["seed"],
        prepare=partial(apply_variants, variants=variants, seed=settings["seed"]),
        head_from=start if "carry" in kinds else None,
    )
