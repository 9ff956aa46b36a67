"""Panels that several figures of Kovaleva et al. 2019 share: a column for each model, heat maps,
and the paper's beside ours."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure

from bertshift.figures import grids, layers, style
from bertshift.rows import labelling, statistics

ACROSS = 7  # models side by side, as many as the paper's tasks
CELL = ["layer", "head"]
NOT_COMPARABLE = "not comparable"
WITH_R = ("r = ", "no r:")  # titles of panels with a correlation


def published_panels(
    published: Mapping, item: str, models: Sequence[str], key: str = "tasks"
) -> Iterator[tuple]:
    """Yield (model, panel) for each model whose task the paper's figure `item` has under `key`."""
    tasks = published[item][key]
    for model in models:
        task = labelling.task_of(model)
        if task in tasks:
            yield model, tasks[task]


def layer_cells(values: Sequence[float]) -> dict:
    """Turn the values of all layers into columns layer, head (0) and value, layers counted
    from 1."""
    return {"layer": list(range(1, len(values) + 1)), "head": 0, "value": values}


def matrix_of(cells: pd.DataFrame, index: str = "layer", columns: str = "head") -> pd.DataFrame:
    return cells.pivot(index=index, columns=columns, values="value")


def correlation(ours: pd.DataFrame, theirs: pd.DataFrame, index: str = "layer") -> float | None:
    """Correlate ours with theirs over the cells (`index`, head) that both have; None where their
    models have different numbers of layers or heads."""
    if not ours[CELL].max().equals(theirs[CELL].max()):
        return None
    pairs = ours.merge(theirs, on=[index, "head"])
    return statistics.correlation(pairs["value_x"], pairs["value_y"])


def agreement(
    ours: pd.DataFrame, theirs: pd.DataFrame, index: str = "layer", ending: str = ""
) -> str:
    """Put the `correlation` into words with this `ending`; empty if `theirs` is empty."""
    if theirs.empty:
        return ""
    r = correlation(ours, theirs, index)
    if r is None:
        return NOT_COMPARABLE
    return style.agreement(r, ending)


def explain_r(figure: Figure, meaning: str) -> str:
    """Write what the r in the titles of a figure's panels is, and where panels have none."""
    titles = [axes.get_title() for axes in figure.axes]
    sentences = []
    if any(mark in title for title in titles for mark in WITH_R):
        sentences.append(f"Of panels, r: {meaning}.")
    if any(NOT_COMPARABLE in title for title in titles):
        sentences.append("Not comparable: a model with other numbers of layers or heads.")
    return " ".join(sentences)


def rows_with_source(
    rows: Mapping[str, tuple[str, str]], table: pd.DataFrame
) -> dict[str, tuple[str, str]]:
    """Select the rows of a figure, {label: (kind, source)}, whose source the table has: a task
    that the paper lacks has no published row."""
    sources = set(table["source"])
    return {label: row for label, row in rows.items() if row[1] in sources}


def without_zero(value: float, digits: int) -> str:
    """Write a number with this number of decimals, without the 0 before them."""
    return f"{value:.{digits}f}".replace("0.", ".", 1)


def columns(models: Sequence[str], rows: Mapping[str, float]) -> tuple[Figure, np.ndarray]:
    """Make a figure with a column of panels for each model, and their axes, [models, rows]; `rows`
    are heights in inches by label.

    At most ACROSS columns lie side by side, further ones in blocks below them.
    """
    across = min(len(models), ACROSS)
    blocks = math.ceil(len(models) / across)
    width = max(style.COLUMN_WIDTH, 0.95 + 0.85 * across)
    height = 0.2 + blocks * sum(rows.values())
    heights = list(rows.values()) * blocks
    figure, grid = style.grid(height, len(heights), across, width, height_ratios=heights)
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.03, wspace=0.02)
    by_block = grid.reshape(blocks, len(rows), across)
    by_model = by_block.swapaxes(1, 2).reshape(-1, len(rows))
    for unused in by_model[len(models) :].flat:
        unused.remove()
    for model, column in zip(models, by_model):
        column[0].set_title(labelling.label_of(model), pad=3)
    return figure, by_model[: len(models)]


