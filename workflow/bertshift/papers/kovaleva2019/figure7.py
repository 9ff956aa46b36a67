"""Kovaleva et al. 2019, Figure 7: what [CLS] attends to in the last layer, before and after fine-tuning."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.colors import Normalize

from bertshift.figures import numbers, style
from bertshift.papers.kovaleva2019 import attention_to
from bertshift.papers.kovaleva2019.attention_to import AFTER, KINDS

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
    rows = numbers.first_run(rows[(rows["layer"] == last) & (rows["head"] > 0)])
    parts = [attention_to.means(rows)]
    entry, paper = published.get("figure7", {}), published.get("paper", {})
    for panel in rows["panel"].unique():
        for token, strip in entry.get("tasks", {}).get(style.task_of(panel), {}).items():
            parts.append(
                numbers.published(
                    entry, paper, panel=panel, when=AFTER, token=token, variant="from_cls", layer=paper["layers"],
                    head=list(range(1, len(strip) + 1)), value=strip,
                )
            )  # fmt: skip
    return numbers.join(*parts, columns=attention_to.COLUMNS)


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Heat maps of kinds of tokens x heads per task: before and after fine-tuning, and the published strips."""
    table = tidy(inputs, published)
    rows = {
        (when, source): "published*" if source == "published" else when
        for when, source in KINDS if source in set(table["source"])
    }  # fmt: skip
    figure = attention_to.draw_maps(
        list(table["panel"].unique()), rows, lambda *shown: _cells(table, *shown), lambda panel, *_: _agreement(table, panel),
        1.45 * len(rows), 1.6, [attention_to.WORDS[token] for token in TOKENS], NORM, CMAP,
        "attention of [CLS] in the last layer",
    )  # fmt: skip
    cited = numbers.cited(published, "figure7", table, attention_to.COMPARED)
    return style.captioned(figure, table, cited, style.failures(table, "panel"))


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
