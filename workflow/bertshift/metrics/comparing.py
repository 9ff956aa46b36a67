"""From a metric of two models to its table."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from bertshift.metrics.pairs import Pair
from bertshift.rows.provenance import compared


def metric_table(
    metric: str,
    compare: Callable[[list[Pair]], pd.DataFrame],
    settings: Mapping,
    inputs: Mapping[str, Sequence[str]],
) -> pd.DataFrame:
    """Run one metric over every stimulus and pair of replicates, and say in each row what it was
    made from.

    `inputs` has files: `model` and `reference`, a folder of activations with one for each of
    settings["stimuli"], and the stimuli's `descriptions`; `scores` are a scores.json of every
    fine-tuning that led to either model, and `outcomes` are the scores.json of
    settings["trained"], the runs (model, init, seed) that end in a fine-tuning.
    """
    model, reference = Path(inputs["model"]), Path(inputs["reference"])
    pairs = [
        Pair(
            model / keys["stimuli"] / f"{run}.npz",
            reference / keys["stimuli"] / f"{ref_run}.npz",
            keys,
        )
        for run, ref_run, keys in comparisons(metric, settings)
    ]
    return compared(compare(pairs), settings, inputs)


def comparisons(metric: str, settings: Mapping) -> list[tuple[str, str, dict]]:
    """List (run, the reference's run, the columns that identify the two) of every stimulus and
    pair of replicates."""
    same = {"metric": metric, "model": settings["model"], "reference": settings["reference"]}
    return [
        (
            run,
            ref_run,
            same
            | {
                "stimuli": name,
                "init": init,
                "seed": seed,
                "ref_init": ref_init,
                "ref_seed": ref_seed,
            },
        )
        for name in settings["stimuli"]
        for (run, init, seed), (ref_run, ref_init, ref_seed) in settings["pairs"]
    ]


def model_folders(settings: Mapping, inputs: Mapping[str, str]) -> dict[Path, Path]:
    """Map each activation file of a comparison to its model folder; settings["folders"] has those
    of both sides."""
    return {
        Path(inputs[side]) / name / f"{run}.npz": Path(folder)
        for side, runs in settings["folders"].items()
        for run, folder in runs.items()
        for name in settings["stimuli"]
    }
