"""Hao et al. 2020, Figure 3: how far the last hidden states move when one layer gets its pretrained weights back."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from bertshift.figures import layers, numbers, style
from bertshift.papers.hao2020 import hidden_states
from bertshift.rows import statistics


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Panel `distance`: every reading, and the distance of unrelated representations; panel `score`: the headline
    score in points, at layer 0 that of the model as it is. `layer` is the layer restored."""
    rows = numbers.rows_of(inputs, "restored").assign(panel="distance")
    scored = numbers.rows_of(inputs, "restored_score")
    scored = statistics.in_points(scored[scored["headline"]].assign(panel="score"))
    parts = [hidden_states.distances(rows), numbers.ours(scored.reset_index(drop=True), "panel", "series")]
    return numbers.join(*parts, columns=hidden_states.COLUMNS)


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """One line per task over the layer restored: the distance, and the score beside that of nothing restored."""
    table = tidy(inputs, published)
    figure = Figure((style.TEXT_WIDTH, 2.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    layers.by_model(left, table[table["variant"] == hidden_states.DISTANCE])
    hidden_states.ceilings(left, table[table["variant"] == hidden_states.CEILING])
    left.set(ylabel="SVCCA distance of the last layer", ylim=(0, 1))
    scores = table[table["panel"] == "score"]
    layers.by_model(right, scores[scores["layer"] > 0])
    for row in scores[scores["layer"] == 0].itertuples():
        colour = style.look_of(style.task_of(row.series))["color"]
        right.axhline(row.value, color=colour, linestyle="--", linewidth=0.9)
    kinds = " or ".join(style.SCORES.get(name, name) for name in scores["variant"].unique())
    right.set_ylabel(f"score, {kinds} (points)")
    for axes in (left, right):
        layers.layer_axis(axes, table.loc[table["layer"] > 0, "layer"])
        axes.set_xlabel("layer with its pretrained weights")
    handles, labels = left.get_legend_handles_labels()
    handles += right.plot([], [], color="#666666", linestyle="--", linewidth=0.9)
    labels += ["nothing restored"]
    figure.legend(handles, labels, loc="outside upper center", ncols=-(-len(handles) // 2))
    return style.captioned(figure, table, hidden_states.ceiling_note(table), style.failures(table))
