"""Kovaleva et al. 2019, section 4.4: attention to kinds of words, of which the paper prints no figure; a control of ours.

Beside attention itself, the length of what is handed over (Kobayashi et al. 2020), as a share of the same total.
"""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bertshift.figures import grids, numbers, style
from bertshift.papers.kovaleva2019 import attention_to
from bertshift.papers.kovaleva2019.attention_to import AFTER, BEFORE, WORDS

VARIANTS = {"received": "attention", "received_norm_share": "weighted by\nvector length"}
STATISTICS = {"mean": "o", "largest": ">"}
COLOURS = {BEFORE: "#8C8C8C", AFTER: "#0072B2"}
LABELS = {"mean": "mean of all heads", "largest": "the head with most"}


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Over all layers and heads, each replicate's mean and its largest head, averaged over replicates."""
    rows = attention_to.rows_of(inputs, list(VARIANTS), WORDS)
    means = rows[rows["head"] == 0].assign(statistic="mean")
    each = ["panel", "when", "token", "variant", "init", "seed"]
    heads = rows[rows["head"] > 0]
    largest = heads.loc[heads.groupby(each, sort=False)["value"].idxmax()].assign(statistic="largest")
    cells = pd.concat([means, largest]).assign(layer=0, head=0)
    return numbers.join(
        attention_to.means(cells, ["statistic"]), columns=["statistic", *attention_to.COLUMNS]
    )


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Per task and weighting: a row a kind of token, before and after fine-tuning, on a logarithmic axis."""
    table = tidy(inputs, published)
    panels = list(table["panel"].unique())
    across = min(max(len(panels), 2), grids.ACROSS)
    lines = -(-len(panels) // across)
    wide = across > 4
    figure = Figure(
        (style.TEXT_WIDTH if wide else 1.2 + 1.2 * across, 0.6 + 3.4 * lines), layout="constrained"
    )
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.03, wspace=0.02)
    grid = figure.add_gridspec(
        lines * len(VARIANTS) + 1, across, height_ratios=[1] * lines * len(VARIANTS) + [0.14 if wide else 0.28]
    )  # fmt: skip
    figure.suptitle("Control, not a figure of the paper: attention to kinds of words", fontsize=8)
    limits = table["value"].min() / 1.5, 1.3
    for number, panel in enumerate(panels):
        line, column = divmod(number, across)
        for row, (variant, label) in enumerate(VARIANTS.items()):
            axes = figure.add_subplot(grid[line * len(VARIANTS) + row, column])
            _dots(axes, table[(table["panel"] == panel) & (table["variant"] == variant)])
            # A .01 would touch the 1 of the panel before it.
            axes.set(xscale="log", xlim=limits, xticks=[0.01, 0.1, 1], xticklabels=["", ".1", "1"])
            axes.minorticks_off()
            if row == 0:
                axes.set_title(style.label_of(panel), pad=3)
            if column:
                axes.tick_params(labelleft=False)
            else:
                axes.set_ylabel(label)
    _legend(figure.add_subplot(grid[-1, :]), columns=4 if wide else 2)
    return style.captioned(figure, table, annotators(inputs), style.failures(table, "panel"))


def _dots(axes: Axes, rows: pd.DataFrame) -> None:
    place = {token: number for number, token in enumerate(WORDS)}
    for when, shift in ((BEFORE, -0.16), (AFTER, 0.16)):
        for statistic, marker in STATISTICS.items():
            chosen = rows[(rows["when"] == when) & (rows["statistic"] == statistic)]
            y = chosen["token"].map(place) + shift
            look = {"color": COLOURS[when], "marker": marker, "linestyle": "", "markersize": 3.2}
            if statistic == "largest":
                look["markerfacecolor"] = "white"
            axes.plot(chosen["value"], y, **look)
            axes.hlines(y, chosen["low"], chosen["high"], color=COLOURS[when], linewidth=0.8)
    axes.set_yticks(range(len(WORDS)), WORDS.values())
    axes.set_ylim(len(WORDS) - 0.5, -0.5)
    axes.tick_params(length=1.5, pad=1)


def _legend(axes: Axes, columns: int) -> None:
    axes.axis("off")
    for when, color in COLOURS.items():
        for statistic, marker in STATISTICS.items():
            face = "white" if statistic == "largest" else color
            label = f"{when}: {LABELS[statistic]}"
            axes.plot([], [], color=color, marker=marker, markerfacecolor=face, linestyle="", label=label)
    axes.legend(loc="center", ncols=columns, borderaxespad=0, columnspacing=1.2)


def annotators(inputs: Mapping[str, pd.DataFrame]) -> str:
    """A sentence on who said what the words are."""
    found = dict.fromkeys(name for table in inputs.values() for name in table["annotation"].unique())
    return f"Words tagged and parsed by {'; '.join(found)}, scores on dev."
