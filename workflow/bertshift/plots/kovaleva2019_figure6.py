"""Kovaleva et al. 2019, Figure 6: attention to [SEP] and [CLS], before and after fine-tuning."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from bertshift.plots import attention_to, style, tables
from bertshift.plots.attention_to import AFTER, BEFORE, KINDS
from bertshift.plots.layers import ends

TOKENS = ["sep", "cls"]  # the paper's rows
CMAP = "Greens"  # the paper's own
NORM = PowerNorm(
    0.5, 0, 1
)  # the paper's is linear, which shows little of a model whose heads spread their attention


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Our mean of every head, the published panels of the same tasks, and the repository's panels of pretrained BERT."""
    rows = attention_to.rows_of(inputs, ["received"], TOKENS)
    parts = [attention_to.means(tables.first_run(rows[rows["head"] > 0]))]
    entry, paper = published.get("figure6", {}), published.get("paper", {})
    before = published.get("figure6_pretrained_qqp", {})
    for panel in rows["panel"].unique():
        task = style.task_of(panel)
        for token in TOKENS:
            if task in entry.get(token, {}):
                parts.append(_published(entry, paper, panel, AFTER, token, entry[token][task]["matrix"]))
            if task == "qqp" and token in before:
                parts.append(_published(before, paper, panel, BEFORE, token, before[token]))
    return tables.join(*parts, columns=attention_to.COLUMNS)


def _published(entry: Mapping, paper: Mapping, panel: str, when: str, token: str, matrix) -> pd.DataFrame:
    matrix = np.asarray(matrix)
    layer, head = (axis.ravel() + 1 for axis in np.indices(matrix.shape))
    return tables.published(
        entry, paper, panel=panel, when=when, token=token, variant="received", layer=layer.tolist(), head=head.tolist(),
        value=matrix.ravel().tolist(),
    )  # fmt: skip


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> tuple[Figure, pd.DataFrame]:
    """Heat maps of layers x heads per task: for each token before and after fine-tuning, and the published panel."""
    table = tidy(inputs, published)
    kinds = [kind for kind in KINDS if kind[1] in set(table["source"])]
    rows = [(token, when, source) for token in TOKENS for when, source in kinds]
    panels = list(table["panel"].unique())
    heights = [0.98 if source == "published" else 0.7 for _, _, source in rows]
    figure, places, across = attention_to.blocks(panels, heights)
    lines = 1 + places[-1][0] // len(rows)
    grid = figure.add_gridspec(lines * len(rows), across + 1, width_ratios=[1] * across + [0.09])
    for top, column, panel in places:
        for row, (token, when, source) in enumerate(rows):
            axes = figure.add_subplot(grid[top + row, column])
            axes.set_box_aspect(1)
            cells = _cells(table, panel, token, when, source)
            attention_to.heat_map(axes, cells, NORM, CMAP)
            if cells.size:
                axes.set_yticks(ends(len(cells)))
            if row == 0:
                axes.set_title(style.label_of(panel), pad=3)
            if row + 1 < len(rows) and rows[row + 1][0] == token:
                axes.tick_params(labelbottom=False)
            if column:
                axes.tick_params(labelleft=False)
            else:
                star = "*" * (source == "published")
                axes.set_ylabel(f"{attention_to.WORDS[token]}\n{'published' if star else when}{star}")
            if source == "published":
                axes.set_xlabel(attention_to.agreement(_cells(table, panel, token, when, "ours"), cells))
    attention_to.colour_bar(
        figure, figure.add_subplot(grid[: len(rows), across]), NORM, CMAP, "mean attention to the token"
    )
    notes = [
        "Rows are layers, columns heads. [SEP] is the larger of two, where an input has two.",
        _pretrained(table),
        attention_to.sources(published.get("paper", {}), published.get("figure6", {}), table),
        style.failures(table, "panel"),
    ]
    style.caption(figure, table, *filter(None, notes), tables.FIRST_RUN)
    return figure, table


def _cells(table: pd.DataFrame, panel: str, token: str, when: str, source: str) -> np.ndarray:
    where = {"panel": panel, "token": token, "when": when, "source": source}
    return attention_to.grid_of(table, "layer", **where).to_numpy(float)


def _pretrained(table: pd.DataFrame) -> str:
    """How pretrained BERT agrees with the panels of the paper's repository, which the paper does not print."""
    theirs = table[(table["source"] == "published") & (table["when"] == BEFORE)]
    if theirs.empty:
        return ""
    panel = theirs["panel"].iloc[0]
    found = {
        token: attention_to.agreement(
            *(_cells(table, panel, token, BEFORE, source) for source in ("ours", "published"))
        )
        for token in TOKENS
    }
    if attention_to.OTHER_SHAPE in found.values():
        return ""
    each = ", ".join(f"{attention_to.WORDS[token]} {r}" for token, r in found.items())
    return f"{style.label_of(panel)} before, against the panels of the paper's repository: {each}."
