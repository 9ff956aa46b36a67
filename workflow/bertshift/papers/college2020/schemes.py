"""Readings of the way in which BERT Goes to College re-initialised layers, beside each other."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from bertshift.figures import style
from bertshift.papers.college2020 import figure3

LOOKS = {
    "reinit": ("A: σ .02, cut at ±.04", {"color": "#0072B2", "marker": "o"}),
    "reinitb": ("B: σ 1, cut at ±.02", {"color": "#D55E00", "marker": "s"}),
    "reinitc": ("C: σ .02, cut at ±.0004", {"color": "#CC79A7", "marker": "D"}),
    "reinitd": ("D: σ .02, cut at ±.0008", {"color": "#009E73", "marker": "^"}),
}


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """One panel per task, one line per scheme."""
    table = figure3.means(figure3.runs(inputs))
    panels = table.groupby("panel", sort=False)
    figure = Figure((style.TEXT_WIDTH, 2.6), layout="constrained")
    for axes, (_, rows) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels):
        figure3.draw_panel(axes, rows, LOOKS)
    lines = figure.axes[0].get_legend_handles_labels()[0]
    figure.legend(handles=lines, loc="outside upper center", ncols=len(lines))
    return style.captioned(figure, table)