def label_rows(grid: np.ndarray, labels: Sequence[str]) -> None:
    """Label rows and their ticks, at the left edge alone."""
    for column in grid:
        for axes, label in zip(column, labels, strict=True):
            at_left_edge = axes.get_subplotspec().is_first_col()
            axes.tick_params(labelleft=at_left_edge)
            axes.set_ylabel(label if at_left_edge else "")


def heat_map(
    axes: Axes, matrix: pd.DataFrame, rows: Sequence[str] = (), aspect: float = 1, **look
) -> None:
    """Draw a matrix, its first row on top. Ticks have the names of its `rows` or, without these,
    the numbers of the first, the middle and the last row."""
    axes.set_box_aspect(aspect)
    grids.heat_map(axes, matrix, **look)
    if not matrix.size:
        return
    if rows:
        grids.ticks(axes.yaxis, range(1, len(rows) + 1), rows)
    else:
        grids.ticks(axes.yaxis, grids.ends(len(matrix)))


def heat_maps(
    table: pd.DataFrame,
    by: Sequence[str],
    rows: Mapping[str, tuple],
    norm: Normalize,
    cmap: str,
    aspect: float = 1,
    kinds: Mapping[str, str] | None = None,
    below: Mapping[str, float] | None = None,
    absent: str = "none",
    **bar,
) -> tuple[Figure, np.ndarray]:
    """Draw a column of heat maps for each panel of `table`; with their axes, [panels, rows].

    `rows` gives the content of each row by its label: values of the columns `by`, the last of
    which is the source. A map has rows of layers, or of the `kinds` of tokens, {kind: word}. A
    published map has its correlation with ours as title. The word `absent` marks an empty map of
    ours. `below` are heights, by label, of further rows, which remain empty. `bar` is for the
    colour bar.
    """
    below = below or {}
    cells = dict(list(table.groupby(["panel", *by])))
    no_cells = table[:0]
    cmap = style.shades(cmap)
    models = list(table["panel"].unique())
    heights = dict.fromkeys(rows, 0.28 + 0.7 * aspect)
    figure, grid = columns(models, heights | below)
    index = "token" if kinds else "layer"
    words = list(kinds.values()) if kinds else []
    for model, column in zip(models, grid):
        for axes, (*content, source) in zip(column, rows.values()):
            shown = cells.get((model, *content, source), no_cells)
            matrix = matrix_of(shown, index)
            if kinds and matrix.size:
                matrix = matrix.reindex(list(kinds))
            look = {"norm": norm, "cmap": cmap}
            if source == "published":
                ours = cells.get((model, *content, "ours"), no_cells)
                axes.set_title(agreement(ours, shown, index), pad=2, fontsize=7)
            else:
                look["absent"] = absent
            heat_map(axes, matrix, words, aspect, **look)
    label_rows(grid, [*rows, *below])
    colour_bar(grid[:, : len(rows)], norm, cmap, **bar)
    return figure, grid


def colour_bar(axes: np.ndarray, norm: Normalize, cmap: str | Colormap, **look) -> Colorbar:
    """Draw one colour bar beside all these axes."""
    look = {"aspect": 40, "fraction": 0.1, "pad": 0.02} | look
    bar = axes.flat[0].figure.colorbar(ScalarMappable(norm, cmap), ax=axes.ravel(), **look)
    bar.outline.set_linewidth(0.4)
    return bar


def legend(figure: Figure, *panels: Axes, **look) -> None:
    """Draw a legend of `panels` above all panels, in as many columns as find room; the figure
    grows by its lines."""
    handles = layers.handles_of(panels)
    columns = int(figure.get_figwidth() // 1.7)
    lines = math.ceil(len(handles) / columns)
    figure.set_figheight(figure.get_figheight() + 0.16 * lines)
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, **look)
