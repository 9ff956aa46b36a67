"""Which measure finds which planted change, and in the right place: a row of panels a checkpoint,
measures down."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from bertshift.figures import grids, numbers, style
from bertshift.papers.beyond.labels import STATES
from bertshift.rows import labelling
from bertshift.rows.planted import FOUND, PLACED
from bertshift.rows.table import Table

MEASURES = STATES | {
    "made": "made, by RSA",
    "made_norm": "made, by norm",
    "js": "JS of attention",
    "js_head": "JS, head by head",
    "js_matched": "JS, heads matched",
    "cosine": "cosine of attention",
    "cosine_head": "cosine, head by head",
    "cosine_matched": "cosine, heads matched",
    "norm": "weights, norm",
    "edge": "weights, edge",
}
KINDS = {
    "head": "head",
    "attention": "attention",
    "feed_forward": "feed-forward",
    "rank_one": "rank one",
    "words": "words",
    "all_layers": "all layers",
    "nothing": "nothing",
    "units_reordered": "units moved",
    "heads_reordered": "heads moved",
}
HARMLESS = ("nothing", "units_reordered", "heads_reordered")
SMALLEST = "smallest"
ENOUGH = 0.5  # of the changes of a size are found, or more
COLUMNS = ["panel", "series", "variant", "measure", "size", *numbers.VALUES]
BY = ["panel", "series", "variant", "measure", "size"]
UNIT = "draw"
LABELS, CELL, ROW, HEADER = 1.45, 0.43, 0.17, 0.95  # inches
SHARES = {"cmap": "Blues", "vmin": 0, "vmax": 1.6}


def tidy(inputs: Mapping[str, Table]) -> pd.DataFrame:
    """Tabulate the share of changes that are found, and placed (`series`), by checkpoint, kind
    (`variant`), measure and size; and the smallest size that is found, in whose rows `value` is a
    size."""
    measured = numbers.rows_of(numbers.of_measure(inputs, "planted"), "planted")
    measured = measured.assign(panel=measured["model"], series=measured["outcome"])
    cases = measured.rows.groupby(BY)["value"].transform("size")
    measured = replace(measured, examples=cases.to_numpy(np.float64))
    shares = numbers.means(measured, BY, ["panel"])
    shares["unit"] = shares["unit"].replace("seed", UNIT)
    smallest = smallest_sizes(shares)
    return numbers.join(shares, smallest, columns=COLUMNS)


def smallest_sizes(shares: pd.DataFrame) -> pd.DataFrame:
    """Find, for each checkpoint, kind and measure, the smallest size of which ENOUGH changes are
    found; no row where there is none. `low` and `high` are the same of the upper and the lower end
    of the shares' intervals, and empty where one of the two has no such size."""
    found = shares[(shares["series"] == FOUND) & ~shares["variant"].isin(HARMLESS)]
    parts = []
    for _, rows in found.groupby(["panel", "variant", "measure"], sort=False):
        row = rows.iloc[[0]].assign(series=SMALLEST, size=np.nan, each="")
        for column, share in (("value", "value"), ("low", "high"), ("high", "low")):
            row[column] = rows.loc[rows[share] >= ENOUGH, "size"].min()
        parts.append(row)
    smallest = pd.concat(parts).dropna(subset="value")
    has_both = smallest[["low", "high"]].notna().all(axis=1)
    smallest[["low", "high"]] = smallest[["low", "high"]].where(has_both)
    return smallest


def draw(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw for each checkpoint the smallest size that is found, the share placed at the largest
    size, and the share of harmless changes that are found."""
    table = tidy(inputs)
    panels = list(table.groupby("panel", sort=False))
    blocks = _blocks(table)
    columns = sum(len(kinds) for _, kinds in blocks.values())
    width = max(style.TEXT_WIDTH, LABELS + CELL * columns)
    height = (HEADER + ROW * len(MEASURES)) * len(panels)
    figure = style.blank(height, width)
    ratios = [len(kinds) for _, kinds in blocks.values()]
    grid = figure.subplots(len(panels), len(blocks), squeeze=False, width_ratios=ratios)
    for line, (name, rows) in zip(grid, panels, strict=True):
        for axes, (series, (title, kinds)) in zip(line, blocks.items(), strict=True):
            labels = list(MEASURES.values()) if axes is line[0] else [""] * len(MEASURES)
            _draw_block(axes, rows, series, kinds, labels)
            axes.set_title(title, pad=60, fontsize=8)
        line[0].annotate(
            labelling.label_of(name) + style.mark_of(rows),
            (0, 1),
            xycoords="axes fraction",
            xytext=(-8, 30),
            textcoords="offset points",
            ha="right",
            fontweight="bold",
        )
    notes = _size_note(table), style.failures(table)
    return style.captioned(figure, table, *notes, with_intervals=table.iloc[:0])


Blocks = Mapping[str, tuple[str, Sequence[str]]]


def _blocks(table: pd.DataFrame) -> Blocks:
    """List the blocks of a panel: what their cells show, their titles, and their kinds."""
    kinds = [kind for kind in KINDS if kind in set(table["variant"])]
    changed = [kind for kind in kinds if kind not in HARMLESS]
    placed = [kind for kind in changed if kind != "all_layers"]
    harmless = [kind for kind in kinds if kind in HARMLESS]
    return {
        SMALLEST: ("smallest size found", changed),
        PLACED: ("% placed", placed),
        FOUND: ("% found, harmless", harmless),
    }


def _draw_block(
    axes: Axes, rows: pd.DataFrame, series: str, kinds: Sequence[str], labels: Sequence[str]
) -> None:
    cells = _cells(rows, series)
    values = cells.reindex(index=list(MEASURES), columns=kinds).to_numpy(float)
    look = _look_of_sizes(rows) if series == SMALLEST else SHARES
    grids.coloured_table(axes, values, [KINDS[kind] for kind in kinds], labels, 7, **look)
    axes.tick_params(axis="x", labelrotation=90)
    is_measured = _cells(rows, FOUND).reindex(index=list(MEASURES), columns=kinds).notna()
    for (y, x), value in np.ndenumerate(values):
        text = _text(value, series, bool(is_measured.iloc[y, x]))
        axes.text(x, y, text, ha="center", va="center", color="#000000", fontsize=7)


def _look_of_sizes(rows: pd.DataFrame) -> dict:
    """Let small sizes be dark, and the largest still be seen."""
    sizes = rows.loc[rows["size"] > 0, "size"]
    return {"cmap": "Blues_r", "norm": LogNorm(sizes.min() / 10, 6 * sizes.max())}


def _cells(rows: pd.DataFrame, series: str) -> pd.DataFrame:
    """Take the values of one series by measure and kind, at the largest size of each kind."""
    rows = rows[rows["series"] == series]
    largest = rows.groupby("variant")["size"].transform("max")
    rows = rows[(rows["size"] == largest) | largest.isna()]
    return rows.pivot(index="measure", columns="variant", values="value")


def _text(value: float, series: str, is_measured: bool) -> str:
    if np.isnan(value):
        return "–" if series == SMALLEST and is_measured else ""
    return f"{value:g}" if series == SMALLEST else f"{100 * value:.0f}"


def _size_note(table: pd.DataFrame) -> str:
    found = table[table["series"] == FOUND]
    sizes = ", ".join(f"{size:g}" for size in sorted(found["size"].unique()) if size)
    return f"Sizes: {sizes}; a dash: none of these is found. Placed: at the largest size."
