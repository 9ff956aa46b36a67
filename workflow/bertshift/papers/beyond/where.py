"""CKA of every layer with every layer: before fine-tuning, after it, and across; a column a
model."""

from collections.abc import Mapping
from functools import partial

import pandas as pd
from matplotlib.axes import Axes

from bertshift.figures import grids, numbers, style
from bertshift.metrics.layer_cka import contrast
from bertshift.rows import labelling, ranges
from bertshift.rows.nulls import is_null
from bertshift.rows.table import Table, concat

TOKENS = "content"
CONTRASTS = {"before": "before_contrast", "after": "after_contrast"}
# Each map in words: its rows are layers of the first, its columns of the second.
MAPS = {
    "before": ("before", "layer of the parent", "layer of the parent"),
    "after": ("after", "layer of the model", "layer of the model"),
    "across": ("across", "layer of the model", "layer of the parent"),
}
COLUMNS = ["panel", "series", "stimuli", "variant", "layer", "ref_layer", "head", *numbers.VALUES]
CELL = ["layer", "ref_layer"]
CONTRAST = partial(grids.number, signed=True, decimals=2)
LOOK = {"cmap": "viridis", "vmin": 0, "vmax": 1}


def tidy(inputs: Mapping[str, Table]) -> pd.DataFrame:
    """Tabulate for each model (`series`) three maps (`variant`), and the contrasts of the first
    two, in rows of `layer` 0 and `ref_layer` 0. Nulls have the contrast of the second alone."""
    measured = numbers.stack(inputs, "layer_cka", [*MAPS])
    measured = measured.where(measured["tokens"] == TOKENS)
    measured = measured.assign(series=measured["model"], panel=measured["variant"])
    is_of_null = is_null(measured["model"])
    parts = [measured.where(~is_of_null)]
    contrasts = _contrasts(measured.where(~is_of_null | (measured["variant"] == "after")))
    if len(contrasts):
        parts.append(contrasts)
    by, group_by = [*COLUMNS[:7], "model"], ["series", "model", "stimuli"]
    means = [numbers.means(part, by, group_by) for part in parts]
    return numbers.join(*means, columns=COLUMNS)


def _contrasts(measured: Table) -> Table:
    """Calculate the contrast of each replicate and map in which both thirds have layers enough,
    one row each."""
    rows = measured.rows[measured["variant"].isin(CONTRASTS)]
    runs = rows.groupby(["model", "variant", "init", "seed", "ref_init", "ref_seed"], sort=False)
    values = measured.numbers
    parts = []
    for (_, variant, *_), run in runs:
        cells = values.loc[run.index].set_index(pd.MultiIndex.from_frame(run[CELL]))
        part = run.iloc[:1].assign(variant=CONTRASTS[variant], layer=0, ref_layer=0)
        parts.append(measured.keep(part).with_numbers(cells.apply(contrast).to_frame().T))
    contrasts = concat(parts).within(ranges.ANY)
    return contrasts.where(contrasts["value"].notna())


def draw(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw a column a model, a row a map, with the contrast of the upper third over each."""
    table = tidy(inputs)
    models = list(table.loc[~is_null(table["series"]), "series"].unique())
    width = max(style.COLUMN_WIDTH, 0.9 + 1.5 * len(models))
    height = 0.3 + 1.8 * len(MAPS)
    figure, grid = style.grid(height, len(MAPS), len(models), width)
    for column, model in zip(grid.T, models, strict=True):
        rows = table[table["series"] == model]
        layers = range(int(rows["layer"].max()) + 1)
        for axes, variant in zip(column, MAPS, strict=True):
            cells = rows[rows["variant"] == variant]
            cells = cells.pivot(index="layer", columns="ref_layer", values="value")
            ref_layers = range(int(cells.columns.max()) + 1)
            _draw_map(axes, cells.reindex(index=layers, columns=ref_layers))
            axes.set_title(_title(rows, variant), pad=3)
            _, row_label, column_label = MAPS[variant]
            axes.set(xlabel=column_label, ylabel=row_label if model == models[0] else "")
        name = labelling.label_of(model) + style.mark_of(rows)
        column[0].set_title(f"{name}\n{column[0].get_title()}", pad=3)
    mesh = grid[0, 0].collections[0]
    bar = figure.colorbar(mesh, ax=grid[:, -1], aspect=40, pad=0.03)
    bar.set_label("CKA (debiased)")
    bar.outline.set_visible(False)
    return style.captioned(figure, table, null_note(table), style.failures(table))


def null_note(table: pd.DataFrame) -> str:
    """Write a sentence on the contrasts of nulls; empty if there are none."""
    nulls = table[is_null(table["series"])]
    if nulls.empty:
        return ""
    parts = [
        f"{labelling.label_of(row.series)} {numbers.with_spread(row, CONTRAST)}"
        for row in nulls.itertuples()
    ]
    return f"Δ of nulls in the place of fine-tuning: {'; '.join(parts)}."


def _draw_map(axes: Axes, cells: pd.DataFrame) -> None:
    """Draw a map, layer 0 at the lower left."""
    grids.heat_map(axes, cells, **LOOK)
    axes.set_box_aspect(len(cells) / cells.shape[1])
    axes.invert_yaxis()
    for axis, layers in ((axes.xaxis, cells.columns), (axes.yaxis, cells.index)):
        step = max(1, round(len(layers) / 5))
        shown = layers[::step]
        grids.ticks(axis, shown + 1, list(map(str, shown)))
    axes.tick_params(axis="y", labelrotation=0)


def _title(rows: pd.DataFrame, variant: str) -> str:
    """Write the map's name, and its contrast if it has one."""
    title = MAPS[variant][0]
    for row in rows[rows["variant"] == CONTRASTS.get(variant)].itertuples():
        title += f", Δ = {CONTRAST(row.value)}\n{numbers.spread(row, CONTRAST)}".rstrip()
    return title
