"""Merchant et al. 2020, Figure 4: scores after fine-tuning only the first layers, the others removed."""

from collections.abc import Mapping

import pandas as pd

from bertshift.figures import numbers, style
from bertshift.papers.merchant2020 import scores_by_depth
from bertshift.rows import statistics

PERCENT = "percent of gain"
SHARE = 0.95


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Scores in points by layers kept; percent of the gain from none to all; layers to 95 % of it, by replicate."""
    rows = scores_by_depth.scores(inputs)
    is_complete = rows["position"] == rows["layers"]
    empty = scores_by_depth.at(rows, rows["position"] == 0, "empty")
    table = scores_by_depth.tidy(rows, published, PERCENT, is_complete, "complete", empty)
    curves = rows.set_index("position").groupby(scores_by_depth.RUN, sort=False)["value"]
    enough = curves.agg(lambda curve: statistics.layers_to(curve.to_dict(), SHARE))
    runs = rows.drop_duplicates(scores_by_depth.RUN)  # in the order of the curves
    runs = runs.assign(position=runs["layers"])
    # No blocks: the jackknife of a number of layers, which jumps, is too wide.
    counts = pd.DataFrame({"value": enough.to_numpy()}, index=runs.index)
    reached = scores_by_depth.means(runs, "layers_to_95pct", counts)
    return numbers.join(table, reached, columns=scores_by_depth.COLUMNS)


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Scores by number of layers kept, and how much of the gain from no layer to all of them is reached."""
    table = tidy(inputs, published)
    figure, left, right = scores_by_depth.panels(table, PERCENT, "gain from none to all")
    for axes in (left, right):
        axes.set(xticks=range(table["layers"].max() + 1), xlabel="layers kept (0 = embeddings)")
    right.axhline(100 * SHARE, color="#666666", linewidth=0.8, linestyle="--")
    reached = table[table["panel"] == "layers_to_95pct"].set_index("series")["value"]
    for model, kept in reached.items():
        colour = style.look_of(style.task_of(model))["color"]
        right.axvline(kept, color=colour, linewidth=0.9, linestyle=":")
    words = ", ".join(f"{style.label_of(model)} {kept:.3g}" for model, kept in reached.items())
    enough = f"Layers to 95 % of the gain, mean over replicates: {words or 'no task gains'}."
    left_out = scores_by_depth.left_out(table, PERCENT, "complete", "in which more layers gain nothing")
    return style.captioned(figure, table, enough, left_out)
