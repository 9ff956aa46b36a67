"""Do the last layers change most because their steps are larger? A control of ours beside Kovaleva et al. 2019, Figure 5."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from bertshift.plots import layers, style, tables

QUANTITIES = {
    "gradient": "gradient",
    "update": "update",
    "displacement": "distance from start",
    "attention": "1 − cosine\nof attention",
}
LINES = {name: (name, {"color": "#0072B2", "marker": "o"}) for name in QUANTITIES}


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Means over replicates by task (panel), quantity (series and variant) and layer."""
    steps, changes = (tables.rows_of(inputs, metric) for metric in ("steps", "cosine"))
    changes = changes[(changes["head"] == 0) & (changes["variant"] == "crop")]
    changes = changes.assign(variant="attention", value=1 - changes["value"])
    rows = pd.concat([steps, changes], ignore_index=True)
    return tables.join(tables.ours(rows.assign(series=rows["variant"]), "model", "series"))


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> tuple[Figure, pd.DataFrame]:
    """A panel per quantity and task over layers, with a band over replicates."""
    table = tidy(inputs, published)
    figure = layers.small_multiples(table, "series", QUANTITIES, LINES)
    style.caption(
        figure, table, "A control of ours, not a figure of the paper. Norms over all weights of a layer, relative to the norm "
        "of its weights before fine-tuning: the mean gradient before clipping and the mean update of a step, and how far "
        "the weights are from their start at the end. Below, the change of attention of Figure 5, mean over heads.",
        style.failures(table, "panel"),
    )  # fmt: skip
    return figure, table
