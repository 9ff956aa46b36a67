"""Two controls of ours beside Figure 5 of Kovaleva et al. 2019: why does the attention of the last layers change most?

Because their steps are larger? And is the change a layer's own, or its input's?
"""

from collections.abc import Mapping

import pandas as pd

from bertshift.figures import layers, numbers, style
from bertshift.rows import statistics

QUANTITIES = {
    "gradient": "gradient", "update": "update", "displacement": "distance from start",
    "attention": "1 − cosine\nof attention"
}  # fmt: skip
LINES = {name: (name, {"color": "#0072B2", "marker": "o"}) for name in QUANTITIES}
MEASURES = {"cosine_distance": "1 − cosine", "js": "JS divergence (nats)"}
PARTS = {
    "total": ("both, as fine-tuned", {"color": "#000000", "marker": "o"}),
    "own": ("the layer's weights alone", {"color": "#D55E00", "marker": "s"}),
    "inherited": ("its input alone", {"color": "#0072B2", "marker": "^"}),
}


def steps(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """A panel per quantity (series and variant) and task over layers."""
    moved, changes = (numbers.rows_of(inputs, metric) for metric in ("steps", "cosine"))
    changes = changes[(changes["head"] == 0) & (changes["variant"] == "crop")]
    changes = statistics.mapped(changes.assign(variant="attention"), lambda cosine: 1 - cosine)
    rows = pd.concat([moved, changes], ignore_index=True)
    return _drawn(rows.assign(series=rows["variant"]), QUANTITIES, LINES)


def own_or_inherited(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """A panel per measure (series) and task, a line per variant over layers."""
    rows = numbers.stack(inputs, "own_or_inherited", list(PARTS))
    return _drawn(rows[rows["head"] == 0].rename(columns={"measure": "series"}), MEASURES, PARTS)


def _drawn(rows: pd.DataFrame, series: Mapping, variants: Mapping) -> style.Drawn:
    table = numbers.join(numbers.ours(rows, "model", "series"))
    figure = layers.small_multiples(table, "series", series, variants)
    return style.captioned(figure, table, style.failures(table, "panel"))
