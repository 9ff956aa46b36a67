"""Hao et al. 2020, Figure 1: Jensen-Shannon divergence of attention, pretrained and fine-tuned, by layer."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bertshift.plots import layers, style, tables


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Mean over heads (head 0), in nats; the paper prints no number of this figure."""
    rows = tables.stack(inputs, "js", ["nats"])
    return tables.join(tables.ours(rows[rows["head"] == 0].assign(panel="js"), "panel", "model"))


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> tuple[Figure, pd.DataFrame]:
    """One line per task over layers, with a band over replicates."""
    table = tidy(inputs, published)
    figure = Figure((style.COLUMN_WIDTH, 2.5), layout="constrained")
    axes = figure.add_subplot()
    layers.by_model(axes, table)
    layers.layer_axis(axes, table["layer"])
    axes.set_ylabel("JS divergence of attention (nats)")
    axes.set_ylim(bottom=0)
    layers.legend_above(axes, 2)
    style.caption(figure, table, f"Two disjoint rows of attention would give ln 2 = {np.log(2):.3f} nats.",
                  "The paper draws curves without numbers.")  # fmt: skip
    return figure, table
