"""The training loss of every step of a model's replicates, as it is and smoothed."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bertshift.models.source import origins
from bertshift.rows.provenance import failed

DECAY = 0.98
POINTS = 100  # of a thinned curve: as many as a small panel can show


def loss_table(
    steps: Sequence[pd.DataFrame], outcomes: Sequence[Mapping], provenance: Mapping, data: str
) -> pd.DataFrame:
    """Make a row for each replicate and step: the batch's loss (`value`) and the moving average so
    far (`smoothed`).

    `steps` and `outcomes` are the replicates' steps.tsv and scores.json in the order of
    provenance["runs"]; `data` says what they were trained on.
    """
    origin_of_run = origins(provenance["checkpoints"])
    tables = []
    for (init, seed), run, outcome in zip(provenance["runs"], steps, outcomes, strict=True):
        columns = {
            "metric": "loss",
            "model": provenance["model"],
            "task": provenance["task"],
            "init": init,
            "seed": seed,
            "step": run["step"],
            "value": run["loss"],
            "smoothed": moving_average(run["loss"]),
            "learning_rate": run["learning_rate"],
            "failed": failed(outcome),
            "scale": provenance["scale"],
            **origin_of_run[str(init)],
            "data": data,
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def moving_average(values: Sequence[float], decay: float = DECAY) -> np.ndarray:
    """Average losses exponentially, divided by the weights given so far, so that the average
    starts at the first value."""
    return pd.Series(values, dtype=np.float64).ewm(alpha=1 - decay).mean().to_numpy()


def thinned(losses: Sequence[float], points: int = POINTS) -> pd.DataFrame:
    """Thin losses to at most `points` rows: a step, the mean loss since the row before (`value`),
    the moving average (`smoothed`)."""
    losses = np.asarray(losses, dtype=np.float64)
    rows = min(points, len(losses))
    bounds = np.unique(np.linspace(0, len(losses), rows + 1).round().astype(int))
    starts = bounds[:-1]
    steps = bounds[1:]
    means = np.add.reduceat(losses, starts) / (steps - starts)
    smoothed = moving_average(losses)[steps - 1]
    return pd.DataFrame({"step": steps, "value": means, "smoothed": smoothed})
