"""Is the change of Kovaleva et al. 2019, Figure 5, a layer's own or its input's? A control of ours."""

from collections.abc import Mapping

import pandas as pd

from bertshift.figures import layers, numbers, style

MEASURES = {"cosine_distance": "1 − cosine", "js": "JS divergence (nats)"}
VARIANTS = {
    "total": ("both, as fine-tuned", {"color": "#000000", "marker": "o"}),
    "own": ("the layer's weights alone", {"color": "#D55E00", "marker": "s"}),
    "inherited": ("its input alone", {"color": "#0072B2", "marker": "^"}),
}


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Mean over heads and replicates by task (panel), measure (series), variant and layer."""
    rows = numbers.stack(inputs, "own_or_inherited", list(VARIANTS))
    rows = rows[rows["head"] == 0].rename(columns={"measure": "series"})
    return numbers.join(numbers.ours(rows, "model", "series"))


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """A panel per measure and task, a line per variant over layers, with a band over replicates."""
    table = tidy(inputs, published)
    figure = layers.small_multiples(table, "series", MEASURES, VARIANTS)
    return style.captioned(figure, table, style.failures(table, "panel"))
