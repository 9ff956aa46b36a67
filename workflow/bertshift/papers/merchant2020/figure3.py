"""Merchant et al. 2020, Figure 3: scores after fine-tuning with the lower layers frozen."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from bertshift.figures import numbers, style, sweeps
from bertshift.naming import EMBEDDINGS_ONLY, NOTHING_FROZEN

MIDWAY = -0.5  # where the axis shows frozen embeddings: more than nothing, less than a layer


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Scores in points, the same in percent of each replicate's score with nothing frozen, and the paper's at that end."""
    rows = sweeps.scores(inputs)
    unfrozen = rows["position"] == NOTHING_FROZEN
    rows = sweeps.with_score(rows, unfrozen, "unfrozen")
    some = rows[rows["unfrozen"] > 0]
    return numbers.join(
        sweeps.means(rows, "score", rows["value"]), sweeps.printed(published, rows[unfrozen]),
        sweeps.means(some, "percent of unfrozen", 100 * some["value"] / some["unfrozen"]), columns=sweeps.COLUMNS
    )  # fmt: skip


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """The paper's axis: -1 with nothing frozen, then the last frozen layer from 0; a hollow marker for embeddings alone."""
    table = tidy(inputs, published)
    figure = Figure((style.TEXT_WIDTH, 2.6), layout="constrained")
    grid = figure.subplots(1, 2)
    for axes, panel in zip(grid, ("score", "percent of unfrozen"), strict=True):
        sweeps.curves(axes, table[table["position"] != EMBEDDINGS_ONLY], panel)
        for point in table[(table["panel"] == panel) & (table["position"] == EMBEDDINGS_ONLY)].itertuples():
            axes.plot(
                MIDWAY, point.value, **style.look_of(style.task_of(point.series)), markerfacecolor="white"
            )
        last = int(table["layers"].max()) - 1
        axes.set(
            xlim=(-1.7, last + 0.4), xticks=range(-1, last + 1), xlabel="last frozen layer, from 0 (−1 = nothing)"
        )  # fmt: skip
    grid[0].set_ylabel("score (points)")
    grid[1].set_ylabel("% of the score with nothing frozen")
    sweeps.legend(figure, grid[0])
    return style.captioned(
        figure, table, sweeps.failures(table, "unfrozen"),
        sweeps.left_out(table, "percent of unfrozen", "which score 0 with nothing frozen")
    )  # fmt: skip
