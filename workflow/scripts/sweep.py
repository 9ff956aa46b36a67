import json
from functools import partial
from pathlib import Path

from bertshift.jobs import job

with job(snakemake):
    import pandas as pd

    from bertshift.data.examples import read_examples, read_sidecar
    from bertshift.files import write_tsv
    from bertshift.models.variants import apply_variants
    from bertshift.naming import parse_variant
    from bertshift.tables import score_table
    from bertshift.training.finetuning import finetune
    from bertshift.training.settings import TrainSettings
    from bertshift.training.sweeps import sweep

    settings = json.loads(snakemake.params.settings)
    start, data = Path(snakemake.params.start), Path(snakemake.input.examples).parent
    rows, sidecar = {split: read_examples(data, split) for split in ("train", "dev")}, read_sidecar(data)

    def run(name: str, folder: Path) -> dict:
        one = settings["runs"][name]
        variants = [parse_variant(text) for text in one["variants"]]
        return finetune(
            one["task"], rows, sidecar, start, folder, TrainSettings(**one["training"]), one["seed"],
            prepare=partial(apply_variants, variants=variants, seed=one["seed"]),
        )  # fmt: skip

    scores = sweep(settings["runs"], run, Path(snakemake.output[0]).with_suffix(""))
    tables = [
        score_table([score], settings["provenance"] | {"model": name}, sidecar).assign(
            position=settings["positions"][name], layers=settings["layers"]
        )
        for name, score in scores.items()
    ]
    write_tsv(snakemake.output[0], pd.concat(tables))
