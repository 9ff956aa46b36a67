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
# Controls are thin lines, in the colour of the inputs that they vary. Premises and questions are sentences alone.
ALONE = {"mnli": "mnli_premise", "squad": "squad_question"}
CONTROLS = {
    "alone": ("own, premise or question alone", "--"), "train": ("own, of the training set", ":"),
    "pair": ("Wikipedia, pairs", (0, (6, 1.5, 1, 1.5))), "like": ("Wikipedia, lengths of own", (0, (1, 1)))
}  # fmt: skip


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Similarity per model and kind of input, drawn or not; the paper prints no number of this figure."""
    measured = list(pd.concat([table["stimuli"] for table in inputs.values()]).unique())
    return numbers.join(numbers.ours(numbers.stack(inputs, "rsa", ["content"], measured), "model", "stimuli"))


def controls(task: str) -> dict[str, tuple[str | None, str]]:
    """The stimuli that serve as each control for a model of `task`, and the inputs whose colour they take."""
    return {
        "alone": (ALONE.get(task), task), "train": (f"{task}_train", task), "pair": ("wiki_pair", "wiki"),
        "like": (f"wiki_like_{task}", "wiki")
    }  # fmt: skip


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """One panel per model, one line per kind of input, over layers 0 (embeddings) to L; controls thin, without bands."""
    table = tidy(inputs, published)
    panels = list(table["panel"].unique())
    figure = Figure((style.TEXT_WIDTH, 3.0), layout="constrained")
    grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    drawn = {}  # what the legend explains, in the order of INPUTS and CONTROLS
    for axes, panel in zip(grid, panels, strict=True):
        task = style.task_of(panel)
        curves = dict(list(table[table["panel"] == panel].groupby("series")))
        for stimuli in SHOWN.get(task, [task, "wiki"]):
            if stimuli in curves:
                look, words = style.look_of(stimuli), INPUTS.get(stimuli, stimuli)
                layers.curve(axes, curves[stimuli], words, look, linewidth=2.2 if stimuli == task else 1.4)
                drawn[words] = Line2D([], [], label=words, **look)
        for control, (stimuli, varied) in controls(task).items():
            if stimuli in curves:
                words, dashes = CONTROLS[control]
                line = {"linestyle": dashes, "linewidth": 1}
                rows = curves[stimuli].sort_values("layer")
                axes.plot(rows["layer"], rows["value"], color=style.look_of(varied)["color"], **line)
                drawn[words] = Line2D(
                    [], [], label=words, color="#000000" if varied == "wiki" else "#808080", **line
                )
        layers.layer_axis(axes, table["layer"])
        axes.set_title(f"{style.label_of(panel)} model")
    grid[0].set_ylabel("RSA with the pretrained model")
    layers.up_to_one(grid[0])
    own = [words for words, _ in CONTROLS.values()]
    rows = (
        [line for words, line in drawn.items() if words not in own],
        [drawn[words] for words in own if words in drawn],
    )
    blank = Line2D([], [], linestyle="", label=" ")
    handles = list(
        chain.from_iterable(zip_longest(*rows, fillvalue=blank))
    )  # a legend fills column by column
    figure.legend(handles=handles, loc="outside upper center", ncols=-(-len(handles) // 2), columnspacing=1.2)
    return style.captioned(figure, table, style.failures(table, "panel"))
