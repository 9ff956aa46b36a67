"""Do the last layers change most because their steps are larger? A control of ours beside Kovaleva et al. 2019, Figure 5."""

from collections.abc import Mapping

import pandas as pd

from bertshift.figures import layers, numbers, style
from bertshift.rows import statistics

QUANTITIES = {
    "gradient": "gradient", "update": "update", "displacement": "distance from start",
    "attention": "1 − cosine\nof attention"
}  # fmt: skip
LINES = {name: (name, {"color": "#0072B2", "marker": "o"}) for name in QUANTITIES}


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Means over replicates by task (panel), quantity (series and variant) and layer."""
    steps, changes = (numbers.rows_of(inputs, metric) for metric in ("steps", "cosine"))
    changes = changes[(changes["head"] == 0) & (changes["variant"] == "crop")]
    changes = statistics.mapped(changes.assign(variant="attention"), lambda cosine: 1 - cosine)
    rows = pd.concat([steps, changes], ignore_index=True)
    return numbers.join(numbers.ours(rows.assign(series=rows["variant"]), "model", "series"))


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """A panel per quantity and task over layers, with a band over replicates."""
    table = tidy(inputs, published)
    figure = layers.small_multiples(table, "series", QUANTITIES, LINES)
    return style.captioned(figure, table, style.failures(table, "panel"))
