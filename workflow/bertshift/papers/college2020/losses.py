"""BERT Goes to College: training loss after an intermediate task (Figure 1) and with layers
re-initialised (Figure 4)."""

import math
from collections.abc import Mapping

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, Colormap
from matplotlib.lines import Line2D

from bertshift.figures import layers, numbers, style
from bertshift.rows import labelling
from bertshift.rows.table import Table

AFTER_TASKS = ["panel", "series", "heads", "variant", "step"]
BY_LAYER = ["panel", "series", "position", "layers", "step"]
DIRECT = "direct"
LOOKS = {
    "loss": {"alpha": 0.25, "linewidth": 0.6, "zorder": 1},
    "smoothed": {"linewidth": 1.2, "zorder": 2},
}
WIDTHS = {"": 1.1, "fresh": 1.1, "carry": 0.5}  # points, by the head of the last stage
SHIFT = 0.02  # of the steps, from one interval at the end to the next


def figure1(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw a panel per final task and a line per intermediate task: smoothed, with the interval
    of the last step behind its end. Bands of all steps would hide the lines.

    The table is by final task (`panel`), intermediate task or `direct` (`series`), head and step;
    variant `loss` or `smoothed`.
    """
    tables = [table.rows.assign(table=path) for path, table in inputs.items()]
    rows = pd.concat(tables, ignore_index=True).rename(columns={"value": "loss"})
    intermediate, heads = zip(*map(labelling.intermediate_of, rows["model"]))
    rows = rows.assign(
        panel=rows["task"],
        series=[task or DIRECT for task in intermediate],
        heads=heads,
    )
    losses = stack_losses(rows, "variant")
    means = numbers.means_of_all(losses, AFTER_TASKS, ["panel", "series", "heads"])
    table = numbers.join(means, columns=[*AFTER_TASKS, *numbers.VALUES])
    tasks = list(table["panel"].unique())
    lines = math.ceil(len(tasks) / 2)
    figure = style.blank(0.3 + 1.75 * lines)
    for number, (task, curves) in enumerate(table.groupby("panel", sort=False)):
        axes = figure.add_subplot(lines, 2, number + 1)
        _draw_after_tasks(axes, curves)
        axes.set(
            title=f"final task: {labelling.WORDS.get(task, task)}",
            xlabel="iteration",
        )
        if number % 2 == 0:
            axes.set_ylabel("training loss")
    shown = [series for series in (DIRECT, *tasks) if series in set(table["series"])]
    keys = [
        Line2D([], [], color=_choose_colour(name), linewidth=1.1, label=_write_label(name))
        for name in shown
    ]
    figure.legend(handles=keys, loc="outside upper center", ncols=len(keys))
    carried = ""
    if (table["heads"] == "carry").any():
        carried = "Thin: under the head of the intermediate task."
    return style.captioned(figure, table, carried, with_intervals=_select_last(table))


def _select_last(curves: pd.DataFrame) -> pd.DataFrame:
    """Select the smoothed loss of each curve's last step."""
    smoothed = curves[curves["variant"] == "smoothed"]
    last = smoothed.groupby(["panel", "series", "heads"], sort=False)["step"].idxmax()
    return smoothed.loc[last]


def _draw_after_tasks(axes: Axes, curves: pd.DataFrame) -> None:
    smoothed = curves[curves["variant"] == "smoothed"]
    steps = smoothed["step"].max()
    by_line = smoothed.groupby(["series", "heads"], sort=False)
    for order, ((series, heads), rows) in enumerate(by_line, 1):
        colour = _choose_colour(series)
        width = WIDTHS[heads]
        axes.plot(rows["step"], rows["value"], color=colour, linewidth=width)
        last = _select_last(rows)
        behind = last["step"] + SHIFT * steps * order
        axes.plot(behind, last["value"], ".", color=colour, markersize=3)
        layers.bars(axes, behind, last, horizontal=False, color=colour, linewidth=1)
    drawn = pd.concat([smoothed["value"], layers.all_ends(_select_last(smoothed))])
    margin = 0.05 * np.ptp(drawn)
    axes.set_ylim(drawn.min() - margin, drawn.max() + margin)


def _choose_colour(series: str) -> str:
    return "black" if series == DIRECT else layers.task_colour(series)


def _write_label(series: str) -> str:
    return series if series == DIRECT else f"after {labelling.WORDS.get(series, series)}"


def stack_losses(rows: pd.DataFrame, column: str) -> Table:
    """Stack the losses and the smoothed losses; `column` tells them apart."""
    facts = [name for name in rows if name not in LOOKS]
    return Table.of(rows.melt(facts, list(LOOKS), column))


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
            losses = {name: np.interp(steps, run["step"], run[name]) for name in LOOKS}
            first_row = run.iloc[np.zeros(len(steps), int)]
            parts.append(first_row.assign(step=steps, **losses))
    return pd.concat(parts, ignore_index=True)


def figure4(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw one panel per task, with a line for each first re-initialised layer; the plain model is
    black.

    Losses (`loss`: mean since the step before; `smoothed`: the moving average) are means over the
    replicates that made this step.
    """
    parts = []
    for path, table in inputs.items():
        plain_model = min(table["model"], key=len)
        losses = table.rows.rename(columns={"value": "loss"})
        losses = on_common_steps(losses.assign(panel=plain_model, table=path))
        means = numbers.means_of_all(stack_losses(losses, "series"), BY_LAYER, ["panel"])
        parts.append(means.sort_values(BY_LAYER, kind="stable"))
    table = numbers.join(*parts, columns=[*BY_LAYER, *numbers.VALUES])
    panels = table.groupby("panel", sort=False)
    columns = min(3, len(panels))
    lines = math.ceil(len(panels) / columns)
    figure = style.blank(1.9 * lines + 0.3)
    depth = int(table["layers"].max())
    colours = matplotlib.colormaps["viridis"].resampled(depth)
    for number, (panel, curves) in enumerate(panels):
        axes = figure.add_subplot(lines, columns, number + 1)
        _draw_by_layer(axes, curves, colours)
        axes.set(title=labelling.label_of(panel), xlabel="step", ylim=(0, None))
        if number % columns == 0:
            axes.set_ylabel("training loss")
    norm = BoundaryNorm(np.arange(depth + 1) + 0.5, depth)
    bar = figure.colorbar(
        ScalarMappable(norm, colours),
        ax=figure.axes,
        fraction=0.03,
        pad=0.02,
        ticks=range(1, depth + 1, 1 if depth <= 12 else 3),
    )
    bar.set_label("first re-initialised layer")
    return style.captioned(figure, table, with_intervals=table[:0])


def _draw_by_layer(axes: Axes, curves: pd.DataFrame, colours: Colormap) -> None:
    for (position, depth, series), rows in curves.groupby(["position", "layers", "series"]):
        look = {"color": colours(position - 1)} | LOOKS[series]
        is_plain = position > depth
        if is_plain:
            look |= {"color": "black", "zorder": 3}
        if is_plain and series == "smoothed":
            look |= style.BASELINE
        axes.plot(rows["step"], rows["value"], **look)
