"""Kovaleva et al. 2019, section 4.4: attention to kinds of words, of which the paper prints no figure; a control of ours.

Beside attention itself, the length of what is handed over (Kobayashi et al. 2020), as a share of the same total.
"""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes

from bertshift.figures import layers, numbers, style
from bertshift.papers.kovaleva2019 import attention_to, panels
from bertshift.papers.kovaleva2019.attention_to import AFTER, BEFORE, WORDS

VARIANTS = {"received": "attention", "received_norm_share": "weighted by\nvector length"}
STATISTICS = {
    "mean": ("mean of all heads", {"marker": "o"}),
    "largest": ("the head with most", {"marker": ">", "markerfacecolor": "white"}),
}
MOMENTS = {BEFORE: ("#8C8C8C", -0.16), AFTER: ("#0072B2", 0.16)}  # colours, and places beside a word


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Over all layers and heads, each replicate's mean and its largest head, averaged over replicates."""
    rows = attention_to.rows_of(inputs, list(VARIANTS), WORDS)
    means = rows[rows["head"] == 0].assign(statistic="mean")
    each = ["panel", "when", "token", "variant", "init", "seed"]
    heads = rows[rows["head"] > 0]
    largest = heads.loc[heads.groupby(each, sort=False)["value"].idxmax()].assign(statistic="largest")
    table = attention_to.means(pd.concat([means, largest]).assign(layer=0, head=0), ["statistic"])
    return numbers.join(table, columns=["statistic", *attention_to.COLUMNS])


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Per task and weighting: a row a kind of token, before and after fine-tuning, on a logarithmic axis."""
    table = tidy(inputs, published)
    models = list(table["panel"].unique())
    limits = table["value"].min() / 1.5, 1.3
    figure, grid = panels.columns(models, dict.fromkeys(VARIANTS, 1.7))
    for model, column in zip(models, grid):
        for axes, variant in zip(column, VARIANTS):
            chosen = (table["panel"] == model) & (table["variant"] == variant)
            _dots(axes, table[chosen], attention_to.words(table))
            # A .01 would touch the 1 of the panel before it.
            axes.set(xscale="log", xlim=limits, xticks=[0.01, 0.1, 1], xticklabels=["", ".1", "1"])
            axes.minorticks_off()
    panels.label_rows(grid, VARIANTS.values())
    panels.legend(figure, axes, title="Control, not a figure of the paper: attention to kinds of words")
    return style.captioned(figure, table, annotators(inputs), style.failures(table, "panel"))


def _dots(axes: Axes, rows: pd.DataFrame, words: Mapping[str, str]) -> None:
    for when, (color, shift) in MOMENTS.items():
        for statistic, (label, look) in STATISTICS.items():
            chosen = rows[(rows["when"] == when) & (rows["statistic"] == statistic)]
            y = chosen["token"].map(list(words).index) + shift
            look = look | {"color": color, "label": f"{when}: {label}", "linestyle": "", "markersize": 3.2}
            axes.plot(chosen["value"], y, **look)
            with layers.within_reach(axes, chosen["value"], horizontal=True):
                axes.hlines(y, chosen["low"], chosen["high"], color=color, linewidth=0.8)
    axes.set_yticks(range(len(words)), words.values())
    axes.set_ylim(len(words) - 0.5, -0.5)
    axes.tick_params(length=1.5, pad=1)


def annotators(inputs: Mapping[str, pd.DataFrame]) -> str:
    """A sentence on who said what the words are."""
    found = dict.fromkeys(name for table in inputs.values() for name in table["annotation"].unique())
    return f"Words tagged and parsed by {'; '.join(found)}, scores on dev."
