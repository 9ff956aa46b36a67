"""How far two models are apart, layer by layer: what the figures of Hao et al. 2020 share.

Figures 1, 4 and 6 draw the divergence of attention, 2, 5 and 7 the distance of hidden states; between a model and its
pretrained self, between two seeds of a model, and between models of two tasks.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bertshift.plots import layers, style, tables

SIZES = ["n", "k_model", "k_reference"]  # what a distance of hidden states depends on beside the states
COLUMNS = [*tables.COLUMNS, *SIZES]
DISTANCE, CEILING = "svcca99", "svcca99_null"
# Pairs of tasks, in colours that no task of theirs has.
PAIRS = [("#D55E00", "s"), ("#009E73", "^"), ("#000000", "X"), ("#5E4FA2", ">"), ("#8C510A", "h")]
TWO_TASKS = (
    "Two tasks: a fixed sample of both development sets, as many inputs of each. Dashed: two seeds of one task, on its own "
    "development set."
)
NO_NUMBERS = "The paper draws curves without numbers."


def attention(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Jensen-Shannon divergence in nats, mean over heads (head 0), by comparison and layer."""
    rows = tables.stack(inputs, "js", ["nats"])
    return tables.join(tables.ours(_named(rows[rows["head"] == 0], "js"), "panel", "series"))


def hidden_states(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """SVCCA distance by comparison and layer, with 99 % of the variance kept, and what it would be of unrelated
    representations (provenance `derived`); n tokens and k directions, mean over replicates."""
    return distances(_named(tables.stack(inputs, "svcca", [DISTANCE, CEILING]), "svcca"))


def distances(rows: pd.DataFrame) -> pd.DataFrame:
    """The table of `hidden_states` from rows with `panel` and `series`."""
    table = tables.ours(rows, "panel", "series")
    rows = tables.trained(rows, ["series", "model", "stimuli"])  # those that the distances are of
    sizes = rows.groupby(["series", "stimuli", "variant", "layer"], as_index=False)[SIZES].mean()
    table = table.merge(sizes, on=["series", "stimuli", "variant", "layer"])
    table.loc[table["variant"].str.endswith("_null"), "provenance"] = "derived"
    return tables.join(table, columns=COLUMNS)


def _named(rows: pd.DataFrame, panel: str) -> pd.DataFrame:
    """`series` is the model, or both models where they are two, each fine-tuned."""
    alone = (rows["ref_seed"] == 0) | (rows["model"] == rows["reference"])
    return rows.assign(
        panel=panel, series=rows["model"].where(alone, rows["model"] + "_vs_" + rows["reference"])
    )


def draw_attention(table: pd.DataFrame, *notes: str) -> tuple[Figure, pd.DataFrame]:
    """One line a comparison over layers, with a band over replicates."""
    figure, axes = _axes(table)
    _curves(axes, table)
    axes.set_ylabel("JS divergence of attention (nats)")
    axes.set_ylim(bottom=0)
    return _finished(figure, axes, table, f"Two disjoint rows of attention would give ln 2 = {np.log(2):.3f} nats.", *notes)  # fmt: skip


def draw_hidden_states(table: pd.DataFrame, *notes: str) -> tuple[Figure, pd.DataFrame]:
    """One line a comparison over layers, with a band over replicates and its ceiling under independence."""
    figure, axes = _axes(table)
    _curves(axes, table[table["variant"] == DISTANCE])
    ceilings(axes, table[table["variant"] == CEILING])
    axes.set(ylabel="SVCCA distance", ylim=(0, 1))
    return _finished(figure, axes, table, ceiling_note(table), *notes)


def ceilings(axes: Axes, rows: pd.DataFrame) -> None:
    """A dotted line a series."""
    looks = _looks(rows)
    for series, own in rows.sort_values("layer").groupby("series", sort=False):
        axes.plot(own["layer"], own["value"], color=looks[series]["color"], linestyle=":", linewidth=0.9)
    axes.plot([], [], color="#666666", linestyle=":", linewidth=0.9, label="unrelated")


def ceiling_note(table: pd.DataFrame) -> str:
    """What the dotted lines are, between which values, and on how many tokens."""
    rows = table[table["variant"] == CEILING]
    reach, tokens = (_reach(rows[column], form) for column, form in (("value", ".2f"), ("n", ".0f")))
    unmatched = ": distances on other numbers are comparable only as far as their dotted lines are"
    return (
        f"Dotted: distance expected of independent representations of the same ranks and number of tokens ({reach}). "
        f"{tokens} tokens{unmatched if rows['n'].nunique() > 1 else ' in every comparison'}."
    )


def _reach(values: pd.Series, form: str) -> str:
    return " to ".join(dict.fromkeys(f"{value:{form}}" for value in (values.min(), values.max())))


def _axes(table: pd.DataFrame) -> tuple[Figure, Axes]:
    """Wide where the legend has many lines."""
    wide = table["series"].nunique() > 5
    figure = Figure((style.TEXT_WIDTH if wide else style.COLUMN_WIDTH, 2.5), layout="constrained")
    return figure, figure.add_subplot()


def _looks(table: pd.DataFrame) -> dict[str, dict]:
    """The look of each series: that of its task, or one of PAIRS."""
    names = list(table["series"].unique())
    pairs = [name for name in names if "_vs_" in name]
    cycle = {name: PAIRS[number % len(PAIRS)] for number, name in enumerate(pairs)}
    return {
        name: dict(zip(("color", "marker"), cycle[name], strict=True))
        if name in cycle
        else style.look_of(style.task_of(name))
        for name in names
    }


def _curves(axes: Axes, table: pd.DataFrame) -> None:
    """Beside pairs of tasks, seeds of one task are thin and dashed: the floor of what can be told apart."""
    looks = _looks(table)
    floor = {"linestyle": "--", "linewidth": 0.9, "marker": ""}
    paired = any("_vs_" in series for series in looks)
    for series, rows in table.groupby("series", sort=False):
        beside = paired and "_vs_" not in series
        label = f"{style.label_of(series)}{' seeds' * beside}{style.mark_of(rows)}"
        layers.curve(axes, rows, label, looks[series] | (floor if beside else {}))


def _finished(figure: Figure, axes: Axes, table: pd.DataFrame, *notes: str) -> tuple[Figure, pd.DataFrame]:
    layers.layer_axis(axes, table["layer"])
    layers.legend_above(axes, 2 if figure.get_figwidth() == style.COLUMN_WIDTH else 3)
    style.caption(figure, table, *notes, style.failures(table), NO_NUMBERS)
    return figure, table
