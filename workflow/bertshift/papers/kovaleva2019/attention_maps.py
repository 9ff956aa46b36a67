"""Whole attention maps: Figures 1 and 10 of Kovaleva et al. 2019."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from bertshift.figures import grids, numbers, style
from bertshift.papers.kovaleva2019 import panels
from bertshift.patterns.features import CLASSES
from bertshift.rows import statistics

COLUMNS = [
    "panel", "pattern", "layer", "head", "example", "length", "tokens", "special", "weights", *numbers.VALUES
]  # fmt: skip
LABELS = {
    "vertical": "Vertical", "diagonal": "Diagonal", "vertical_diagonal": "Vertical + diagonal", "block": "Block",
    "heterogeneous": "Heterogeneous"
}  # fmt: skip
TYPICAL, ALL = "Reds", "Oranges"  # the paper's own
ACROSS = 2


def rows_of(inputs: Mapping[str, pd.DataFrame], variant: str) -> pd.DataFrame:
    """Every map of a variant, one row each; `panel` is its model, `value` how sure the classifier is of `pattern`."""
    rows = numbers.rows_of(inputs, "pattern_map")
    return rows[rows["variant"] == variant].assign(panel=lambda rows: rows["model"])


def drawn(rows: pd.DataFrame) -> pd.DataFrame:
    """The table of a figure of single maps: nothing is averaged."""
    by = [column for column in COLUMNS if column not in numbers.VALUES]
    one_by_one = numbers.means(rows, [*by, "init", "seed"], ["model"]).assign(unit="map")
    return numbers.join(one_by_one, columns=COLUMNS).astype({"length": int})


def matrix_of(row) -> np.ndarray:
    """[length, length] of a row of the table."""
    return np.array(row.weights.split(), float).reshape(row.length, row.length)


def figure1(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Of each class the map that the classifier is surest of, among all models and replicates: five side by side, each with
    a scale of its own."""
    rows = rows_of(inputs, "most_confident")
    bad = statistics.failures(rows)
    rows = rows if bad.all() else rows[~bad]
    table = drawn(rows.sort_values("value", ascending=False, kind="stable").drop_duplicates("pattern"))
    table = table.sort_values("pattern", key=lambda column: column.map(CLASSES.index), ignore_index=True)
    figure, [line] = style.grid(1.95, columns=len(CLASSES))
    for axes, row in zip(line, table.itertuples(), strict=True):
        axes.set_title(LABELS[row.pattern], pad=4)
        _map(axes, row)
    return style.captioned(figure, table)


def _map(axes: Axes, row) -> None:
    axes.grid(False)
    axes.imshow(matrix_of(row), TYPICAL, vmin=0, interpolation="nearest")
    special = [int(position) - 1 for position in str(row.special).split()]
    tokens = row.tokens.split(" ")
    words = [tokens[position] for position in special]
    axes.set_xticks(special, words, rotation=90)
    axes.set_yticks(special, words)
    axes.tick_params(length=1.5, pad=1)
    axes.tick_params(axis="x", pad=3.5)  # clear of the lowest name at the left
    place = f"{style.label_of(row.panel)}, L{row.layer}H{row.head}"
    axes.set_xlabel(f"{place}\np = {row.value:.2f}")


def figure10(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """All maps of one input a model, of its first replicate: a grid of layers x heads, all on one scale."""
    table = drawn(rows_of(inputs, "one_input"))
    models = list(table.groupby("panel", sort=False))
    down = -(-len(models) // ACROSS)
    height = 0.5 + 3 * table["layer"].max() / table["head"].max()  # the cells are squares
    figure, grid = style.grid(height * down, down, ACROSS)
    norm = Normalize(0, max(matrix_of(row).max() for row in table.itertuples()))
    for axes, (model, rows) in zip(grid.flat, models):
        _mosaic(axes, rows, norm)
        first = rows.iloc[0]
        axes.set_title(f"{style.label_of(model)}, {first['example']} ({first['length']} tokens)", pad=4)
    for axes in grid.flat[len(models) :]:
        axes.axis("off")
    panels.colour_bar(grid, norm, ALL, aspect=20, fraction=0.02, pad=0.01, label="attention")
    return style.captioned(figure, table)


def _mosaic(axes: Axes, rows: pd.DataFrame, norm: Normalize) -> None:
    """All maps in one image, a gap between them; layer 1 on top."""
    layers, heads, length = rows["layer"].max(), rows["head"].max(), rows["length"].iloc[0]
    gap = max(1, length // 12)
    step = length + gap
    image = np.full((layers * step - gap, heads * step - gap), np.nan)
    for row in rows.itertuples():
        top, left = (row.layer - 1) * step, (row.head - 1) * step
        image[top : top + length, left : left + length] = matrix_of(row)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.imshow(np.ma.masked_invalid(image), colormaps[ALL].with_extremes(bad="#cfcfcf"), norm)
    for axis, count, name in ((axes.xaxis, heads, "head"), (axes.yaxis, layers, "layer")):
        axis.set_ticks([(number - 1) * step + length / 2 for number in grids.ends(count)], grids.ends(count))
        axis.set_label_text(name)
    axes.tick_params(length=0, pad=2)
