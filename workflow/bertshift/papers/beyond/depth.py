"""Changes by fine-tuning over relative depth: attention (JS), similarity (RSA) and hidden
states (SVCCA), a line a model."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes

from bertshift.figures import layers, numbers, style
from bertshift.measures import MEASURES
from bertshift.rows import labelling
from bertshift.rows.table import Table

DISTANCE, CEILING = "svcca99", "svcca99_null"
# What is read of each measure's tables: variants, inputs.
PANELS = {
    "js": (["nats"], []),
    "rsa": (["content"], ["wiki"]),
    "svcca": ([DISTANCE, CEILING], []),
}
LOOKS = {
    "base": {"color": "#000000", "marker": "o"},
    "roberta": {"color": "#0072B2", "marker": "s"},
    "gpt2": {"color": "#D55E00", "marker": "^"},
}
OTHERS = [
    {"color": "#009E73", "marker": "D"},
    {"color": "#CC79A7", "marker": "v"},
    {"color": "#E69F00", "marker": "P"},
]


def tidy(inputs: Mapping[str, Table]) -> pd.DataFrame:
    """Tabulate the means by metric (`panel`), model (`series`), variant and layer, with the
    layer's `depth`, 0 to 1; attention's mean is over heads."""
    parts = []
    for metric, (variants, stimuli) in PANELS.items():
        measured = numbers.stack_layers(inputs, metric, variants, stimuli).assign(panel=metric)
        parts.append(numbers.ours(measured, "panel", "model"))
    table = numbers.join(*parts)
    table.loc[table["variant"] == CEILING, "provenance"] = "derived"
    return table.assign(depth=table["layer"] / table.groupby("series")["layer"].transform("max"))


def draw(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw a row of panels a task, one panel a metric, one line a checkpoint."""
    table = tidy(inputs)
    task_of = table["series"].map(labelling.stages_of)
    tasks = list(task_of.unique())
    looks = style.of_bases(table["series"], LOOKS, OTHERS)
    height = 0.6 + 1.7 * len(tasks)
    figure, grid = style.grid(height, len(tasks), len(PANELS), sharex=True, sharey="col")
    for axes_row, task in zip(grid, tasks, strict=True):
        for axes, metric in zip(axes_row, PANELS, strict=True):
            shown = table[(table["panel"] == metric) & (task_of == task)]
            for series, rows in shown.groupby("series", sort=False):
                base = labelling.base_of(series)
                _draw_model(axes, rows, base, looks[base])
            axes.set_xlabel("share of the depth" if axes in grid[-1] else "")
            axes.set(xlim=(-0.03, 1.03), ylabel=MEASURES[metric].short_label)
        axes_row[0].set_title(labelling.WORDS.get(task, task) if len(tasks) > 1 else "")
    for axes, low in zip(grid[0], (0, None, 0), strict=True):
        axes.set_ylim(low, None)
    layers.up_to_one(grid[0, 1])
    layers.legend_over(figure, *layers.handles_of([grid[0, 0]]))
    return style.captioned(figure, table, style.failures(table))


def _draw_model(axes: Axes, rows: pd.DataFrame, base: str, look: dict) -> None:
    is_ceiling = rows["variant"] == CEILING
    layers.curve(axes, rows[~is_ceiling], base + style.mark_of(rows), look, "depth")
    ceiling = rows[is_ceiling].sort_values("depth")
    line = style.UNRELATED | {"color": look["color"], "linewidth": 0.9}
    axes.plot(ceiling["depth"], ceiling["value"], **line)
