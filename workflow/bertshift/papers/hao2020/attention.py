"""Hao et al. 2020, Figures 1, 4 and 6: Jensen-Shannon divergence of two models' attention, by layer.

The two are a model and its pretrained self, two seeds of a model, or models of two tasks.
"""

from collections.abc import Mapping

import pandas as pd

from bertshift.figures import numbers, style
from bertshift.papers.hao2020 import change


def tidy(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Divergence in nats, mean over heads (head 0), by comparison and layer."""
    rows = numbers.stack(inputs, "js", ["nats"])
    return numbers.join(numbers.ours(change.named(rows[rows["head"] == 0], "js"), "panel", "series"))


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """One line a comparison, with a band over replicates."""
    table = tidy(inputs)
    figure, axes = change.curves(table)
    axes.set(ylabel="JS divergence of attention (nats)", ylim=(0, None))
    return change.finished(figure, axes, table)
