"""Hao et al. 2020, Figure 5: SVCCA distance of hidden states between two seeds, by layer."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from bertshift.plots import change, style


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> tuple[Figure, pd.DataFrame]:
    """One line per task, with a band over all pairs of seeds."""
    return change.draw_hidden_states(change.hidden_states(inputs))
