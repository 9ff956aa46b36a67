"""Readings of the way in which BERT Goes to College re-initialised layers, beside each other."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from bertshift.figures import style
from bertshift.papers.college2020 import reinitialised_layers

LABELS = {
    "reinit": "A: σ .02, cut at ±.04", "reinitb": "B: σ 1, cut at ±.02", "reinitc": "C: σ .02, cut at ±.0004",
    "reinitd": "D: σ .02, cut at ±.0008"
}  # fmt: skip
LOOKS = {
    "reinit": {"color": "#0072B2", "marker": "o"}, "reinitb": {"color": "#D55E00", "marker": "s"},
    "reinitc": {"color": "#CC79A7", "marker": "D"}, "reinitd": {"color": "#009E73", "marker": "^"}
}  # fmt: skip


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """One panel per task, one line per scheme."""
    table = reinitialised_layers.tidy(reinitialised_layers.runs(inputs))
    panels = list(table["panel"].unique())
    figure = Figure((style.TEXT_WIDTH, 2.6), layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, panel in zip(grid, panels, strict=True):
        reinitialised_layers.draw_panel(axes, table[table["panel"] == panel], LABELS, LOOKS)
    lines = grid[0].get_legend_handles_labels()[0]
    figure.legend(handles=lines, loc="outside upper center", ncols=len(lines))
    return style.captioned(figure, table)
