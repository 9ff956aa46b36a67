"""Kovaleva et al. 2019, Figure 6: attention to separators and to the first token, before and after fine-tuning."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.colors import PowerNorm

from bertshift.figures import numbers, style
from bertshift.papers.kovaleva2019 import attention_to, panels
from bertshift.papers.kovaleva2019.attention_to import AFTER, BEFORE

TOKENS = ["sep", "cls"]  # the paper's rows
CMAP = "Greens"  # the paper's own
# The paper's is linear, which shows little of a model whose heads spread their attention.
NORM = PowerNorm(0.5, 0, 1)


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Our mean of every head, the published panels of the same tasks, and the repository's panels of pretrained BERT."""
    rows = attention_to.rows_of(inputs, ["received"], TOKENS)
    parts = [attention_to.means(numbers.first_run(rows[rows["head"] > 0]))]

    after, before = published["figure6"], published["figure6_pretrained_qqp"]
    for panel in rows["panel"].unique():
        for token in TOKENS:
            facts = {"panel": panel, "token": token, "variant": "received"}
            for _, theirs in panels.papers(published, "figure6", [panel], token):
                cells = numbers.cells(theirs["matrix"])
                parts.append(numbers.published(after, published["paper"], when=AFTER, **facts, **cells))
            if style.task_of(panel) == "qqp":
                cells = numbers.cells(before[token])
                parts.append(numbers.published(before, published["paper"], when=BEFORE, **facts, **cells))
    return numbers.join(*parts, columns=attention_to.COLUMNS)


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Heat maps of layers x heads per task: for each token before and after fine-tuning, and the published panel."""
    table = tidy(inputs, published)
    words = attention_to.words(table)
    shown = attention_to.shown(table).items()
    rows = {f"{words[token]}\n{label}": (token, *what) for token in TOKENS for label, what in shown}
    figure, _ = panels.heat_maps(
        table, ["token", "when", "source"], rows, NORM, CMAP, ticks=[0, 0.1, 0.25, 0.5, 1],
        label="mean attention to the token", absent="no\nseparators",
    )  # fmt: skip
    cited = numbers.cited(published, "figure6", table, attention_to.COMPARED)
    return style.captioned(figure, table, _pretrained(table), cited, style.failures(table, "panel"))


def _pretrained(table: pd.DataFrame) -> str:
    """How pretrained BERT agrees with the panels of the paper's repository, which the paper does not print."""
    before = table[table["when"] == BEFORE]
    theirs = before[before["source"] == "published"]
    if theirs.empty:
        return ""
    panel = theirs["panel"].iloc[0]
    ours = before[(before["source"] == "ours") & (before["panel"] == panel)]
    words, found = attention_to.words(table), {}
    for token in TOKENS:
        pair = (rows[rows["token"] == token] for rows in (ours, theirs))
        found[words[token]] = panels.agreement(*pair)
    if panels.NOT_COMPARABLE in found.values():
        return ""
    each = ", ".join(f"{word} {r}" for word, r in found.items())
    return f"{style.label_of(panel)} before, against the panels of the paper's repository: {each}."
