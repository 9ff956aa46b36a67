"""Pages that show the maps to be labelled to a person."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bertshift.figures.style import styled
from bertshift.patterns.classes import CLASSES
from bertshift.patterns.maps import TABLE

COLUMNS = 8
SIDE, COLUMN_WIDTH, ROW_HEIGHT = 1.2, 1.375, 1.6  # inches
LEFT, TOP = 0.15, 0.95  # of the first map
CMAP = "Reds"  # as in figure 1


@styled
def pages(
    table: pd.DataFrame, maps: Sequence[np.ndarray], special: Sequence[np.ndarray]
) -> list[Figure]:
    """Draw a figure a page: each map with its number and proposed class, ticks at special tokens,
    and a color scale for each map."""
    table = table.assign(index=np.arange(len(table)))
    last = table["page"].max()
    return [
        _draw_page(f"Page {page} of {last}", rows, maps, special)
        for page, rows in table.groupby("page")
    ]


def _draw_page(
    title: str, rows: pd.DataFrame, maps: Sequence[np.ndarray], special: Sequence[np.ndarray]
) -> Figure:
    height = 0.8 + ROW_HEIGHT * math.ceil(len(rows) / COLUMNS)
    figure = Figure((COLUMNS * COLUMN_WIDTH, height))
    # One pair of axes for all maps, as axes take longer to draw than maps do.
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, COLUMNS * COLUMN_WIDTH), ylim=(height, 0))
    axes.axis("off")
    axes.text(
        LEFT,
        0.5,
        f"{title}. In a copy of {TABLE} correct the column `label`: {', '.join(CLASSES)}.\n"
        "Query down, key right; ticks: special tokens, and the first.",
        fontsize=9,
    )
    for number, row in enumerate(rows.to_dict("records")):
        line, column = divmod(number, COLUMNS)
        left = LEFT + COLUMN_WIDTH * column
        top = TOP + ROW_HEIGHT * line
        _draw_map(axes, left, top, maps[row["index"]], special[row["index"]])
        label = f"{row['map']}  {row['proposed'].replace('_', ' + ')}"
        axes.text(left, top - 0.05, label, fontsize=7.5)
    return figure


def _draw_map(axes, left: float, top: float, weights: np.ndarray, special: np.ndarray) -> None:
    right = left + SIDE
    bottom = top + SIDE
    axes.imshow(
        weights,
        CMAP,
        vmin=0,
        extent=(left, right, bottom, top),
        aspect="auto",
        interpolation="nearest",
    )
    frame_x = [left, right, right, left, left]
    frame_y = [top, top, bottom, bottom, top]
    axes.plot(frame_x, frame_y, color="#888888", linewidth=0.5)
    ticks = (np.flatnonzero(special) + 0.5) * SIDE / len(weights)
    axes.plot(left + ticks, np.full_like(ticks, bottom), "|", color="black", markersize=4)
    axes.plot(np.full_like(ticks, left), top + ticks, "_", color="black", markersize=4)
