"""Curves of how far two models are apart, layer by layer: what `attention` and `hidden_states` share."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bertshift.figures import layers, style

# Pairs of tasks, in colours that no task of theirs has.
PAIRS = [("#D55E00", "s"), ("#009E73", "^"), ("#000000", "X"), ("#5E4FA2", ">"), ("#8C510A", "h")]


def named(rows: pd.DataFrame, panel: str) -> pd.DataFrame:
    """`series` is the model, or both models where they are two, each fine-tuned."""
    alone = (rows["ref_seed"] == 0) | (rows["model"] == rows["reference"])
    return rows.assign(
        panel=panel, series=rows["model"].where(alone, rows["model"] + "_vs_" + rows["reference"])
    )


def axes_of(table: pd.DataFrame) -> tuple[Figure, Axes]:
    """Wide where the legend has many lines."""
    wide = table["series"].nunique() > 5
    figure = Figure((style.TEXT_WIDTH if wide else style.COLUMN_WIDTH, 2.5), layout="constrained")
    return figure, figure.add_subplot()


def looks_of(table: pd.DataFrame) -> dict[str, dict]:
    """The look of each series: that of its task, or one of PAIRS."""
    names = list(table["series"].unique())
    pairs = [name for name in names if "_vs_" in name]
    cycle = {name: PAIRS[number % len(PAIRS)] for number, name in enumerate(pairs)}
    return {
        name: dict(zip(("color", "marker"), cycle[name], strict=True))
        if name in cycle
        else style.look_of(style.task_of(name))
        for name in names
    }


def curves(axes: Axes, table: pd.DataFrame) -> None:
    """Beside pairs of tasks, seeds of one task are thin and dashed: the floor of what can be told apart."""
    looks = looks_of(table)
    floor = {"linestyle": "--", "linewidth": 0.9, "marker": ""}
    paired = any("_vs_" in series for series in looks)
    for series, rows in table.groupby("series", sort=False):
        beside = paired and "_vs_" not in series
        label = f"{style.label_of(series)}{' seeds' * beside}{style.mark_of(rows)}"
        layers.curve(axes, rows, label, looks[series] | (floor if beside else {}))


def finished(figure: Figure, axes: Axes, table: pd.DataFrame, *notes: str) -> style.Drawn:
    """With the axis of layers, a legend and a caption."""
    layers.layer_axis(axes, table["layer"])
    layers.legend_above(axes, 2 if figure.get_figwidth() == style.COLUMN_WIDTH else 3)
    return style.captioned(figure, table, *notes, style.failures(table))
