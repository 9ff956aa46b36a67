"""BERT Goes to College 2020, Figure 1: training loss with and without an intermediate task."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bertshift.figures import layers, numbers, style

COLUMNS = ["panel", "series", "heads", "variant", "step", *numbers.VALUES]
BY = COLUMNS[:5]
DIRECT = "direct"
ACROSS = 2


def tidy(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Means over replicates by final task (`panel`), intermediate task or `direct` (`series`), head and step; variant `loss` or
    `smoothed`. The paper prints no number."""
    rows = pd.concat([table.assign(table=path) for path, table in inputs.items()], ignore_index=True)
    earlier, heads = zip(*map(style.intermediate_of, rows["model"]))
    rows = rows.assign(panel=rows["task"], series=[task or DIRECT for task in earlier], heads=heads)
    both = [rows.assign(variant="loss"), rows.assign(variant="smoothed", value=rows["smoothed"])]
    return numbers.join(numbers.means(pd.concat(both), BY, ["model"]), columns=COLUMNS)


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """A panel per final task and a line per intermediate task: smoothed, over the loss of every step in pale."""
    table = tidy(inputs)
    tasks = list(table["panel"].unique())
    lines = -(-len(tasks) // ACROSS)
    figure = Figure((style.TEXT_WIDTH, 0.3 + 1.75 * lines), layout="constrained")
    for place, (task, panel) in enumerate(table.groupby("panel", sort=False)):
        axes = figure.add_subplot(lines, ACROSS, place + 1)
        for (series, heads), rows in panel.groupby(["series", "heads"], sort=False):
            color = colour_of(series)
            raw, smoothed = (rows[rows["variant"] == variant] for variant in ("loss", "smoothed"))
            axes.plot(raw["step"], raw["value"], linewidth=0.4, alpha=0.25, zorder=1, color=color)
            look = {"color": color, "linewidth": 1.1, "linestyle": "--" if heads == "carry" else "-"}
            layers.curve(axes, smoothed, series, look, "step", zorder=3)
        axes.set(title=f"final task: {style.WORDS.get(task, task)}", xlabel="iteration", ylim=(0, None))
        if place % ACROSS == 0:
            axes.set_ylabel("training loss")
    shown = [series for series in (DIRECT, *tasks) if series in set(table["series"])]
    keys = [Line2D([], [], color=colour_of(name), linewidth=1.1, label=label_of(name)) for name in shown]
    figure.legend(handles=keys, loc="outside upper center", ncols=len(keys))
    carried = "Dashed: under the head of the intermediate task." if (table["heads"] == "carry").any() else ""
    return style.captioned(figure, table, carried)


def colour_of(series: str) -> str:
    return "black" if series == DIRECT else style.look_of(style.task_of(series))["color"]


def label_of(series: str) -> str:
    return series if series == DIRECT else f"after {style.WORDS.get(series, series)}"
