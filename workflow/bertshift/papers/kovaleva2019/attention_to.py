"""Attention to kinds of tokens: Figures 6 and 7 of Kovaleva et al. 2019, and a control of ours.

The control is for section 4.4, for which the paper prints no figure. Beside attention it shows the
length of the vector that a head hands over (Kobayashi et al. 2020), as a share of the same total.
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, PowerNorm

from bertshift.errors import UserError
from bertshift.figures import layers, numbers, style
from bertshift.papers.kovaleva2019 import panels
from bertshift.rows import labelling
from bertshift.rows.table import Table, concat

KEYS = ["panel", "when", "token", "variant", "layer", "head"]
COLUMNS = [*KEYS, *numbers.VALUES]
BEFORE, AFTER = "before", "after"
# {label: (when, source)}, from top to bottom.
ROWS = {BEFORE: (BEFORE, "ours"), AFTER: (AFTER, "ours"), "published*": (AFTER, "published")}
COMPARED = "correlation with ours, after, over heads"
BELOW = "; its panels stand below ours"
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
KINDS = ["pron", "noun", "verb", "obj", "subj", "neg", "cls", "sep", "punct"]
# Colours and their ends are the paper's own. Its norm of Figure 6 is linear, which shows little of
# a model whose heads spread their attention.
FIGURE6 = {"cmap": "Greens", "norm": PowerNorm(0.5, 0, 1)}
FIGURE7 = {"cmap": "YlGn", "norm": Normalize(0, 0.5)}
VARIANTS = {"received": "attention", "received_norm_share": "weighted by\nvector length"}
STATISTICS = {
    "mean": ("mean of all heads", {"marker": "o"}),
    "largest": ("the head with most", {"marker": ">", "markerfacecolor": "white"}),
}
# A colour, and a shift from the line of the word.
MOMENTS = {BEFORE: ("#8C8C8C", -0.16), AFTER: ("#0072B2", 0.16)}


def words_of(table: pd.DataFrame) -> dict[str, str]:
    """Choose WORDS with the names of special tokens that are right for the models drawn."""
    return WORDS | style.special_names(table)


def stack_rows(inputs: Mapping[str, Table], variants: list[str], tokens: Iterable[str]) -> Table:
    """Stack the rows of these variants and kinds; `panel` is the fine-tuned model, `when` is
    BEFORE for its reference."""
    parts = []
    for path, table in inputs.items():
        measured = numbers.stack({path: table}, "attention_to", variants)
        is_reference = measured["model"] == measured["reference"]
        if is_reference.all():
            raise UserError(
                f"{path} compares a model with itself; under 'figures' name models and their"
                " reference."
            )
        model = measured.rows.loc[~is_reference, "model"].iloc[0]
        measured = measured.assign(panel=model, when=np.where(is_reference, BEFORE, AFTER))
        parts.append(measured.where(measured["token"].isin(list(tokens))))
    return concat(parts)


def figure6(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw heat maps of layers x heads per task: for each token before and after fine-tuning, and
    the published panel, or the repository's of pretrained BERT."""
    measured = stack_rows(inputs, ["received"], SPECIAL)
    heads = numbers.first_run(measured.query("head > 0"))
    ours = numbers.means(heads, KEYS, ["panel", "when"])
    paper = _published_heads(published, measured["panel"].unique())
    table = numbers.join(ours, *paper, columns=COLUMNS)
    words = words_of(table)
    sources = panels.rows_with_source(ROWS, table)
    rows = {
        f"{words[token]}\n{label}": (token, *row)
        for token in SPECIAL
        for label, row in sources.items()
    }
    figure, _ = panels.heat_maps(
        table,
        ["token", "when", "source"],
        rows,
        **FIGURE6,
        ticks=[0, 0.1, 0.25, 0.5, 1],
        label="mean attention to the token (square-root scale)",
        absent="no\nseparators",
    )
    pretrained = _describe_pretrained(table)
    return style.captioned(
        figure,
        table,
        pretrained,
        numbers.cited(published, "figure6", table, BELOW),
        panels.explain_r(figure, COMPARED),
        style.failures(table, "panel"),
        with_intervals=table[:0],
    )


def _published_heads(published: Mapping, models: Iterable[str]) -> Iterator[pd.DataFrame]:
    """Read the paper's panels of the same tasks and, for QQP, those of pretrained BERT from the
    paper's repository."""
    paper = published["paper"]
    after, before = published["figure6"], published["figure6_pretrained_qqp"]
    for model in models:
        for token in SPECIAL:
            facts = {"panel": model, "token": token, "variant": "received"}
            for _, panel in panels.published_panels(published, "figure6", [model], token):
                cells = numbers.cells(panel["matrix"])
                yield numbers.published(after, paper, when=AFTER, **facts, **cells)
            if labelling.task_of(model) == "qqp":
                cells = numbers.cells(before[token])
                yield numbers.published(before, paper, when=BEFORE, **facts, **cells)


