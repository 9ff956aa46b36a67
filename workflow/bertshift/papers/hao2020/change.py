"""Hao et al. 2020, Figures 1 to 7: how far two models are apart, layer by layer.

The two are a model and its pretrained self, two seeds of a model, or models of two tasks; in
Figure 3 a model and itself with one layer restored. JS divergence of attention (`attention`),
SVCCA distance of hidden states (`hidden_states`).
"""

import math
from collections.abc import Mapping
from itertools import cycle

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bertshift.figures import layers, numbers, style
from bertshift.measures import MEASURES
from bertshift.naming import is_pair, pair_name
from bertshift.rows import labelling, nulls, statistics
from bertshift.rows.nulls import null_of
from bertshift.rows.table import Table

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
FLOOR = style.BASELINE | {"linewidth": 0.9, "marker": ""}
CEILING_LINE = style.UNRELATED | {"linewidth": 0.9}
MOST_BANDS = 4  # in one panel; more would lie on each other
BESIDE = 0.03  # of a layer: from one bar to the next
BARS = "Bars: the intervals of the last layer; the table has those of all layers."


def name_series(measured: Table, panel: str) -> Table:
    """Name the `series` of rows: the model, or both models where those of two tasks are
    compared."""
    rows = measured.rows
    is_one_model = (rows["ref_seed"] == 0) | (rows["model"] == rows["reference"])
    pairs = [pair_name(*models) for models in zip(rows["model"], rows["reference"])]
    series = rows["model"].where(is_one_model, pairs)
    return measured.assign(panel=panel, series=series)


def looks_of(table: pd.DataFrame) -> dict[str, dict]:
    """Choose the look of each series: its task's, or one of PAIRS."""
    pairs = cycle(PAIRS)
    return {
        name: next(pairs) if is_pair(name) else style.look_of(labelling.task_of(name))
        for name in table["series"].unique()
    }


def curves(table: pd.DataFrame) -> tuple[Figure, Axes]:
    """Draw a figure with one line a series; wide where they are many, and then with intervals of
    the last layer alone, as bars.

    Beside pairs of tasks, seeds of one task are thin and dashed, on that task's inputs.
    """
    is_null = nulls.is_null(table["series"])
    models = table[~is_null]
    looks = looks_of(models)
    is_crowded = len(looks) > MOST_BANDS
    width = style.TEXT_WIDTH if is_crowded else style.COLUMN_WIDTH
    figure, [[axes]] = style.grid(2.5, width=width)
    has_pairs = any(map(is_pair, looks))
    draw_line = layers.bare_curve if is_crowded else layers.curve
    layers.nulls(axes, table[is_null])
    for series, rows in models.groupby("series", sort=False):
        look, name = looks[series], labelling.label_of(series)
        if has_pairs and not is_pair(series):
            look, name = look | FLOOR, f"{name} seeds"
        draw_line(axes, rows, name + style.mark_of(rows), look)
    if is_crowded:
        draw_last_intervals(axes, models, looks)
    return figure, axes


def draw_last_intervals(axes: Axes, table: pd.DataFrame, looks: Mapping[str, dict]) -> None:
    """Draw the intervals of the last layer as bars side by side, to its right."""
    last = table[table["layer"] == table["layer"].max()]
    for number, (series, rows) in enumerate(last.groupby("series", sort=False), start=1):
        positions = rows["layer"] + BESIDE * number
        look = {"color": looks[series]["color"], "linewidth": 1.2}
        layers.bars(axes, positions, rows, horizontal=False, **look)


def finish(figure: Figure, axes: Axes, table: pd.DataFrame, *notes: str) -> style.Drawn:
    """Finish a figure with the axis of layers, a legend and a caption."""
    layers.layer_axis(axes, table["layer"])
    is_crowded = figure.get_figwidth() > style.COLUMN_WIDTH
    layers.legend_above(axes, 3 if is_crowded else 2)
    bars = BARS if is_crowded and statistics.banded(table).any() else ""
    return style.captioned(
        figure, table, bars, *notes, layers.null_note(table), style.failures(table)
    )


