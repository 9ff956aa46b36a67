"""The pages on which a person looks at the maps to be labelled."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bertshift.figures.style import styled
from bertshift.patterns.classes import CLASSES
from bertshift.patterns.sheet import TABLE

ACROSS = 8
CMAP = "Reds"  # as in figure 1


@styled
def pages(
    table: pd.DataFrame, maps: Sequence[np.ndarray], special: Sequence[np.ndarray]
) -> list[Figure]:
    """Draw a figure a page: each map with its number and proposed class, ticks at special tokens,
    its own scale."""
    return list(_pages(table.assign(place=np.arange(len(table))), maps, special))


def _pages(table, maps, special) -> Iterator[Figure]:
    last = table["page"].max()
    for page, rows in table.groupby("page"):
        down = -(-len(rows) // ACROSS)
        figure = Figure((11, 0.8 + 1.6 * down))
        # One pair of axes for all maps, as axes take longer to draw than maps do.
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, ACROSS * 1.375), ylim=(1.6 * down + 0.8, 0))
        axes.axis("off")
        axes.text(
            0.15,
            0.35,
            f"Page {page} of {last}. In a copy of {TABLE} correct the column `label`:"
            f" {', '.join(CLASSES)}. Query down, key right; ticks: special tokens, and the first.",
            fontsize=9,
        )
        for number, row in enumerate(rows.itertuples()):
            left, top = 0.15 + 1.375 * (number % ACROSS), 0.95 + 1.6 * (number // ACROSS)
            _one(axes, left, top, maps[row.place], special[row.place])
            axes.text(
                left, top - 0.05, f"{row.map}  {row.proposed.replace('_', ' + ')}", fontsize=7.5
            )
        yield figure


def _one(
    axes, left: float, top: float, weights: np.ndarray, special: np.ndarray, side: float = 1.2
) -> None:
    axes.imshow(
        weights,
        CMAP,
        vmin=0,
        extent=(left, left + side, top + side, top),
        aspect="auto",
        interpolation="nearest",
    )
    axes.plot(
        *np.array([(0, 1, 1, 0, 0), (0, 0, 1, 1, 0)]) * side + [[left], [top]],
        color="#888888",
        linewidth=0.5,
    )
    at = (special + 0.5) * side / len(weights)
    edge = np.full_like(at, side)
    axes.plot(
        left + at, top + edge, "|", left - 0 * at, top + at, "_", color="black", markersize=4
    )
