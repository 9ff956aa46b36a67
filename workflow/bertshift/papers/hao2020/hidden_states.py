"""Hao et al. 2020, Figures 2, 5 and 7: SVCCA distance of two models' hidden states, by layer.

The two are a model and its pretrained self, two seeds of a model, or models of two tasks.
"""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes

from bertshift.figures import numbers, style
from bertshift.papers.hao2020 import change

SIZES = ["n", "k_model", "k_reference"]  # what a distance depends on beside the hidden states
COLUMNS = [*numbers.COLUMNS, *SIZES]
DISTANCE, CEILING = "svcca99", "svcca99_null"


def tidy(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Distance by comparison and layer, with 99 % of the variance kept, and what it would be of unrelated
    representations (provenance `derived`); n tokens and k directions, mean over replicates."""
    return distances(change.named(numbers.stack(inputs, "svcca", [DISTANCE, CEILING]), "svcca"))


def distances(rows: pd.DataFrame) -> pd.DataFrame:
    """The same from rows with `panel` and `series`."""
    table = numbers.ours(rows, "panel", "series")
    rows = numbers.trained(rows, ["series", "model", "stimuli"])  # those that the distances are of
    sizes = rows.groupby(["series", "stimuli", "variant", "layer"], as_index=False)[SIZES].mean()
    table = table.merge(sizes, on=["series", "stimuli", "variant", "layer"])
    table.loc[table["variant"].str.endswith("_null"), "provenance"] = "derived"
    return numbers.join(table, columns=COLUMNS)


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """One line a comparison, with a band over replicates and its ceiling under independence."""
    table = tidy(inputs)
    figure, axes = change.curves(table[table["variant"] == DISTANCE])
    ceilings(axes, table[table["variant"] == CEILING])
    axes.set(ylabel="SVCCA distance", ylim=(0, 1))
    return change.finished(figure, axes, table, ceiling_note(table))


def ceilings(axes: Axes, rows: pd.DataFrame) -> None:
    """A dotted line a series."""
    looks = change.looks_of(rows)
    for series, own in rows.sort_values("layer").groupby("series", sort=False):
        axes.plot(own["layer"], own["value"], color=looks[series]["color"], linestyle=":", linewidth=0.9)
    axes.plot([], [], color="#666666", linestyle=":", linewidth=0.9, label="unrelated")


def ceiling_note(table: pd.DataFrame) -> str:
    """Between which values the dotted lines are, and on how many tokens."""
    rows = table[table["variant"] == CEILING]
    reach, tokens = (numbers.reach(rows[column], form) for column, form in (("value", ".2f"), ("n", ".0f")))
    unmatched = ": distances on other numbers are comparable only as far as their dotted lines are"
    return f"The dotted lines are at {reach}. {tokens} tokens{unmatched if rows['n'].nunique() > 1 else ' in every comparison'}."
