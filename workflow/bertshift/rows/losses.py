"""The training loss of every step of a model's replicates, as it is and smoothed."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bertshift.models.source import origins
from bertshift.rows.provenance import failed

DECAY = 0.98
POINTS = 100  # of a curve that is thinned: as many as a small panel can show


def loss_table(
    steps: Sequence[pd.DataFrame], outcomes: Sequence[Mapping], provenance: Mapping, data: str
) -> pd.DataFrame:
    """Make a row for each replicate and step: the batch's loss (`value`) and the moving average so
    far (`smoothed`).

    `steps` and `outcomes` are the replicates' steps.tsv and scores.json in the order of
    provenance["runs"]; `data` says what they were trained on.
    """
    known = origins(provenance["checkpoints"])
    parts = [
        pd.DataFrame(
            {
                "metric": "loss",
                "model": provenance["model"],
                "task": provenance["task"],
                "init": init,
                "seed": seed,
                "step": table["step"],
                "value": table["loss"],
                "smoothed": moving_average(table["loss"]),
                "learning_rate": table["learning_rate"],
                "failed": failed(outcome),
                "scale": provenance["scale"],
                **known[str(init)],
                "data": data,
            }
        )
        for (init, seed), table, outcome in zip(provenance["runs"], steps, outcomes, strict=True)
    ]
    return pd.concat(parts, ignore_index=True)


def moving_average(values: Sequence[float], decay: float = DECAY) -> np.ndarray:
    """Average losses exponentially, divided by the weights given so far, so that the average
    starts at the first value."""
    return pd.Series(values, dtype=np.float64).ewm(alpha=1 - decay).mean().to_numpy()


def thinned(losses: Sequence[float], points: int = POINTS) -> pd.DataFrame:
    """Thin losses to at most `points` rows: a step, the mean loss since the row before (`value`),
    the moving average (`smoothed`)."""
    losses = np.asarray(losses, dtype=np.float64)
    ends = np.unique(np.linspace(0, len(losses), min(points, len(losses)) + 1).round().astype(int))
    means = np.add.reduceat(losses, ends[:-1]) / np.diff(ends)
    return pd.DataFrame(
        {"step": ends[1:], "value": means, "smoothed": moving_average(losses)[ends[1:] - 1]}
    )
