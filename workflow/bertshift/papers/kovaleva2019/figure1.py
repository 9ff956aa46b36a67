"""Kovaleva et al. 2019, Figure 1: a typical attention map of each class."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bertshift.figures import style
from bertshift.papers.kovaleva2019 import attention_maps
from bertshift.patterns.features import CLASSES
from bertshift.rows import statistics

CMAP = "Reds"  # the paper's own


def tidy(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Of each class the map that the classifier is surest of, among all models and replicates; value: how sure."""
    rows = attention_maps.rows_of(inputs, "most_confident")
    bad = statistics.failures(rows)
    rows = rows if bad.all() else rows[~bad]
    surest = rows.sort_values("value", ascending=False, kind="stable").drop_duplicates("pattern")
    table = attention_maps.drawn(surest)
    return table.sort_values("pattern", key=lambda column: column.map(CLASSES.index), ignore_index=True)


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Five maps side by side, each with a scale of its own."""
    table = tidy(inputs)
    figure = Figure((style.TEXT_WIDTH, 1.95), layout="constrained")
    for axes, row in zip(figure.subplots(1, len(CLASSES)), table.itertuples(), strict=True):
        axes.set_title(attention_maps.LABELS[row.pattern], pad=4)
        attention(axes, row)
    return style.captioned(figure, table)


def attention(axes: Axes, row) -> None:
    axes.grid(False)
    axes.imshow(attention_maps.matrix_of(row), CMAP, vmin=0, interpolation="nearest")
    special = [int(position) - 1 for position in str(row.special).split()]
    tokens = row.tokens.split(" ")
    words = [tokens[position] for position in special]
    axes.set_xticks(special, words, rotation=90)
    axes.set_yticks(special, words)
    axes.tick_params(length=1.5, pad=1)
    axes.tick_params(axis="x", pad=3.5)  # clear of the lowest name at the left
    place = f"{style.label_of(row.panel)}, L{row.layer}H{row.head}"
    axes.set_xlabel(f"{place}\np = {row.value:.2f}")
