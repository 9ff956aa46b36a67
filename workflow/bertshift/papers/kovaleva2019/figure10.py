"""Kovaleva et al. 2019, Figure 10: the attention maps of all heads for one input of a task."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from bertshift.figures import grids, style
from bertshift.papers.kovaleva2019 import attention_maps, panels

CMAP = "Oranges"  # the paper's own
ACROSS = 2


def tidy(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """All maps of one input a model, of its first replicate; value: how sure the classifier is of `pattern`."""
    return attention_maps.drawn(attention_maps.rows_of(inputs, "one_input"))


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """A grid of layers x heads for each model, all on one scale."""
    table = tidy(inputs)
    models = list(table.groupby("panel", sort=False))
    down = -(-len(models) // ACROSS)
    height = 0.5 + 3 * table["layer"].max() / table["head"].max()  # the cells are squares
    figure = Figure((style.TEXT_WIDTH, height * down), layout="constrained")
    norm = Normalize(0, max(attention_maps.matrix_of(row).max() for row in table.itertuples()))
    grid = figure.subplots(down, ACROSS, squeeze=False)
    for axes, (model, rows) in zip(grid.flat, models):
        mosaic(axes, rows, norm)
        first = rows.iloc[0]
        axes.set_title(f"{style.label_of(model)}, {first['example']} ({first['length']} tokens)", pad=4)
    for axes in grid.flat[len(models) :]:
        axes.axis("off")
    panels.colour_bar(grid, norm, CMAP, aspect=20, fraction=0.02, pad=0.01, label="attention")
    return style.captioned(figure, table)


def mosaic(axes: Axes, rows: pd.DataFrame, norm: Normalize) -> None:
    """All maps in one image, a gap between them; layer 1 on top."""
    layers, heads, length = rows["layer"].max(), rows["head"].max(), rows["length"].iloc[0]
    gap = max(1, length // 12)
    step = length + gap
    image = np.full((layers * step - gap, heads * step - gap), np.nan)
    for row in rows.itertuples():
        top, left = (row.layer - 1) * step, (row.head - 1) * step
        image[top : top + length, left : left + length] = attention_maps.matrix_of(row)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.imshow(np.ma.masked_invalid(image), colormaps[CMAP].with_extremes(bad="#cfcfcf"), norm)
    for axis, count, name in ((axes.xaxis, heads, "head"), (axes.yaxis, layers, "layer")):
        axis.set_ticks([(number - 1) * step + length / 2 for number in grids.ends(count)], grids.ends(count))
        axis.set_label_text(name)
    axes.tick_params(length=0, pad=2)
