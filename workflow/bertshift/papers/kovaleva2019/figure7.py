"""Kovaleva et al. 2019, Figure 7: what the first token attends to in the last layer, before and after fine-tuning."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.colors import Normalize

from bertshift.figures import numbers, style
from bertshift.papers.kovaleva2019 import attention_to, panels
from bertshift.papers.kovaleva2019.attention_to import AFTER

# The paper's order; punctuation is ours.
TOKENS = ["pron", "noun", "verb", "obj", "subj", "neg", "cls", "sep", "punct"]
CMAP, NORM = "YlGn", Normalize(0, 0.5)  # the paper's own


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Our mean of every head of the last layer, and the published strips of the same tasks."""
    rows = attention_to.rows_of(inputs, ["from_cls"], TOKENS)
    last = rows.groupby(["panel", "when"])["layer"].transform("max")
    rows = numbers.first_run(rows[(rows["layer"] == last) & (rows["head"] > 0)])
    paper = published["paper"]
    strips = [
        numbers.published(
            published["figure7"], paper, panel=panel, when=AFTER, token=token, variant="from_cls", layer=paper["layers"],
            head=list(range(1, len(strip) + 1)), value=strip,
        )
        for panel, kinds in panels.papers(published, "figure7", rows["panel"].unique())
        for token, strip in kinds.items()
    ]  # fmt: skip
    return numbers.join(attention_to.means(rows), *strips, columns=attention_to.COLUMNS)


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Heat maps of kinds of tokens x heads per task: before and after fine-tuning, and the published strips."""
    table = tidy(inputs, published)
    words = attention_to.words(table)
    kinds = {token: words[token] for token in TOKENS}
    figure, _ = panels.heat_maps(
        table, ["when", "source"], attention_to.shown(table), NORM, CMAP, aspect=1.6, kinds=kinds,
        ticks=[0, 0.05, 0.125, 0.25, 0.5], label=f"attention of {words['cls']} in the last layer",
    )  # fmt: skip
    cited = numbers.cited(published, "figure7", table, attention_to.COMPARED)
    return style.captioned(figure, table, cited, style.failures(table, "panel"))
