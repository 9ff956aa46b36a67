"""BERT Goes to College: training loss after an intermediate task (Figure 1) and with layers
re-initialised (Figure 4)."""

from collections.abc import Mapping

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm
from matplotlib.lines import Line2D

from bertshift.figures import layers, numbers, style
from bertshift.rows import labelling

AFTER_TASKS = ["panel", "series", "heads", "variant", "step"]
BY_LAYER = ["panel", "series", "position", "layers", "step"]
DIRECT = "direct"
LOOKS = {"loss": {"alpha": 0.25, "linewidth": 0.6}, "smoothed": {"linewidth": 1.2}}


def figure1(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw a panel per final task and a line per intermediate task: smoothed, over the loss of
    every step in pale.

    The table is by final task (`panel`), intermediate task or `direct` (`series`), head and step;
    variant `loss` or `smoothed`.
    """
    rows = pd.concat(
        [table.assign(table=path) for path, table in inputs.items()], ignore_index=True
    )
    earlier, heads = zip(*map(labelling.intermediate_of, rows["model"]))
    rows = rows.assign(
        panel=rows["task"], series=[task or DIRECT for task in earlier], heads=heads
    )
    both = [rows.assign(variant="loss"), rows.assign(variant="smoothed", value=rows["smoothed"])]
    table = numbers.join(
        numbers.means_of_all(pd.concat(both), AFTER_TASKS, AFTER_TASKS[:3]),
        columns=[*AFTER_TASKS, *numbers.VALUES],
    )
    tasks = list(table["panel"].unique())
    lines = -(-len(tasks) // 2)
    figure = style.blank(0.3 + 1.75 * lines)
    for place, (task, panel) in enumerate(table.groupby("panel", sort=False)):
        axes = figure.add_subplot(lines, 2, place + 1)
        for (series, heads), rows in panel.groupby(["series", "heads"], sort=False):
            color = _colour(series)
            raw, smoothed = (rows[rows["variant"] == variant] for variant in ("loss", "smoothed"))
            axes.plot(raw["step"], raw["value"], linewidth=0.4, alpha=0.25, zorder=1, color=color)
            look = {
                "color": color,
                "linewidth": 1.1,
                "linestyle": "--" if heads == "carry" else "-",
            }
            layers.curve(axes, smoothed, series, look, "step", zorder=3)
        axes.set(
            title=f"final task: {labelling.WORDS.get(task, task)}",
            xlabel="iteration",
            ylim=(0, None),
        )
        if place % 2 == 0:
            axes.set_ylabel("training loss")
    shown = [series for series in (DIRECT, *tasks) if series in set(table["series"])]
    keys = [
        Line2D([], [], color=_colour(name), linewidth=1.1, label=_label(name)) for name in shown
    ]
    figure.legend(handles=keys, loc="outside upper center", ncols=len(keys))
    carried = (
        "Dashed: under the head of the intermediate task."
        if (table["heads"] == "carry").any()
        else ""
    )
    return style.captioned(figure, table, carried)


def _colour(series: str) -> str:
    return "black" if series == DIRECT else style.look_of(labelling.task_of(series))["color"]


def _label(series: str) -> str:
    return series if series == DIRECT else f"after {labelling.WORDS.get(series, series)}"


def on_common_steps(table: pd.DataFrame) -> pd.DataFrame:
    """Interpolate every run's losses at the steps of the longest run of its model, up to the run's
    own end. Runs that stop at a plateau do not all stop at one step, and each is thinned by its
    own number of steps."""
    parts = []
    for _, rows in table.groupby("model", sort=False):
        runs = [run.sort_values("step") for _, run in rows.groupby(["init", "seed"])]
        longest = max((run["step"].to_numpy() for run in runs), key=max)
        for run in runs:
            steps = longest[longest <= run["step"].max()]
            curves = {name: np.interp(steps, run["step"], run[name]) for name in LOOKS}
            parts.append(run.iloc[np.zeros(len(steps), int)].assign(step=steps, **curves))
    return pd.concat(parts, ignore_index=True)


def figure4(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw one panel per task, with a line for each first re-initialised layer; the plain model is
    black.

    Losses (`loss`: mean since the step before; `smoothed`: the moving average) are means over the
    replicates that made this step.
    """
    parts = []
    for path, table in inputs.items():
        about = {"panel": min(table["model"], key=len), "table": path}
        curves = on_common_steps(table.rename(columns={"value": "loss"}).assign(**about))
        rows = curves.melt([name for name in curves if name not in LOOKS], list(LOOKS), "series")
        parts.append(
            numbers.means_of_all(rows, BY_LAYER, ["panel"]).sort_values(BY_LAYER, kind="stable")
        )
    table = numbers.join(*parts, columns=[*BY_LAYER, *numbers.VALUES])
    panels = table.groupby("panel", sort=False)
    columns = min(3, len(panels))
    lines = -(-len(panels) // columns)
    depth = int(table["layers"].max())
    figure = style.blank(1.9 * lines + 0.3)
    colours = matplotlib.colormaps["viridis"].resampled(depth)
    for place, (panel, curves) in enumerate(panels):
        axes = figure.add_subplot(lines, columns, place + 1)
        for (position, whole, series), rows in curves.groupby(["position", "layers", "series"]):
            look = {"color": colours(position - 1), "zorder": 2} | LOOKS[series]
            if position > whole:  # none is re-initialised
                look |= {
                    "color": "black",
                    "zorder": 3,
                    "linestyle": "--" if series == "smoothed" else "-",
                }
            axes.plot(rows["step"], rows["value"], **look)
        axes.set(title=labelling.label_of(panel), xlabel="step", ylim=(0, None))
        if place % columns == 0:
            axes.set_ylabel("training loss")
    bar = figure.colorbar(
        ScalarMappable(BoundaryNorm(np.arange(depth + 1) + 0.5, depth), colours),
        ax=figure.axes,
        fraction=0.03,
        pad=0.02,
        ticks=range(1, depth + 1, 1 if depth <= 12 else 3),
    )
    bar.set_label("first re-initialised layer")
    return style.captioned(figure, table)
