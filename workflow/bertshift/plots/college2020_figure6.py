"""BERT Goes to College, Figure 6: the score of STS-B with one head re-initialised."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from bertshift.plots import reinitialised_heads, style


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> tuple[Figure, pd.DataFrame]:
    return reinitialised_heads.draw(inputs, published, "figure6")
