"""Kovaleva et al. 2019, Figure 7: what [CLS] attends to in the last layer, before and after fine-tuning."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from bertshift.plots import attention_to, style, tables
from bertshift.plots.attention_to import AFTER, KINDS

TOKENS = [
    "pron",
    "noun",
    "verb",
    "obj",
    "subj",
    "neg",
    "cls",
    "sep",
    "punct",
]  # the paper's order; punctuation is ours
CMAP, NORM = "YlGn", Normalize(0, 0.5)  # the paper's own


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Our mean of every head of the last layer, and the published strips of the same tasks."""
    rows = attention_to.rows_of(inputs, ["from_cls"], TOKENS)
    last = rows.groupby(["panel", "when"])["layer"].transform("max")
    rows = tables.first_run(rows[(rows["layer"] == last) & (rows["head"] > 0)])
    parts = [attention_to.means(rows)]
    entry, paper = published.get("figure7", {}), published.get("paper", {})
    for panel in rows["panel"].unique():
        for token, strip in entry.get("tasks", {}).get(style.task_of(panel), {}).items():
            parts.append(
                tables.published(
                    entry, paper, panel=panel, when=AFTER, token=token, variant="from_cls", layer=paper["layers"],
                    head=list(range(1, len(strip) + 1)), value=strip,
                )
            )  # fmt: skip
    return tables.join(*parts, columns=attention_to.COLUMNS)


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> tuple[Figure, pd.DataFrame]:
    """Heat maps of kinds of tokens x heads per task: before and after fine-tuning, and the published strips."""
    table = tidy(inputs, published)
    kinds = [kind for kind in KINDS if kind[1] in set(table["source"])]
    panels = list(table["panel"].unique())
    figure, places, across = attention_to.blocks(panels, [1.45] * len(kinds))
    lines = 1 + places[-1][0] // len(kinds)
    grid = figure.add_gridspec(lines * len(kinds), across + 1, width_ratios=[1] * across + [0.09])
    for top, column, panel in places:
        for row, (when, source) in enumerate(kinds):
            axes = figure.add_subplot(grid[top + row, column])
            axes.set_box_aspect(1.6)
            cells = _cells(table, panel, when, source)
            attention_to.heat_map(axes, cells.to_numpy(float), NORM, CMAP)
            if cells.size:
                axes.set_yticks(range(1, len(TOKENS) + 1), [attention_to.WORDS[token] for token in TOKENS])
            if row == 0:
                axes.set_title(style.label_of(panel), pad=3)
            if row + 1 < len(kinds):
                axes.tick_params(labelbottom=False)
            if column:
                axes.tick_params(labelleft=False)
            else:
                axes.set_ylabel("published*" if source == "published" else when)
            if source == "published":
                axes.set_xlabel(_agreement(table, panel))
    attention_to.colour_bar(
        figure,
        figure.add_subplot(grid[: len(kinds), across]),
        NORM,
        CMAP,
        "attention of [CLS] in the last layer",
    )
    style.caption(
        figure, table, "Columns are heads. Attention to the token of a kind that gets most, mean over examples that have "
        "one; blank: none has, or not in the paper.",
        attention_to.sources(published.get("paper", {}), published.get("figure7", {}), table),
        tables.FIRST_RUN, style.failures(table, "panel"),
    )  # fmt: skip
    return figure, table


def _cells(table: pd.DataFrame, panel: str, when: str, source: str) -> pd.DataFrame:
    """[kinds, heads], NaN for a kind that there is not."""
    cells = attention_to.grid_of(table, "token", panel=panel, when=when, source=source)
    return cells.reindex(TOKENS) if len(cells) else cells


def _agreement(table: pd.DataFrame, panel: str) -> str:
    ours, theirs = (_cells(table, panel, AFTER, source).to_numpy(float) for source in ("ours", "published"))
    last = table[(table["panel"] == panel) & (table["when"] == AFTER)].groupby("source")["layer"].max()
    return (
        attention_to.OTHER_SHAPE
        if theirs.size and last.nunique() > 1
        else attention_to.agreement(ours, theirs)
    )