def attention(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw the divergence in nats, mean over heads (head 0): one line a comparison, with a band
    over replicates."""
    measured = numbers.stack(inputs, "js", ["nats"])
    measured = name_series(measured.where(measured["head"] == 0), "js")
    table = numbers.join(numbers.ours(measured, "panel", "series"))
    figure, axes = curves(table)
    axes.set(ylabel=MEASURES["js"].label, ylim=(0, None))
    return finish(figure, axes, table)


def hidden_states(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw the distance of hidden states: one line a comparison, with a band over replicates and
    its ceiling under independence."""
    measured = numbers.stack(inputs, "svcca", [DISTANCE, CEILING])
    table = distances(name_series(measured, "svcca"))
    figure, axes = curves(table[table["variant"] == DISTANCE])
    draw_ceilings(axes, table[table["variant"] == CEILING])
    axes.set(ylabel=MEASURES["svcca"].label, ylim=(0, 1))
    return finish(figure, axes, table, ceiling_note(table))


def distances(measured: Table) -> pd.DataFrame:
    """Average the distance by comparison (`panel`, `series`) and layer, with 99 % of the variance
    kept, and its value for unrelated representations (provenance `derived`); n tokens and k
    directions, mean over replicates."""
    table = numbers.ours(measured, "panel", "series")
    cell = ["series", "stimuli", "variant", "layer"]
    averaged = numbers.trained(measured, ["series", "model", "stimuli"]).rows
    sizes = averaged.groupby(cell, as_index=False)[SIZES].mean()
    table = table.merge(sizes, on=cell)
    table.loc[table["variant"].str.endswith("_null"), "provenance"] = "derived"
    return numbers.join(table, columns=COLUMNS)


def draw_ceilings(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw a dotted line a series, at its ceiling."""
    looks = looks_of(rows)
    for series, ceiling in rows.sort_values("layer").groupby("series", sort=False):
        if null_of(series):  # it has its model's ranks and tokens
            continue
        axes.plot(ceiling["layer"], ceiling["value"], color=looks[series]["color"], **CEILING_LINE)
    axes.plot([], [], color="#666666", label="unrelated", **CEILING_LINE)


def ceiling_note(table: pd.DataFrame) -> str:
    """Say between which values the dotted lines are, and on how many tokens."""
    rows = table[table["variant"] == CEILING]
    values, tokens = numbers.reach(rows["value"]), numbers.reach(rows["n"], ".0f")
    if rows["n"].nunique() > 1:
        comparable = (
            ": distances on other numbers are comparable only as far as their dotted lines are"
        )
    else:
        comparable = " in every comparison"
    return f"The dotted lines are at {values}. {tokens} tokens{comparable}."


def restored(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw one line per task over the layer restored: the distance of the last hidden states, and
    the headline score in points beside the score with nothing restored (layer 0 of panel
    `score`)."""
    restored_rows = numbers.rows_of(inputs, "restored").assign(panel="distance")
    scored = numbers.rows_of(inputs, "restored_score")
    scored = scored.where(scored["headline"]).assign(panel="score").in_points()
    parts = [distances(restored_rows), numbers.ours(scored, "panel", "series")]
    table = numbers.join(*parts, columns=COLUMNS)
    figure, [[left, right]] = style.grid(2.6, columns=2)
    layers.by_model(left, table[table["variant"] == DISTANCE])
    draw_ceilings(left, table[table["variant"] == CEILING])
    left.set(ylabel=MEASURES["restored"].words["restored"], ylim=(0, 1))
    dashed = style.BASELINE | {"linewidth": 0.9}
    scores = table[table["panel"] == "score"]
    layers.by_model(right, scores[scores["layer"] > 0])
    for row in scores[scores["layer"] == 0].itertuples():
        colour = layers.task_colour(row.series)
        right.axhline(row.value, color=colour, **dashed)
    kinds = [labelling.SCORES.get(name, name) for name in scores["variant"].unique()]
    right.set_ylabel(f"score, {' or '.join(kinds)} (points)")
    for axes in (left, right):
        layers.layer_axis(axes, table.loc[table["layer"] > 0, "layer"])
        axes.set_xlabel("layer with its pretrained weights")
    handles, labels = left.get_legend_handles_labels()
    handles += right.plot([], [], color="#666666", **dashed)
    labels.append("nothing restored")
    columns = math.ceil(len(handles) / 2)
    figure.legend(handles, labels, loc="outside upper center", ncols=columns)
    return style.captioned(figure, table, ceiling_note(table), style.failures(table))
