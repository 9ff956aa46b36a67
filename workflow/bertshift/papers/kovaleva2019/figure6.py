"""Kovaleva et al. 2019, Figure 6: attention to [SEP] and [CLS], before and after fine-tuning."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.colors import PowerNorm

from bertshift.figures import numbers, style
from bertshift.papers.kovaleva2019 import attention_to
from bertshift.papers.kovaleva2019.attention_to import AFTER, BEFORE, KINDS

TOKENS = ["sep", "cls"]  # the paper's rows
CMAP = "Greens"  # the paper's own
NORM = PowerNorm(
    0.5, 0, 1
)  # the paper's is linear, which shows little of a model whose heads spread their attention


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Our mean of every head, the published panels of the same tasks, and the repository's panels of pretrained BERT."""
    rows = attention_to.rows_of(inputs, ["received"], TOKENS)
    parts = [attention_to.means(numbers.first_run(rows[rows["head"] > 0]))]
    entry, paper = published.get("figure6", {}), published.get("paper", {})
    before = published.get("figure6_pretrained_qqp", {})
    for panel in rows["panel"].unique():
        task = style.task_of(panel)
        for token in TOKENS:
            if task in entry.get(token, {}):
                parts.append(_published(entry, paper, panel, AFTER, token, entry[token][task]["matrix"]))
            if task == "qqp" and token in before:
                parts.append(_published(before, paper, panel, BEFORE, token, before[token]))
    return numbers.join(*parts, columns=attention_to.COLUMNS)


def _published(entry: Mapping, paper: Mapping, panel: str, when: str, token: str, matrix) -> pd.DataFrame:
    facts = {"panel": panel, "when": when, "token": token, "variant": "received"}
    return numbers.published(entry, paper, **facts, **numbers.cells(matrix))


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Heat maps of layers x heads per task: for each token before and after fine-tuning, and the published panel."""
    table = tidy(inputs, published)
    rows = {
        (token, when, source): f"{attention_to.WORDS[token]}\n{'published*' if source == 'published' else when}"
        for token in TOKENS for when, source in KINDS if source in set(table["source"])
    }  # fmt: skip
    height = sum(0.98 if source == "published" else 0.7 for *_, source in rows)

    def cells(*shown):
        return _cells(table, *shown)

    def compared(panel, token, when, _):
        return attention_to.agreement(
            *(cells(panel, token, when, source) for source in ("ours", "published"))
        )

    figure = attention_to.draw_maps(
        list(table["panel"].unique()), rows, cells, compared, height, 1, None, NORM, CMAP, "mean attention to the token"
    )  # fmt: skip
    cited = numbers.cited(published, "figure6", table, attention_to.COMPARED)
    return style.captioned(figure, table, _pretrained(table), cited, style.failures(table, "panel"))


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
