"""Attention to kinds of tokens: Figures 6 and 7 of Kovaleva et al. 2019, and a control of ours.

The control is of section 4.4, of which the paper prints no figure. Beside attention itself it
shows the length of what is handed over (Kobayashi et al. 2020), as a share of the same total.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, PowerNorm

from bertshift.errors import UserError
from bertshift.figures import layers, numbers, style
from bertshift.papers.kovaleva2019 import panels
from bertshift.rows import labelling

COLUMNS = ["panel", "when", "token", "variant", "layer", "head", *numbers.VALUES]
BEFORE, AFTER = "before", "after"
# From top to bottom.
ROWS = {BEFORE: (BEFORE, "ours"), AFTER: (AFTER, "ours"), "published*": (AFTER, "published")}
COMPARED = (
    "; r: correlation with ours, after, over the heads of models with as many layers and heads"
)
WORDS = {
    "cls": "[CLS]",
    "sep": "[SEP]",
    "punct": "PUNCT",
    "noun": "NOUN",
    "verb": "VERB",
    "pron": "PRON",
    "subj": "SUBJ",
    "obj": "OBJ",
    "neg": "NEG",
}
SPECIAL = ["sep", "cls"]  # the rows of the paper's Figure 6
# The rows of Figure 7; punctuation is ours.
KINDS = [
    "pron",
    "noun",
    "verb",
    "obj",
    "subj",
    "neg",
    "cls",
    "sep",
    "punct",
]
# Colours and their ends are the paper's own. Its norm of Figure 6 is linear, which shows little of
# a model whose heads spread their attention.
FIGURE6, FIGURE7 = (
    {"cmap": "Greens", "norm": PowerNorm(0.5, 0, 1)},
    {"cmap": "YlGn", "norm": Normalize(0, 0.5)},
)
VARIANTS = {"received": "attention", "received_norm_share": "weighted by\nvector length"}
STATISTICS = {
    "mean": ("mean of all heads", {"marker": "o"}),
    "largest": ("the head with most", {"marker": ">", "markerfacecolor": "white"}),
}
# Colours, and places beside a word.
MOMENTS = {
    BEFORE: ("#8C8C8C", -0.16),
    AFTER: ("#0072B2", 0.16),
}


def words_of(table: pd.DataFrame) -> dict[str, str]:
    """Choose WORDS with the names of special tokens that are right for the models drawn."""
    return WORDS | style.special_names(table)


def rows_of(
    inputs: Mapping[str, pd.DataFrame], variants: list[str], tokens: Iterable[str]
) -> pd.DataFrame:
    """Stack the rows of these variants and kinds; `panel` is the fine-tuned model, `when` tells it
    from its reference."""
    kept = []
    for path, table in inputs.items():
        rows = numbers.stack({path: table}, "attention_to", variants)
        itself = rows["model"] == rows["reference"]
        if itself.all():
            raise UserError(
                f"{path} compares a model with itself; under 'figures' name models and their"
                " reference."
            )
        rows = rows.assign(
            panel=rows.loc[~itself, "model"].iloc[0], when=np.where(itself, BEFORE, AFTER)
        )
        kept.append(rows[rows["token"].isin(list(tokens))])
    return pd.concat(kept, ignore_index=True)


def means(rows: pd.DataFrame, by: Iterable[str] = ()) -> pd.DataFrame:
    """Average each cell over replicates."""
    return numbers.means(
        rows, ["panel", "when", "token", "variant", "layer", "head", *by], ["panel", "when"]
    )


def shown(table: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Select those of ROWS that the table has: of tasks that the paper lacks nothing is
    published."""
    return {label: what for label, what in ROWS.items() if what[1] in set(table["source"])}


