"""Attention to kinds of tokens, shared by Figures 6 and 7 of Kovaleva et al. 2019 and our control beside them."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from bertshift import stats
from bertshift.errors import UserError
from bertshift.plots import style, tables
from bertshift.plots.layers import ends

COLUMNS = ["panel", "when", "token", "variant", "layer", "head", *tables.VALUES]
BEFORE, AFTER = "before", "after"
KINDS = [(BEFORE, "ours"), (AFTER, "ours"), (AFTER, "published")]  # of panels, from top to bottom
ACROSS = 7  # tasks side by side, as many as the paper has
OTHER_SHAPE = "r: –"
WORDS = {
    "cls": "[CLS]", "sep": "[SEP]", "punct": "PUNCT", "noun": "NOUN", "verb": "VERB", "pron": "PRON", "subj": "SUBJ",
    "obj": "OBJ", "neg": "NEG",
}  # fmt: skip


def rows_of(inputs: Mapping[str, pd.DataFrame], variants: list[str], tokens: Iterable[str]) -> pd.DataFrame:
    """Rows of these variants and kinds; `panel` is the fine-tuned model, `when` tells it from its reference."""
    kept = []
    for path, table in inputs.items():
        rows = tables.stack({path: table}, "attention_to", variants)
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
    return tables.means(rows, ["panel", "when", "token", "variant", "layer", "head", *by], ["panel", "when"])


def grid_of(table: pd.DataFrame, index: str, **where) -> np.ndarray:
    """[layers or tokens, heads] of the rows that have these values; nothing, if none has."""
    chosen = np.logical_and.reduce([table[column] == value for column, value in where.items()])
    return table[chosen].pivot(index=index, columns="head", values="value")


def heat_map(axes: Axes, matrix: np.ndarray, norm: Normalize, cmap: str) -> None:
    """The first row on top; a note if there is nothing to draw."""
    axes.grid(False)
    axes.spines[:].set_visible(False)
    if not matrix.size:
        axes.set(xticks=[], yticks=[])
        axes.text(
            0.5, 0.5, "not in\nthe paper", ha="center", va="center", transform=axes.transAxes, color="#666666"
        )
        return
    rows, columns = matrix.shape
    axes.pcolormesh(
        np.arange(columns + 1) + 0.5, np.arange(rows + 1) + 0.5, matrix, norm=norm, cmap=cmap, edgecolors="face",
        linewidth=0.15,
    )  # fmt: skip
    axes.invert_yaxis()
    axes.set_xticks(ends(columns))
    axes.tick_params(length=1.5, pad=1)


def agreement(ours: np.ndarray, theirs: np.ndarray) -> str:
    """The correlation of two panels over the cells that both have, if their heads are the same ones."""
    if not theirs.size:
        return ""
    if ours.shape != theirs.shape:
        return OTHER_SHAPE
    both = np.isfinite(ours) & np.isfinite(theirs)
    return style.agreement(stats.correlation(ours[both], theirs[both]))


def blocks(panels: list[str], heights: list[float]) -> tuple[Figure, list[tuple[int, int, str]], int]:
    """A figure of heat maps of these heights a panel, ACROSS panels side by side: (top row, column, panel), and columns."""
    across, rows = min(len(panels), ACROSS), len(heights)
    lines = -(-len(panels) // across)
    width = style.TEXT_WIDTH if across == ACROSS else max(style.COLUMN_WIDTH, 1.2 + 0.85 * across)
    figure = Figure((width, lines * (0.25 + sum(heights))), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.03, wspace=0.02)
    places = [(number // across * rows, number % across, panel) for number, panel in enumerate(panels)]
    return figure, places, across


def colour_bar(figure: Figure, cax: Axes, norm: Normalize, cmap: str, label: str) -> None:
    bar = figure.colorbar(
        ScalarMappable(norm, cmap),
        cax=cax,
        ticks=[0, norm.vmax / 10, norm.vmax / 4, norm.vmax / 2, norm.vmax],
    )
    bar.set_label(label)
    bar.outline.set_linewidth(0.4)


def sources(paper: Mapping, entry: Mapping, table: pd.DataFrame) -> str:
    """A sentence on the published panels, if there are any."""
    if not (table["source"] == "published").any():
        return ""
    return (
        f"* {paper['short']}, {entry['place']}, {paper['checkpoint']}, {entry['provenance']} (±{entry['tolerance']}); r: "
        "correlation with ours, after, over the heads (–: another number of layers or heads, not comparable)."
    )
