"""Curves of how far two models are apart, layer by layer: what `attention` and `hidden_states` share."""

from itertools import cycle

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bertshift.figures import layers, style

# Pairs of tasks, in colours that no task of theirs has.
PAIRS = [
    {"color": "#D55E00", "marker": "s"}, {"color": "#009E73", "marker": "^"}, {"color": "#000000", "marker": "X"},
    {"color": "#5E4FA2", "marker": ">"}, {"color": "#8C510A", "marker": "h"},
]  # fmt: skip
FLOOR = {"linestyle": "--", "linewidth": 0.9, "marker": ""}


def named(rows: pd.DataFrame, panel: str) -> pd.DataFrame:
    """`series` is the model, or both models where they are two, each fine-tuned."""
    alone = (rows["ref_seed"] == 0) | (rows["model"] == rows["reference"])
    both = rows["model"] + "_vs_" + rows["reference"]
    return rows.assign(panel=panel, series=rows["model"].where(alone, both))


def looks_of(table: pd.DataFrame) -> dict[str, dict]:
    """The look of each series: that of its task, or one of PAIRS."""
    pairs = cycle(PAIRS)
    return {
        name: next(pairs) if "_vs_" in name else style.look_of(style.task_of(name))
        for name in table["series"].unique()
    }


def curves(table: pd.DataFrame) -> tuple[Figure, Axes]:
    """A figure with one line a series; wide where they are many.

    Beside pairs of tasks, seeds of one task are thin and dashed: the floor of what can be told apart.
    """
    looks = looks_of(table)
    figure = Figure((style.TEXT_WIDTH if len(looks) > 5 else style.COLUMN_WIDTH, 2.5), layout="constrained")
    axes = figure.add_subplot()
    paired = any("_vs_" in series for series in looks)
    for series, rows in table.groupby("series", sort=False):
        beside = paired and "_vs_" not in series
        label = f"{style.label_of(series)}{' seeds' * beside}{style.mark_of(rows)}"
        layers.curve(axes, rows, label, looks[series] | (FLOOR if beside else {}))
    return figure, axes


def finished(figure: Figure, axes: Axes, table: pd.DataFrame, *notes: str) -> style.Drawn:
    """With the axis of layers, a legend and a caption."""
    layers.layer_axis(axes, table["layer"])
    layers.legend_above(axes, 2 if figure.get_figwidth() == style.COLUMN_WIDTH else 3)
    return style.captioned(figure, table, *notes, style.failures(table))
