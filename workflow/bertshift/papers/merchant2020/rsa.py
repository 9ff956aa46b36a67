"""Merchant et al. 2020, Figures 2 and 5: representational similarity (RSA) to the pretrained
model, by layer."""

import math
from collections.abc import Mapping
from itertools import chain, zip_longest

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from bertshift.figures import layers, numbers, style
from bertshift.rows import labelling
from bertshift.rows.nulls import is_null
from bertshift.rows.table import Table

INPUTS = {
    "mnli": "MNLI pairs",
    "squad": "SQuAD pairs",
    "dep": "Treebank sentences",
    "wiki": "Wikipedia sentences",
}
STAR = (
    "Star: the one value that the paper prints, at its layer's share of the depth; between two"
    " layers where no layer of ours has that depth."
)
# The paper shows its two models on all three of its inputs; another model, on its own kind of
# input and Wikipedia.
SHOWN = {"mnli": ["mnli", "squad", "wiki"], "squad": ["mnli", "squad", "wiki"]}
# Controls are thin lines with these markers, in the colour of Wikipedia or else of the model's own
# inputs, which they vary.
CONTROLS = [
    ("{task}_premise", "own, premise or question alone", "+"),
    ("{task}_question", "own, premise or question alone", "+"),
    ("{task}_train", "own, of the training set", "x"),
    ("wiki_pair", "Wikipedia, pairs", "1"),
    ("wiki_like_{task}", "Wikipedia, lengths of own", "2"),
]


def figure2(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw RSA on `wiki`: one line per fine-tuned model, and the published points, at the same
    share of the depth."""
    measured = numbers.stack(inputs, "rsa", ["content"], ["wiki"]).assign(panel="wiki")
    names = measured["model"]
    models = labelling.first_of_tasks(names[~is_null(names)].unique())
    points = [
        _published_point(published, point, models[point["task"]])
        for point in published["figure2"]["points"]
        if point["task"] in models
    ]
    table = numbers.join(numbers.ours(measured, "panel", "model"), *points)
    figure, [[axes]] = style.grid(2.5, width=style.COLUMN_WIDTH)
    layers.by_model(axes, table)
    layers.layer_axis(axes, measured["layer"])
    points = table[table["source"] == "published"]
    depth = measured["layer"].max() / published["paper"]["layers"]
    for point in points.itertuples():
        name = f"{labelling.label_of(point.series)} published, {point.variant}"
        layers.star(axes, point.layer * depth, point, name)
    axes.set_ylabel("RSA with the pretrained model")
    layers.up_to_one(axes)
    layers.legend_above(axes, 2)
    star = STAR if len(points) else ""
    return style.captioned(figure, table, star, layers.null_note(table), style.failures(table))


def _published_point(published: Mapping, point: Mapping, model: str) -> pd.DataFrame:
    """Make the row of a published point, at the paper's own layer."""
    return numbers.published(
        published["figure2"] | {"place": point["place"]},
        published["paper"],
        panel="wiki",
        series=model,
        stimuli=point["stimuli"],
        variant=f"layer {point['layer']} of {point['layers']}",
        layer=point["layer"],
        value=point["value"],
        low=point["value"] - point["plus_minus"],
        high=point["value"] + point["plus_minus"],
    )


def figure5(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw one panel per model, one line per kind of input; controls thin, without bands. The
    paper gives no numbers for this figure."""
    stimuli = pd.concat([table["stimuli"] for table in inputs.values()]).unique()
    measured = numbers.stack(inputs, "rsa", ["content"], stimuli)
    table = numbers.join(numbers.ours(measured, "model", "stimuli"))
    panels = list(table["panel"].unique())
    figure, [grid] = style.grid(3.0, columns=len(panels), sharey=True)
    thick, thin = {}, {}  # the lines that the legend explains, by label
    for axes, panel in zip(grid, panels, strict=True):
        curves = dict(list(table[table["panel"] == panel].groupby("series")))
        task = labelling.task_of(panel)
        _draw_inputs(axes, curves, task, thick)
        _draw_controls(axes, curves, task, thin)
        layers.layer_axis(axes, table["layer"])
        axes.set_title(f"{labelling.label_of(panel)} model")
    grid[0].set_ylabel("RSA with the pretrained model")
    layers.up_to_one(grid[0])
    # A legend fills column by column: thick lines are its first row, thin ones its second.
    blank = Line2D([], [], linestyle="", label=" ")
    handles = list(chain(*zip_longest(thick.values(), thin.values(), fillvalue=blank)))
    columns = math.ceil(len(handles) / 2)
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, columnspacing=1.2)
    return style.captioned(figure, table, style.failures(table, "panel"))


def _draw_inputs(
    axes: Axes, curves: Mapping[str, pd.DataFrame], task: str, handles: dict[str, Line2D]
) -> None:
    """Draw the thick lines of a model, and collect what the legend explains in `handles`."""
    for stimuli in SHOWN.get(task, [task, "wiki"]):
        if stimuli in curves:
            look, label = style.look_of(stimuli), INPUTS.get(stimuli, stimuli)
            width = 2.2 if stimuli == task else 1.4
            layers.curve(axes, curves[stimuli], label, look, linewidth=width)
            handles[label] = Line2D([], [], label=label, **look)


def _draw_controls(
    axes: Axes, curves: Mapping[str, pd.DataFrame], task: str, handles: dict[str, Line2D]
) -> None:
    """Draw the thin lines of a model, and collect what the legend explains in `handles`."""
    for template, label, marker in CONTROLS:
        stimuli = template.format(task=task)
        if stimuli in curves:
            rows, is_wiki = curves[stimuli].sort_values("layer"), stimuli.startswith("wiki")
            line = {"marker": marker, "markersize": 5, "linewidth": 0.8, "label": label}
            colour = style.look_of("wiki" if is_wiki else task)["color"]
            axes.plot(rows["layer"], rows["value"], color=colour, **line)
            grey = "#000000" if is_wiki else "#808080"
            handles[label] = Line2D([], [], color=grey, **line)