def _describe_pretrained(table: pd.DataFrame) -> str:
    """Write how far pretrained BERT agrees with the panels of the paper's repository, which the
    paper does not print."""
    before = table[table["when"] == BEFORE]
    theirs = before.query("source == 'published'")
    if theirs.empty:
        return ""
    panel = theirs["panel"].iloc[0]
    ours = before[(before["source"] == "ours") & (before["panel"] == panel)]
    words = words_of(table)
    parts = []
    for token in SPECIAL:
        r = panels.agreement(ours[ours["token"] == token], theirs[theirs["token"] == token])
        if r == panels.NOT_COMPARABLE:
            return ""
        parts.append(f"{words[token]} {r}")
    name = labelling.label_of(panel)
    return f"{name} before, against the panels of the paper's repository: {', '.join(parts)}."


def figure7(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw heat maps of kinds of tokens x heads of the last layer per task: before and after
    fine-tuning, and the published strips."""
    measured = stack_rows(inputs, ["from_cls"], KINDS)
    last = measured.rows.groupby(["panel", "when"])["layer"].transform("max")
    is_shown = (measured["layer"] == last) & (measured["head"] > 0)
    heads = numbers.first_run(measured.where(is_shown))
    ours = numbers.means(heads, KEYS, ["panel", "when"])
    paper = _published_strips(published, heads["panel"].unique())
    table = numbers.join(ours, *paper, columns=COLUMNS)
    words = words_of(table)
    figure, _ = panels.heat_maps(
        table,
        ["when", "source"],
        panels.rows_with_source(ROWS, table),
        **FIGURE7,
        aspect=1.6,
        kinds={token: words[token] for token in KINDS},
        ticks=[0, 0.1, 0.2, 0.3, 0.4, 0.5],
        label=f"attention of {words['cls']} in the last layer",
    )
    return style.captioned(
        figure,
        table,
        numbers.cited(published, "figure7", table, BELOW),
        panels.explain_r(figure, COMPARED),
        style.failures(table, "panel"),
        with_intervals=table[:0],
    )


def _published_strips(published: Mapping, models: Iterable[str]) -> Iterator[pd.DataFrame]:
    """Read the paper's attention of [CLS] to each kind of token, by head."""
    paper = published["paper"]
    for model, strips in panels.published_panels(published, "figure7", models):
        for token, strip in strips.items():
            yield numbers.published(
                published["figure7"],
                paper,
                panel=model,
                when=AFTER,
                token=token,
                variant="from_cls",
                layer=paper["layers"],
                head=list(range(1, len(strip) + 1)),
                value=strip,
            )


def linguistic(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw each replicate's mean over all layers and heads, and its largest head. There is a panel
    per task and weighting: a row a kind of token, before and after fine-tuning, on a logarithmic
    axis."""
    measured = stack_rows(inputs, list(VARIANTS), WORDS)
    means = measured.query("head == 0").assign(statistic="mean")
    heads = measured.query("head > 0")
    replicate = ["panel", "when", "token", "variant", "init", "seed"]
    largest = heads.rows.groupby(replicate, sort=False)["value"].idxmax()
    largest = heads.keep(heads.rows.loc[largest]).assign(statistic="largest")
    shown = concat([means, largest]).assign(layer=0, head=0)
    table = numbers.means(shown, [*KEYS, "statistic"], ["panel", "when"])
    table = numbers.join(table, columns=["statistic", *COLUMNS])
    models = list(table["panel"].unique())
    limits = table["value"].min() / 1.5, 1.3
    words = words_of(table)
    figure, grid = panels.columns(models, dict.fromkeys(VARIANTS, 1.7))
    for model, column in zip(models, grid):
        for axes, variant in zip(column, VARIANTS):
            shown = table[(table["panel"] == model) & (table["variant"] == variant)]
            _draw_dots(axes, shown, words)
            # A .01 would touch the 1 of the panel before it.
            axes.set(xscale="log", xlim=limits, xticks=[0.01, 0.1, 1], xticklabels=["", ".1", "1"])
            axes.minorticks_off()
    panels.label_rows(grid, VARIANTS.values())
    title = "Control, not a figure of the paper: attention to kinds of words"
    panels.legend(figure, axes, title=title)
    annotations = pd.concat([table["annotation"] for table in inputs.values()]).unique()
    annotators = f"Words tagged and parsed by {'; '.join(annotations)}, scores on dev."
    return style.captioned(figure, table, annotators, style.failures(table, "panel"))


def _draw_dots(axes: Axes, rows: pd.DataFrame, words: Mapping[str, str]) -> None:
    lines = {token: line for line, token in enumerate(words)}
    for when, (colour, shift) in MOMENTS.items():
        for statistic, (label, mark) in STATISTICS.items():
            shown = rows[(rows["when"] == when) & (rows["statistic"] == statistic)]
            y = shown["token"].map(lines) + shift
            look = mark | {"color": colour, "linestyle": "", "markersize": 3.2}
            axes.plot(shown["value"], y, label=f"{when}: {label}", **look)
            layers.bars(axes, y, shown, color=colour, linewidth=0.8)
    axes.set_yticks(range(len(words)), words.values())
    axes.set_ylim(len(words) - 0.5, -0.5)
    axes.tick_params(length=1.5, pad=1)
