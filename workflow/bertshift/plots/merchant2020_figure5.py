"""Merchant et al. 2020, Figure 5: similarity to the pretrained model for inputs of and outside the training domain."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from bertshift.plots import layers, style, tables

# Stimuli, their words, and the name that colours them; the paper's three inputs and a control of our own.
SOURCES = {
    "mnli": ("MNLI pairs", "mnli"),
    "squad": ("SQuAD pairs", "squad"),
    "wiki": ("Wikipedia sentences", "wiki"),
    "wiki_pair": ("Wikipedia pairs (our control)", "wiki_pair"),
}


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Similarity per model and kind of input; the paper prints no number of this figure."""
    rows = tables.stack(inputs, "rsa", ["content"], SOURCES)
    return tables.join(tables.ours(rows, "model", "stimuli"))


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> tuple[Figure, pd.DataFrame]:
    """One panel per model, one line per kind of input, over layers 0 (embeddings) to L."""
    table = tidy(inputs, published)
    panels = list(table["panel"].unique())
    figure = Figure((style.TEXT_WIDTH, 2.75), layout="constrained")
    grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel in zip(grid, panels, strict=True):
        for stimuli, (words, name) in SOURCES.items():
            rows = table[(table["panel"] == panel) & (table["series"] == stimuli)]
            if not rows.empty:
                own = name == style.task_of(panel)
                line = {"linestyle": "--"} if stimuli == "wiki_pair" else {"linewidth": 2.2} if own else {}
                layers.curve(axes, rows, words, style.look_of(name), **line)
        layers.layer_axis(axes, table["layer"])
        axes.set_title(f"{style.label_of(panel)} model")
    grid[0].set_ylabel("RSA with the pretrained model")
    layers.up_to_one(grid[0])
    handles = {
        label: line for axes in grid for line, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    legend = figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=len(handles))
    for line in legend.get_lines():
        line.set_linewidth(1.4)
    style.caption(
        figure, table, "Special tokens left out; lower = more change; the thick line is the model's own kind of input. "
        "Wikipedia pairs share the format of the tasks' inputs but not their domain. The paper draws curves without "
        "numbers.",
    )  # fmt: skip
    return figure, table
