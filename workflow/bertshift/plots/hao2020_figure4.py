"""Hao et al. 2020, Figure 4: Jensen-Shannon divergence of attention between two seeds, by layer."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from bertshift.plots import change, style


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> tuple[Figure, pd.DataFrame]:
    """One line per task, with a band over all pairs of seeds."""
    return change.draw_attention(change.attention(inputs))
