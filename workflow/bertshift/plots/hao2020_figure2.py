"""Hao et al. 2020, Figure 2: SVCCA distance of hidden states, pretrained and fine-tuned, by layer."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from bertshift.plots import layers, style, tables


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """The distance with 99 % of the variance kept, and the distance that unrelated representations would have."""
    rows = tables.stack(inputs, "svcca", ["svcca99", "svcca99_null"]).assign(panel="svcca")
    table = tables.ours(rows, "panel", "model")
    table.loc[table["variant"] == "svcca99_null", "provenance"] = "derived"
    return tables.join(table)


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> tuple[Figure, pd.DataFrame]:
    """One line per task over layers, with a band over replicates and each line's ceiling under independence."""
    table = tidy(inputs, published)
    drawn, ceiling = (table[table["variant"] == variant] for variant in ("svcca99", "svcca99_null"))
    figure = Figure((style.COLUMN_WIDTH, 2.5), layout="constrained")
    axes = figure.add_subplot()
    layers.by_model(axes, drawn)
    layers.layer_axis(axes, drawn["layer"])
    for model, rows in ceiling.groupby("series", sort=False):
        look = style.look_of(style.task_of(model))
        axes.plot(rows["layer"], rows["value"], color=look["color"], linestyle=":", linewidth=0.9)
    axes.plot([], [], color="#666666", linestyle=":", linewidth=0.9, label="unrelated")
    axes.set(ylabel="SVCCA distance", ylim=(0, 1))
    layers.legend_above(axes, 3)
    reach = " to ".join(
        dict.fromkeys(f"{value:.2f}" for value in (ceiling["value"].min(), ceiling["value"].max()))
    )
    style.caption(
        figure, table, "Dotted: distance expected of independent representations of the same ranks and number of tokens "
        f"({reach}).", "The paper draws curves without numbers.",
    )  # fmt: skip
    return figure, table
