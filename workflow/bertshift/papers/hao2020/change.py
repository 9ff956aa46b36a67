"""Hao et al. 2020, Figures 1 to 7: how far two models are apart, layer by layer.

The two are a model and its pretrained self, two seeds of a model, or models of two tasks; in
Figure 3 a model and itself with one layer restored. JS divergence of attention (`attention`),
SVCCA distance of hidden states (`hidden_states`).
"""

from collections.abc import Mapping
from itertools import cycle

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bertshift.figures import layers, numbers, style
from bertshift.naming import is_pair, pair_name
from bertshift.rows import labelling, statistics
from bertshift.rows.nulls import null_of

# Pairs of tasks, in colours that no task of theirs has.
PAIRS = [
    {"color": "#D55E00", "marker": "s"},
    {"color": "#009E73", "marker": "^"},
    {"color": "#000000", "marker": "X"},
    {"color": "#5E4FA2", "marker": ">"},
    {"color": "#8C510A", "marker": "h"},
]
DISTANCE, CEILING = "svcca99", "svcca99_null"
SIZES = ["n", "k_model", "k_reference"]  # what a distance depends on beside the hidden states
COLUMNS = [*numbers.COLUMNS, *SIZES]
FLOOR = {"linestyle": "--", "linewidth": 0.9, "marker": ""}


def named(rows: pd.DataFrame, panel: str) -> pd.DataFrame:
    """Name the `series` of rows: the model, or both models where two fine-tuned ones are
    compared."""
    alone = (rows["ref_seed"] == 0) | (rows["model"] == rows["reference"])
    models = zip(alone, rows["model"], rows["reference"])
    return rows.assign(
        panel=panel,
        series=[model if one else pair_name(model, other) for one, model, other in models],
    )


def looks_of(table: pd.DataFrame) -> dict[str, dict]:
    """Choose the look of each series: that of its task, or one of PAIRS."""
    pairs = cycle(PAIRS)
    return {
        name: next(pairs) if is_pair(name) else style.look_of(labelling.task_of(name))
        for name in table["series"].unique()
    }


def curves(table: pd.DataFrame) -> tuple[Figure, Axes]:
    """Draw a figure with one line a series; wide where they are many.

    Beside pairs of tasks, seeds of one task are thin and dashed, on that task's inputs.
    """
    nulls = table["series"].map(null_of) != ""
    looks = looks_of(table[~nulls])
    figure, [[axes]] = style.grid(
        2.5, width=style.TEXT_WIDTH if len(looks) > 5 else style.COLUMN_WIDTH
    )
    paired = any(map(is_pair, looks))
    layers.nulls(axes, table[nulls])
    for series, rows in table[~nulls].groupby("series", sort=False):
        beside = paired and not is_pair(series)
        label = f"{labelling.label_of(series)}{' seeds' * beside}{style.mark_of(rows)}"
        layers.curve(axes, rows, label, looks[series] | (FLOOR if beside else {}))
    return figure, axes


def finished(figure: Figure, axes: Axes, table: pd.DataFrame, *notes: str) -> style.Drawn:
    """Finish a figure with the axis of layers, a legend and a caption."""
    layers.layer_axis(axes, table["layer"])
    layers.legend_above(axes, 2 if figure.get_figwidth() == style.COLUMN_WIDTH else 3)
    return style.captioned(figure, table, *notes, layers.null_note(table), style.failures(table))


