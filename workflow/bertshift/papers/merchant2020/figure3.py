"""Merchant et al. 2020, Figure 3: scores after fine-tuning with the lower layers frozen."""

from collections.abc import Mapping

import pandas as pd

from bertshift.figures import style
from bertshift.naming import EMBEDDINGS_ONLY, NOTHING_FROZEN
from bertshift.papers.merchant2020 import scores_by_depth

PERCENT = "percent of unfrozen"
MIDWAY = -0.5  # where the axis shows frozen embeddings: more than nothing, less than a layer


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Scores in points, the same in percent of each replicate's score with nothing frozen, and the paper's at that end."""
    rows = scores_by_depth.scores(inputs)
    return scores_by_depth.tidy(rows, published, PERCENT, rows["position"] == NOTHING_FROZEN, "unfrozen")


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """The paper's axis: -1 with nothing frozen, then the last frozen layer from 0; a hollow marker for embeddings alone."""
    table = tidy(inputs, published)
    embeddings = table["position"] == EMBEDDINGS_ONLY
    figure, left, right = scores_by_depth.panels(table[~embeddings], PERCENT, "score with nothing frozen")
    ticks = range(-1, int(table["layers"].max()))
    for axes, panel in ((left, "score"), (right, PERCENT)):
        for point in table[embeddings & (table["panel"] == panel)].itertuples():
            look = style.look_of(style.task_of(point.series))
            axes.plot(MIDWAY, point.value, **look, markerfacecolor="white")
        axes.set(xlim=(-1.7, ticks[-1] + 0.4), xticks=ticks)
        axes.set_xlabel("last frozen layer, from 0 (−1 = nothing)")
    why = "which score 0 with nothing frozen"
    return style.captioned(figure, table, scores_by_depth.left_out(table, PERCENT, "unfrozen", why))
