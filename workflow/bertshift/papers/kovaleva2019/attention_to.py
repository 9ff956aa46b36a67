"""Attention to kinds of tokens, shared by Figures 6 and 7 of Kovaleva et al. 2019 and our control beside them."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pandas as pd
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from bertshift.errors import UserError
from bertshift.figures import grids, numbers, style
from bertshift.figures.grids import ACROSS
from bertshift.rows import statistics

COLUMNS = ["panel", "when", "token", "variant", "layer", "head", *numbers.VALUES]
BEFORE, AFTER = "before", "after"
KINDS = [(BEFORE, "ours"), (AFTER, "ours"), (AFTER, "published")]  # of panels, from top to bottom
OTHER_SHAPE = "r: –"
COMPARED = (
    "; r: correlation with ours, after, over the heads (–: another number of layers or heads, not comparable)"
)
WORDS = {
    "cls": "[CLS]", "sep": "[SEP]", "punct": "PUNCT", "noun": "NOUN", "verb": "VERB", "pron": "PRON", "subj": "SUBJ",
    "obj": "OBJ", "neg": "NEG",
}  # fmt: skip


def rows_of(inputs: Mapping[str, pd.DataFrame], variants: list[str], tokens: Iterable[str]) -> pd.DataFrame:
    """Rows of these variants and kinds; `panel` is the fine-tuned model, `when` tells it from its reference."""
    kept = []
    for path, table in inputs.items():
        rows = numbers.stack({path: table}, "attention_to", variants)
        itself = rows["model"] == rows["reference"]
        if itself.all():
            raise UserError(
                f"{path} compares a model with itself; under 'figures' name models and their reference."
            )
        rows = rows.assign(panel=rows.loc[~itself, "model"].iloc[0], when=np.where(itself, BEFORE, AFTER))
        kept.append(rows[rows["token"].isin(list(tokens))])
    return pd.concat(kept, ignore_index=True)


def means(rows: pd.DataFrame, by: Iterable[str] = ()) -> pd.DataFrame:
    """Means over replicates of each cell."""
    return numbers.means(rows, ["panel", "when", "token", "variant", "layer", "head", *by], ["panel", "when"])


def grid_of(table: pd.DataFrame, index: str, **where) -> np.ndarray:
    """[layers or tokens, heads] of the rows that have these values; nothing, if none has."""
    chosen = np.logical_and.reduce([table[column] == value for column, value in where.items()])
    return table[chosen].pivot(index=index, columns="head", values="value")


def agreement(ours: np.ndarray, theirs: np.ndarray) -> str:
    """The correlation of two panels over the cells that both have, if their heads are the same ones."""
    if not theirs.size:
        return ""
    if ours.shape != theirs.shape:
        return OTHER_SHAPE
    both = np.isfinite(ours) & np.isfinite(theirs)
    return style.agreement(statistics.correlation(ours[both], theirs[both]))


def draw_maps(
    panels: list[str],
    rows: Mapping[tuple, str],
    cells: Callable,
    compared: Callable,
    height: float,
    aspect: float,
    words: list[str] | None,
    norm: Normalize,
    cmap: str,
    label: str,
) -> Figure:
    """A column of heat maps for each panel. `rows` are the labels of what is shown, (..., when, source), from top to bottom;
    `cells(panel, *shown)` is its matrix, and `compared(panel, *shown)` stands below a published one."""
    across = min(len(panels), ACROSS)
    lines = -(-len(panels) // across)
    width = style.TEXT_WIDTH if across == ACROSS else max(style.COLUMN_WIDTH, 1.2 + 0.85 * across)
    figure = Figure((width, lines * (0.25 + height)), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.03, wspace=0.02)
    grid = figure.add_gridspec(lines * len(rows), across + 1, width_ratios=[1] * across + [0.09])
    last = list(rows)[-1][-2:]
    for number, panel in enumerate(panels):
        line, column = divmod(number, across)
        for row, (shown, name) in enumerate(rows.items()):
            axes = figure.add_subplot(grid[line * len(rows) + row, column])
            axes.set_box_aspect(aspect)
            matrix = cells(panel, *shown)
            grids.heat_map(axes, matrix, norm=norm, cmap=cmap)
            if matrix.size:
                grids.ticks(axes.yaxis, range(1, len(words) + 1) if words else grids.ends(len(matrix)), words)
            axes.tick_params(labelbottom=shown[-2:] == last, labelleft=column == 0)
            axes.set_title(style.label_of(panel) if row == 0 else "", pad=3)
            axes.set_ylabel(name if column == 0 else "")
            axes.set_xlabel(compared(panel, *shown) if shown[-1] == "published" else "")
    bar = figure.add_subplot(grid[: len(rows), across])
    grids.colour_bar(figure, bar, norm, cmap, [share * norm.vmax for share in (0, 0.1, 0.25, 0.5, 1)], label)
    return figure
