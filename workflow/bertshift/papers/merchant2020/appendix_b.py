"""Merchant et al. 2020, Appendix B: minimum description length of edge probes, and F1 by number of
examples."""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

from bertshift.figures import layers, numbers, style
from bertshift.rows import labelling
from bertshift.rows.table import Table

KEYS = ["series", "task", "portion", "examples"]
ACROSS = 4
RELATIVE, KBITS = "relative code length", "code length (kbit)"


def tidy(inputs: Mapping[str, Table]) -> pd.DataFrame:
    """Tabulate code length (kbit, and relative to the pretrained model's), compression, and F1 by
    portion; no published numbers."""
    measured = numbers.rows_of(inputs, "mdl")
    length = measured.where(measured["quantity"] == "codelength")
    is_base = length["series"] == "base"
    logs = length.mapped(np.log)
    differences = logs.where(~is_base).minus_parents(logs.where(is_base), ["task"])
    of_base = "; " + numbers.each_once(length["table"][is_base])
    panels = {
        RELATIVE: differences.mapped(np.exp).assign(table=differences["table"] + of_base),
        KBITS: length.mapped(lambda bits: bits / 1000),
        "compression": measured.where(measured["quantity"] == "compression"),
        "f1": measured.where(measured["quantity"] == "f1").in_points(),
    }
    means = (
        numbers.means(part, KEYS, KEYS[:2]).assign(panel=panel) for panel, part in panels.items()
    )
    return numbers.join(*means, columns=["panel", *KEYS, *numbers.VALUES])


def draw(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw each model's code length relative to the pretrained model's by task; below it F1 by
    number of examples."""
    table = tidy(inputs)
    tasks = labelling.edge_labels(table["task"])
    rows = math.ceil(len(tasks) / ACROSS)
    heights = [0.4 + 0.27 * len(tasks), *[1.35] * rows]
    figure = style.blank(sum(heights) + 0.4)
    grid = figure.add_gridspec(1 + rows, ACROSS, height_ratios=heights)
    draw_lengths(figure.add_subplot(grid[0, :]), table, tasks)
    for number, (task, title) in enumerate(tasks.items()):
        row, column = divmod(number, ACROSS)
        axes = figure.add_subplot(grid[1 + row, column])
        curve = table[(table["panel"] == "f1") & (table["task"] == task)]
        layers.by_model(axes, curve, "examples")
        # More numbers would lie on each other.
        ends = sorted({curve["examples"].min(), curve["examples"].max()})
        axes.set(title=title, xscale="log")
        axes.set(xticks=ends, xticklabels=[f"{end:.0f}" for end in ends])
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_ylabel("F1 (points)" if column == 0 else "")
        axes.set_xlabel("training examples" if number + ACROSS >= len(tasks) else "")
    layers.legend_over(figure, *layers.handles_of([axes]))
    rows = numbers.rows_of(inputs, "mdl").rows
    shared = style.shared_probes(rows, rows["series"] == "base")
    return style.captioned(figure, table, shared, style.failures(table))


def draw_lengths(axes: Axes, table: pd.DataFrame, tasks: Mapping[str, str]) -> None:
    """Draw point and interval per model and task. 1 is the pretrained model; its kilobits follow
    the task's name."""
    ratios = table[table["panel"] == RELATIVE]
    models = list(ratios["series"].unique())
    heights = {task: number for number, task in enumerate(tasks)}
    for order, name in enumerate(models):
        rows = ratios[ratios["series"] == name]
        offset = 0.7 * ((order + 0.5) / len(models) - 0.5)
        y = rows["task"].map(heights) + offset
        look = style.look_of(labelling.task_of(name))
        axes.plot(rows["value"], y, linestyle="", **look)
        layers.bars(axes, y, rows, color=look["color"], linewidth=1)
    axes.axvline(1, color="black", linewidth=1.0, **style.BASELINE)
    of_base = table[(table["panel"] == KBITS) & (table["series"] == "base")]
    kbits = of_base.set_index("task")["value"]
    labels = [f"{label} ({kbits[task]:.3g} kbit)" for task, label in tasks.items()]
    axes.set_yticks(range(len(tasks)), labels)
    between = np.arange(len(tasks) - 1) + 0.5
    axes.set_yticks(between, minor=True)
    axes.tick_params(axis="y", which="both", length=0)
    axes.grid(False, axis="y")
    axes.grid(True, axis="y", which="minor")
    axes.invert_yaxis()
    axes.set_xlabel("code length / pretrained model's")
