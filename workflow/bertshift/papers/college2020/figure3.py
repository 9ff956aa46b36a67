"""BERT Goes to College, Figure 3: scores with layers k and up re-initialised."""

from collections.abc import Iterator, Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bertshift.figures import numbers, style
from bertshift.papers.college2020 import reinitialised_layers

COLUMNS = 3
LABELS = {"reinit": "fine-tuned as the plain model", "reinit.plateau": "until the loss is on a plateau"}
CORRELATIONS = ("pearson", "spearman")


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Our rows, and the paper's numbers: complete models, and of MRPC the one score of every k."""
    table = reinitialised_layers.tidy(reinitialised_layers.runs(inputs))
    return numbers.join(table, *printed(table, published), columns=reinitialised_layers.COLUMNS)


def printed(table: pd.DataFrame, published: Mapping) -> Iterator[pd.DataFrame]:
    paper, known, three = (published.get(key, {}) for key in ("paper", "baselines", "figure3"))
    for panel, rows in table.groupby("panel", sort=False):
        task, score, depth = style.task_of(panel), rows["score"].iloc[0], int(rows["layers"].iloc[0])
        none = known.get(task, {})
        value = none.get("correlation" if score in CORRELATIONS else score)
        facts = {"panel": panel, "series": "paper", "score": score, "layers": depth}
        if value is not None:
            yield numbers.published(known, paper, **facts, position=depth + 1, value=value)
        any_layer = three.get(task, {}).get("any_layer", {}).get(score)
        if any_layer is not None:
            yield numbers.published(
                three, paper, **facts, position=list(range(1, depth + 1)), value=any_layer
            )


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """One panel per task; the last place on the axis is the plain model."""
    table = tidy(inputs, published)
    panels = list(table["panel"].unique())
    columns = min(COLUMNS, len(panels) + 1)
    lines = -(-(len(panels) + 1) // columns)
    figure = Figure((style.TEXT_WIDTH, 2.0 * lines), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False).ravel()
    for axes, panel in zip(grid, panels):
        colour = style.look_of(style.task_of(panel))
        looks = {"reinit": colour, "reinit.plateau": colour | {"linestyle": "-.", "markerfacecolor": "white"}}
        reinitialised_layers.draw_panel(axes, table[table["panel"] == panel], LABELS, looks)
    for axes in grid[len(panels) :]:
        axes.axis("off")
    shown = [name for name in LABELS if name in set(table["series"])]
    lines = [Line2D([], [], color="#444444", marker="o", linestyle="-" if name == "reinit" else "-.", label=LABELS[name],
                    markerfacecolor="#444444" if name == "reinit" else "white") for name in shown]  # fmt: skip
    lines.append(
        Line2D([], [], color="#444444", linestyle="--", linewidth=0.8, label="no layer re-initialised")
    )
    lines.append(Line2D([], [], color="#666666", linestyle=":", label="majority class"))
    lines.append(
        Line2D([], [], color="white", marker="*", markersize=7, markeredgecolor="black", label="paper")
    )
    grid[len(panels)].legend(handles=lines, loc="center")
    return style.captioned(figure, table, numbers.cited(published, "figure3", table))
