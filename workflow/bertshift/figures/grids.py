"""Heat maps, and tables with coloured cells."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LinearSegmentedColormap

LOSS_TO_GAIN = LinearSegmentedColormap.from_list("loss to gain", ["#F0A070", "#FFFFFF", "#80B8DE"])
# Positions of one, two or three lines of text in a cell: shares of its row, from the middle.
LINES = {0: (), 1: (0.02,), 2: (-0.18, 0.18), 3: (-0.29, 0, 0.29)}


def ends(count: int) -> list[int]:
    """Choose the numbers that stay legible along a small panel: first, middle, last."""
    return sorted({1, (count + 1) // 2, count})


def ticks(axis: Axis, numbers: Iterable[int], words: Sequence[str] | None = None) -> None:
    """Set ticks of a heat map at its rows or columns of these numbers, counted from 1."""
    numbers = list(numbers)
    axis.set_ticks([number - 0.5 for number in numbers], numbers if words is None else words)


def heat_map(
    axes: Axes, matrix: pd.DataFrame | np.ndarray, absent: str = "not in\nthe paper", **look
) -> None:
    """Draw a matrix with its first row on top, or the words `absent` if there is nothing to draw.
    Row and column k lie between k − 1 and k."""
    axes.grid(False)
    if not matrix.size:
        write_absent(axes, absent)
        return
    look = {"linecolor": "face", "linewidths": 0.15, "cbar": False} | look
    labels = {name: look.pop(name, False) for name in ("xticklabels", "yticklabels")}
    seaborn.heatmap(np.asarray(matrix, float), ax=axes, **labels, **look)
    axes.set(xlabel="", ylabel="")
    axes.tick_params(length=1.5, pad=1)
    if not labels["xticklabels"]:
        ticks(axes.xaxis, ends(matrix.shape[1]))


def write_absent(axes: Axes, words: str) -> None:
    """Write these words in place of a map that there is not."""
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    centred = {"ha": "center", "va": "center", "transform": axes.transAxes}
    axes.text(0.5, 0.5, words, color="#666666", **centred)


def coloured_table(
    axes: Axes,
    fills: np.ndarray,
    across: Iterable[str],
    down: Iterable[str],
    fontsize: float = 8,
    **look,
) -> None:
    """Draw cells [rows, columns] with names. The cell of row y and column x, counted from 0, is
    centred at (x, y)."""
    rows, columns = fills.shape
    edges = np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5
    look = {"edgecolors": "#d9d9d9", "linewidth": 0.5} | look
    axes.pcolormesh(*edges, fills, **look)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
    axes.set_xticks(range(columns), across, fontsize=fontsize)
    axes.set_yticks(range(rows), down, fontsize=fontsize)
    axes.set_ylim(rows - 0.5, -0.5)


def write(
    axes: Axes,
    x: float,
    y: float,
    lines: Sequence[tuple[str, dict]],
    positions: Sequence[float] = (),
) -> None:
    """Write lines of text, each with its look, in the cell with its centre at (x, y); `positions`
    replace those of LINES."""
    for (text, look), position in zip(lines, positions or LINES[len(lines)]):
        look = {"fontsize": 7} | look
        axes.text(x, y + position, text, ha="center", va="center", **look)


def over(axes: Axes, title: str, columns: Iterable[int], above: float = 17) -> None:
    """Write a title over the names of neighbouring columns, at their middle, `above` points over
    the axes."""
    columns = list(columns)
    if columns:
        middle = (columns[0] + columns[-1]) / 2
        axes.annotate(
            title,
            (middle, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, above),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            fontweight="bold",
        )


def number(value: float, signed: bool = False, decimals: int = 1) -> str:
    """Write a number, by default with one decimal, as Merchant et al. 2020 print, with a true
    minus sign; zero has no sign."""
    rounded = round(value, decimals) + 0.0
    sign = "+" if signed and rounded else ""
    return f"{rounded:{sign}.{decimals}f}".replace("-", "−")
