"""Hao et al. 2020, Figure 7: SVCCA distance of hidden states between models of two tasks, by layer."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from bertshift.plots import change, style


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> tuple[Figure, pd.DataFrame]:
    """One line per pair of tasks, and the seeds of each task beside."""
    return change.draw_hidden_states(change.hidden_states(inputs), change.TWO_TASKS)
