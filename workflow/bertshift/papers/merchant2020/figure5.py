"""Merchant et al. 2020, Figure 5: similarity to the pretrained model for inputs of and outside the training domain."""

from collections.abc import Mapping
from itertools import chain, zip_longest

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bertshift.figures import layers, numbers, style

INPUTS = {
    "mnli": "MNLI pairs", "squad": "SQuAD pairs", "dep": "Treebank sentences", "wiki": "Wikipedia sentences"
}  # fmt: skip
# The paper shows its two models on all three of its inputs; another model, on its own kind of input and Wikipedia.
SHOWN = {"mnli": ["mnli", "squad", "wiki"], "squad": ["mnli", "squad", "wiki"]}
# Controls are thin lines, in the colour of Wikipedia or else of the model's own inputs, which they vary.
CONTROLS = [
    ("{task}_premise", "own, premise or question alone", "--"),
    ("{task}_question", "own, premise or question alone", "--"),
    ("{task}_train", "own, of the training set", ":"),
    ("wiki_pair", "Wikipedia, pairs", (0, (6, 1.5, 1, 1.5))),
    ("wiki_like_{task}", "Wikipedia, lengths of own", (0, (1, 1))),
]


def tidy(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Similarity per model and kind of input, drawn or not; the paper prints no number of this figure."""
    measured = list(pd.concat([table["stimuli"] for table in inputs.values()]).unique())
    return numbers.join(numbers.ours(numbers.stack(inputs, "rsa", ["content"], measured), "model", "stimuli"))


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """One panel per model, one line per kind of input, over layers 0 (embeddings) to L; controls thin, without bands."""
    table = tidy(inputs)
    panels = list(table["panel"].unique())
    figure = Figure((style.TEXT_WIDTH, 3.0), layout="constrained")
    grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    thick, thin = {}, {}  # the lines that the legend explains, by its words
    for axes, panel in zip(grid, panels, strict=True):
        task = style.task_of(panel)
        curves = dict(list(table[table["panel"] == panel].groupby("series")))
        for stimuli in SHOWN.get(task, [task, "wiki"]):
            if stimuli in curves:
                look, words = style.look_of(stimuli), INPUTS.get(stimuli, stimuli)
                layers.curve(axes, curves[stimuli], words, look, linewidth=2.2 if stimuli == task else 1.4)
                thick[words] = Line2D([], [], label=words, **look)
        for template, words, dashes in CONTROLS:
            stimuli = template.format(task=task)
            if stimuli in curves:
                rows, of_wiki = curves[stimuli].sort_values("layer"), stimuli.startswith("wiki")
                line = {"linestyle": dashes, "linewidth": 1, "label": words}
                colour = style.look_of("wiki" if of_wiki else task)["color"]
                axes.plot(rows["layer"], rows["value"], color=colour, **line)
                thin[words] = Line2D([], [], color="#000000" if of_wiki else "#808080", **line)
        layers.layer_axis(axes, table["layer"])
        axes.set_title(f"{style.label_of(panel)} model")
    grid[0].set_ylabel("RSA with the pretrained model")
    layers.up_to_one(grid[0])
    # A legend fills column by column: thick lines are its first row, thin ones its second.
    blank = Line2D([], [], linestyle="", label=" ")
    handles = list(chain(*zip_longest(thick.values(), thin.values(), fillvalue=blank)))
    figure.legend(handles=handles, loc="outside upper center", ncols=-(-len(handles) // 2), columnspacing=1.2)
    return style.captioned(figure, table, style.failures(table, "panel"))