def attention(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw the divergence in nats, mean over heads (head 0): one line a comparison, with a band
    over replicates."""
    rows = numbers.stack(inputs, "js", ["nats"])
    table = numbers.join(numbers.ours(named(rows[rows["head"] == 0], "js"), "panel", "series"))
    figure, axes = curves(table)
    axes.set(ylabel="JS divergence of attention (nats)", ylim=(0, None))
    return finished(figure, axes, table)


def hidden_states(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw the distance of hidden states: one line a comparison, with a band over replicates and
    its ceiling under independence."""
    table = distances(named(numbers.stack(inputs, "svcca", [DISTANCE, CEILING]), "svcca"))
    figure, axes = curves(table[table["variant"] == DISTANCE])
    ceilings(axes, table[table["variant"] == CEILING])
    axes.set(ylabel="SVCCA distance", ylim=(0, 1))
    return finished(figure, axes, table, ceiling_note(table))


def distances(rows: pd.DataFrame) -> pd.DataFrame:
    """Average the distance by comparison (`panel`, `series`) and layer, with 99 % of the variance
    kept, and what it would be of unrelated representations (provenance `derived`); n tokens and k
    directions, mean over replicates."""
    table = numbers.ours(rows, "panel", "series")
    rows = numbers.trained(rows, ["series", "model", "stimuli"])  # those that the distances are of
    sizes = rows.groupby(["series", "stimuli", "variant", "layer"], as_index=False)[SIZES].mean()
    table = table.merge(sizes, on=["series", "stimuli", "variant", "layer"])
    table.loc[table["variant"].str.endswith("_null"), "provenance"] = "derived"
    return numbers.join(table, columns=COLUMNS)


def ceilings(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw a dotted line a series, at its ceiling."""
    looks = looks_of(rows)
    for series, own in rows.sort_values("layer").groupby("series", sort=False):
        if null_of(series):  # it has its model's ranks and tokens
            continue
        axes.plot(
            own["layer"], own["value"], color=looks[series]["color"], linestyle=":", linewidth=0.9
        )
    axes.plot([], [], color="#666666", linestyle=":", linewidth=0.9, label="unrelated")


def ceiling_note(table: pd.DataFrame) -> str:
    """Say between which values the dotted lines are, and on how many tokens."""
    rows = table[table["variant"] == CEILING]
    reach, tokens = (
        numbers.reach(rows[column], form) for column, form in (("value", ".2f"), ("n", ".0f"))
    )
    unmatched = ": distances on other numbers are comparable only as far as their dotted lines are"
    return (
        f"The dotted lines are at {reach}. {tokens}"
        f" tokens{unmatched if rows['n'].nunique() > 1 else ' in every comparison'}."
    )


def restored(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw one line per task over the layer restored: the distance of the last hidden states, and
    the headline score in points beside that of nothing restored (layer 0 of panel `score`)."""
    rows = numbers.rows_of(inputs, "restored").assign(panel="distance")
    scored = numbers.rows_of(inputs, "restored_score")
    scored = statistics.in_points(scored[scored["headline"]].assign(panel="score"))
    parts = [distances(rows), numbers.ours(scored.reset_index(drop=True), "panel", "series")]
    table = numbers.join(*parts, columns=COLUMNS)
    figure, [[left, right]] = style.grid(2.6, columns=2)
    layers.by_model(left, table[table["variant"] == DISTANCE])
    ceilings(left, table[table["variant"] == CEILING])
    left.set(ylabel="SVCCA distance of the last layer", ylim=(0, 1))
    scores = table[table["panel"] == "score"]
    layers.by_model(right, scores[scores["layer"] > 0])
    for row in scores[scores["layer"] == 0].itertuples():
        colour = style.look_of(labelling.task_of(row.series))["color"]
        right.axhline(row.value, color=colour, linestyle="--", linewidth=0.9)
    kinds = " or ".join(labelling.SCORES.get(name, name) for name in scores["variant"].unique())
    right.set_ylabel(f"score, {kinds} (points)")
    for axes in (left, right):
        layers.layer_axis(axes, table.loc[table["layer"] > 0, "layer"])
        axes.set_xlabel("layer with its pretrained weights")
    handles, labels = left.get_legend_handles_labels()
    handles += right.plot([], [], color="#666666", linestyle="--", linewidth=0.9)
    labels += ["nothing restored"]
    figure.legend(handles, labels, loc="outside upper center", ncols=-(-len(handles) // 2))
    return style.captioned(figure, table, ceiling_note(table), style.failures(table))
