"""Hao et al. 2020, Figure 1: Jensen-Shannon divergence of attention, pretrained and fine-tuned, by layer."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from bertshift.plots import change, style


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> tuple[Figure, pd.DataFrame]:
    """One line per task; the paper prints no number of this figure."""
    return change.draw_attention(change.attention(inputs))
