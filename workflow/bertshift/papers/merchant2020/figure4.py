"""Merchant et al. 2020, Figure 4: scores after fine-tuning only the first layers, the others removed."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from bertshift.figures import numbers, style, sweeps
from bertshift.rows import statistics

SHARE = 0.95


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Scores in points by layers kept; percent of the gain from none to all; layers to 95 % of it, by replicate."""
    rows = sweeps.scores(inputs)
    complete = rows["position"] == rows["layers"]
    rows = sweeps.with_score(sweeps.with_score(rows, rows["position"] == 0, "empty"), complete, "complete")
    gains = rows[rows["complete"] > rows["empty"]]
    gain = 100 * (gains["value"] - gains["empty"]) / (gains["complete"] - gains["empty"])
    one = gains.drop_duplicates(sweeps.RUN)  # a row for each run, in the order of the groups
    runs = (run.set_index("position")["value"] for _, run in gains.groupby(sweeps.RUN, sort=False))
    enough = [statistics.layers_to(run.to_dict(), SHARE) for run in runs]
    return numbers.join(
        sweeps.means(rows, "score", rows["value"]), sweeps.printed(published, rows[complete]),
        sweeps.means(gains, "percent of gain", gain),
        sweeps.means(one.assign(position=one["layers"]), "layers_to_95pct", enough), columns=sweeps.COLUMNS
    )  # fmt: skip


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Scores by number of layers kept, and how much of the gain from no layer to all of them is reached."""
    table = tidy(inputs, published)
    figure = Figure((style.TEXT_WIDTH, 2.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for axes, panel in ((left, "score"), (right, "percent of gain")):
        sweeps.curves(axes, table, panel)
        axes.set(xticks=range(table["layers"].max() + 1), xlabel="layers kept (0 = embeddings)")
    right.axhline(100 * SHARE, color="#666666", linewidth=0.8, linestyle="--")
    reached = []
    for row in table[table["panel"] == "layers_to_95pct"].itertuples():
        right.axvline(
            row.value, color=style.look_of(style.task_of(row.series))["color"], linewidth=0.9, linestyle=":"
        )
        reached.append(f"{style.label_of(row.series)} {row.value:.3g}")
    left.set_ylabel("score (points)")
    right.set_ylabel("% of the gain from none to all")
    sweeps.legend(figure, left)
    return style.captioned(
        figure, table, f"Layers to 95 % of the gain, mean over replicates: {', '.join(reached) or 'no task gains'}.",
        sweeps.failures(table, "complete"),
        sweeps.left_out(table, "percent of gain", "in which more layers gain nothing")
    )  # fmt: skip