def figure6(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw heat maps of layers x heads per task: for each token before and after fine-tuning, and
    the published panel, or the repository's of pretrained BERT."""
    rows = rows_of(inputs, ["received"], SPECIAL)
    parts = [means(numbers.first_run(rows[rows["head"] > 0]))]
    after, before = published["figure6"], published["figure6_pretrained_qqp"]
    for panel in rows["panel"].unique():
        for token in SPECIAL:
            facts = {"panel": panel, "token": token, "variant": "received"}
            for _, theirs in panels.papers(published, "figure6", [panel], token):
                cells = numbers.cells(theirs["matrix"])
                parts.append(
                    numbers.published(after, published["paper"], when=AFTER, **facts, **cells)
                )
            if labelling.task_of(panel) == "qqp":
                cells = numbers.cells(before[token])
                parts.append(
                    numbers.published(before, published["paper"], when=BEFORE, **facts, **cells)
                )
    table = numbers.join(*parts, columns=COLUMNS)
    words = words_of(table)
    rows = {
        f"{words[token]}\n{label}": (token, *what)
        for token in SPECIAL
        for label, what in shown(table).items()
    }
    figure, _ = panels.heat_maps(
        table,
        ["token", "when", "source"],
        rows,
        **FIGURE6,
        ticks=[0, 0.1, 0.25, 0.5, 1],
        label="mean attention to the token",
        absent="no\nseparators",
    )
    cited = numbers.cited(published, "figure6", table, COMPARED)
    return style.captioned(
        figure, table, _pretrained(table), cited, style.failures(table, "panel")
    )


def _pretrained(table: pd.DataFrame) -> str:
    """Say how pretrained BERT agrees with the panels of the paper's repository, which the paper
    does not print."""
    before = table[table["when"] == BEFORE]
    theirs = before[before["source"] == "published"]
    if theirs.empty:
        return ""
    panel = theirs["panel"].iloc[0]
    ours = before[(before["source"] == "ours") & (before["panel"] == panel)]
    words, found = words_of(table), {}
    for token in SPECIAL:
        pair = (rows[rows["token"] == token] for rows in (ours, theirs))
        found[words[token]] = panels.agreement(*pair)
    if panels.NOT_COMPARABLE in found.values():
        return ""
    each = ", ".join(f"{word} {r}" for word, r in found.items())
    name = labelling.label_of(panel)
    return f"{name} before, against the panels of the paper's repository: {each}."


def figure7(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw heat maps of kinds of tokens x heads of the last layer per task: before and after
    fine-tuning, and the published strips."""
    rows = rows_of(inputs, ["from_cls"], KINDS)
    last = rows.groupby(["panel", "when"])["layer"].transform("max")
    rows = numbers.first_run(rows[(rows["layer"] == last) & (rows["head"] > 0)])
    paper = published["paper"]
    strips = [
        numbers.published(
            published["figure7"],
            paper,
            panel=panel,
            when=AFTER,
            token=token,
            variant="from_cls",
            layer=paper["layers"],
            head=list(range(1, len(strip) + 1)),
            value=strip,
        )
        for panel, kinds in panels.papers(published, "figure7", rows["panel"].unique())
        for token, strip in kinds.items()
    ]
    table = numbers.join(means(rows), *strips, columns=COLUMNS)
    words = words_of(table)
    figure, _ = panels.heat_maps(
        table,
        ["when", "source"],
        shown(table),
        **FIGURE7,
        aspect=1.6,
        kinds={token: words[token] for token in KINDS},
        ticks=[0, 0.05, 0.125, 0.25, 0.5],
        label=f"attention of {words['cls']} in the last layer",
    )
    cited = numbers.cited(published, "figure7", table, COMPARED)
    return style.captioned(figure, table, cited, style.failures(table, "panel"))


def linguistic(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw each replicate's mean over all layers and heads, and its largest head. There is a panel
    per task and weighting: a row a kind of token, before and after fine-tuning, on a logarithmic
    axis."""
    rows = rows_of(inputs, list(VARIANTS), WORDS)
    heads, each = rows[rows["head"] > 0], ["panel", "when", "token", "variant", "init", "seed"]
    largest = heads.loc[heads.groupby(each, sort=False)["value"].idxmax()].assign(
        statistic="largest"
    )
    both = pd.concat([rows[rows["head"] == 0].assign(statistic="mean"), largest])
    table = means(both.assign(layer=0, head=0), ["statistic"])
    table = numbers.join(table, columns=["statistic", *COLUMNS])
    models = list(table["panel"].unique())
    limits = table["value"].min() / 1.5, 1.3
    figure, grid = panels.columns(models, dict.fromkeys(VARIANTS, 1.7))
    for model, column in zip(models, grid):
        for axes, variant in zip(column, VARIANTS):
            chosen = (table["panel"] == model) & (table["variant"] == variant)
            _dots(axes, table[chosen], words_of(table))
            # A .01 would touch the 1 of the panel before it.
            axes.set(xscale="log", xlim=limits, xticks=[0.01, 0.1, 1], xticklabels=["", ".1", "1"])
            axes.minorticks_off()
    panels.label_rows(grid, VARIANTS.values())
    panels.legend(
        figure, axes, title="Control, not a figure of the paper: attention to kinds of words"
    )
    annotators = dict.fromkeys(
        name for table in inputs.values() for name in table["annotation"].unique()
    )
    told = f"Words tagged and parsed by {'; '.join(annotators)}, scores on dev."
    return style.captioned(figure, table, told, style.failures(table, "panel"))


def _dots(axes: Axes, rows: pd.DataFrame, words: Mapping[str, str]) -> None:
    for when, (color, shift) in MOMENTS.items():
        for statistic, (label, look) in STATISTICS.items():
            chosen = rows[(rows["when"] == when) & (rows["statistic"] == statistic)]
            y = chosen["token"].map(list(words).index) + shift
            look = look | {
                "color": color,
                "label": f"{when}: {label}",
                "linestyle": "",
                "markersize": 3.2,
            }
            axes.plot(chosen["value"], y, **look)
            layers.bars(axes, y, chosen, color=color, linewidth=0.8)
    axes.set_yticks(range(len(words)), words.values())
    axes.set_ylim(len(words) - 0.5, -0.5)
    axes.tick_params(length=1.5, pad=1)
