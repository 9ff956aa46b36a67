"""Panels that several figures of Kovaleva et al. 2019 share: a column for each model, heat maps,
and the paper's beside ours."""

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


def papers(
    published: Mapping, item: str, models: Sequence[str], key: str = "tasks"
) -> Iterator[tuple]:
    """Find (model, what figure `item` of the paper has under `key` for the model's task), where it
    has something."""
    tasks = published[item][key]
    return (
        (model, tasks[labelling.task_of(model)])
        for model in models
        if labelling.task_of(model) in tasks
    )


def matrix_of(cells: pd.DataFrame, index: str = "layer", columns: str = "head") -> pd.DataFrame:
    return cells.pivot(index=index, columns=columns, values="value")


def correlation(ours: pd.DataFrame, theirs: pd.DataFrame, index: str = "layer") -> float | None:
    """Correlate ours with theirs over the cells (`index`, head) that both have; None where their
    models have different numbers of layers or heads."""
    if not ours[CELL].max().equals(theirs[CELL].max()):
        return None
    both = ours.merge(theirs, on=[index, "head"])
    return statistics.correlation(both["value_x"], both["value_y"])


def agreement(
    ours: pd.DataFrame, theirs: pd.DataFrame, index: str = "layer", other: str = ""
) -> str:
    """Put the `correlation` into words that end with `other`; empty where there is nothing of
    theirs."""
    if theirs.empty:
        return ""
    r = correlation(ours, theirs, index)
    return NOT_COMPARABLE if r is None else style.agreement(r, other)


def columns(models: Sequence[str], rows: Mapping[str, float]) -> tuple[Figure, np.ndarray]:
    """Make a figure with a column of panels for each model, and their axes, [models, rows]; `rows`
    are heights in inches by label.

    At most ACROSS columns stand side by side, the others in blocks below them.
    """
    across = min(len(models), ACROSS)
    blocks = -(-len(models) // across)
    width = max(style.COLUMN_WIDTH, 0.95 + 0.85 * across)
    figure = Figure((width, 0.2 + blocks * sum(rows.values())), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.03, wspace=0.02)
    grid = figure.subplots(
        blocks * len(rows), across, squeeze=False, height_ratios=[*rows.values()] * blocks
    )
    grid = grid.reshape(blocks, len(rows), across).swapaxes(1, 2).reshape(-1, len(rows))
    for unused in grid[len(models) :].flat:
        unused.remove()
    for model, column in zip(models, grid):
        column[0].set_title(labelling.label_of(model), pad=3)
    return figure, grid[: len(models)]


def label_rows(grid: np.ndarray, labels: Sequence[str]) -> None:
    """Label rows and their ticks, at the left edge alone."""
    for column in grid:
        for axes, label in zip(column, labels, strict=True):
            left = axes.get_subplotspec().is_first_col()
            axes.tick_params(labelleft=left)
            axes.set_ylabel(label if left else "")


def heat_map(
    axes: Axes, matrix: pd.DataFrame, rows: Sequence[str] = (), aspect: float = 1, **look
) -> None:
    """Draw a matrix, its first row on top; with the names of its `rows`, or else the numbers of
    the first, the middle and the last."""
    axes.set_box_aspect(aspect)
    grids.heat_map(axes, matrix, **look)
    if rows and matrix.size:
        grids.ticks(axes.yaxis, range(1, len(rows) + 1), rows)
    elif matrix.size:
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

    `rows` says of each row, by its label, what it shows: values of the columns `by`, the last of
    which is the source. A map has rows of layers, or of the `kinds` of tokens, whose words these
    are. Above a published map stands its correlation with ours. `absent` stands where ours has
    nothing. `below` are heights, by label, of further rows, which stay empty. `bar` is for the
    colour bar.
    """
    cells = dict(list(table.groupby(["panel", *by])))
    models, nothing, below = list(table["panel"].unique()), table[:0], below or {}
    index, words = ("token", [*kinds.values()]) if kinds else ("layer", [])
    figure, grid = columns(models, dict.fromkeys(rows, 0.28 + 0.7 * aspect) | below)
    for model, column in zip(models, grid):
        for axes, (*what, source) in zip(column, rows.values()):
            found = cells.get((model, *what, source), nothing)
            matrix = matrix_of(found, index)
            if kinds and matrix.size:
                matrix = matrix.reindex(list(kinds))
            words_for = {} if source == "published" else {"absent": absent}
            heat_map(axes, matrix, words, aspect, norm=norm, cmap=cmap, **words_for)
            if source == "published":
                ours = cells.get((model, *what, "ours"), nothing)
                axes.set_title(agreement(ours, found, index), pad=2, fontsize=7)
    label_rows(grid, [*rows, *below])
    colour_bar(grid[:, : len(rows)], norm, cmap, **bar)
    return figure, grid


def colour_bar(axes: np.ndarray, norm: Normalize, cmap: str | Colormap, **look) -> Colorbar:
    """Draw the colours of all these axes, beside them."""
    look = {"aspect": 40, "fraction": 0.1, "pad": 0.02} | look
    bar = axes.flat[0].figure.colorbar(ScalarMappable(norm, cmap), ax=axes.ravel(), **look)
    bar.outline.set_linewidth(0.4)
    return bar


def legend(figure: Figure, *panels: Axes, **look) -> None:
    """Draw what `panels` show, above all panels, in as many columns as find room; the figure grows
    by these lines."""
    lines = layers.handles_of(panels)
    columns = int(figure.get_figwidth() // 1.7)
    figure.set_figheight(figure.get_figheight() + 0.16 * -(-len(lines) // columns))
    figure.legend(handles=lines, loc="outside upper center", ncols=columns, **look)
