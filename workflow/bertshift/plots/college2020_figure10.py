"""BERT Goes to College, Figure 10: what re-initialising a head does to STS-B, summarised by head."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from bertshift.plots import reinitialised_summaries, style


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> tuple[Figure, pd.DataFrame]:
    return reinitialised_summaries.draw(inputs, published, "figure10", of="figure6", by="head")
