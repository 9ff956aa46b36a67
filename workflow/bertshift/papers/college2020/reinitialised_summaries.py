"""Summaries of the differences by layer or by head, shared by Figures 7 to 10 of BERT Goes to College."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bertshift.figures import grids, numbers, style
from bertshift.papers.college2020 import reinitialised_heads as heads
from bertshift.rows.blocks import WITHOUT

COLUMNS = ["panel", "series", "layer", "head", *numbers.VALUES]
BY = COLUMNS[:4]
STATISTICS = ["count", "mean", "std", "min", "p25", "p50", "p75", "max"]
SPREADLESS = ["count", "std"]  # no differences, so that they have no colour
EXACT = 0.00105  # the paper prints three decimals, some cut and some rounded
CALCULATED = "derived"


def summaries(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Rows of `value`, and of the values without each block, by `by` and `series`, which names the statistic. Standard
    deviations have ddof 1 (none of one value), quartiles are linear."""
    groups, found = rows.groupby(by, sort=False), []
    for name in ("value", *(name for name in WITHOUT if name in rows)):
        wide = groups[name].describe().set_axis(STATISTICS, axis=1)
        wide = wide[["count", "mean", "std", "min", "max", "p25", "p50", "p75"]]  # the order of the rows
        found.append(wide.rename_axis(columns="series").stack().rename(name))
    return pd.concat(found, axis=1).dropna(subset="value").reset_index()


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping, key: str, of: str, by: str) -> pd.DataFrame:
    """Summaries of each replicate, averaged over replicates; the paper's figure `key`, as it is printed and as its
    differences, in its figure `of`, give it (provenance `derived`)."""
    rows = heads.deltas(inputs)
    ours = summaries(rows, ["panel", "init", "seed", "scale", "checkpoint", "data", "table", by])
    ours = numbers.means(ours.assign(**{"head" if by == "layer" else "layer": 0}), BY, ["panel"])
    return numbers.join(ours, *printed(rows, published, key, of, by), columns=COLUMNS)


def printed(rows: pd.DataFrame, published: Mapping, key: str, of: str, by: str) -> Iterator[pd.DataFrame]:
    paper, entry, source = (published.get(name, {}) for name in ("paper", key, of))
    for panel in heads.beside(rows, entry):
        derived = entry | {"provenance": CALCULATED, "place": f"{entry['place']}, from {source['place']}"}
        down, across = ("layer", "series") if by == "layer" else ("series", "head")
        for facts, cells in (
            (derived, summaries(heads.cells_of(source), [by])), (entry, heads.cells_of(entry, down, across))
        ):  # fmt: skip
            yield numbers.published(facts, paper, panel=panel, **cells.to_dict("list"))


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping, key: str, of: str, by: str) -> style.Drawn:
    """A table of ours and, below it, the paper's, shaped as in the paper: layers down, or heads across."""
    table = tidy(inputs, published, key, of, by)
    parts = []
    for panel, rows in table.groupby("panel", sort=False):
        parts.append((f"{style.label_of(panel)}, ours", rows[rows["source"] == "ours"]))
        if (rows["source"] == "published").any():
            other = "" if heads.comparable(rows) else f"; other {by}s or another model, not comparable"
            parts.append((f"Paper{other}", with_derived(rows)))
    heights = [part[by].nunique() if by == "layer" else len(STATISTICS) for _, part in parts]
    figure = Figure((style.TEXT_WIDTH, 0.5 * len(parts) + 0.24 * sum(heights)), layout="constrained")
    grid = figure.subplots(len(parts), 1, height_ratios=heights, squeeze=False)[:, 0]
    for axes, (title, part) in zip(grid, parts, strict=True):
        draw_table(axes, part, by)
        axes.set_title(title, loc="left", pad=3 if by == "head" else 14)
    return style.captioned(figure, table, corrections(table, by), heads.failures(heads.deltas(inputs)))


def draw_table(axes: Axes, part: pd.DataFrame, by: str) -> None:
    """The summaries of `part`; † where they differ from `derived`, if it has that column."""
    wrong = differs(part) if "derived" in part else False
    texts = part["value"].map(number).where(part["series"] != "count", part["value"].map("{:g}".format))
    cells = part.assign(text=texts + np.where(wrong, " †", ""))
    values, texts = (
        cells.pivot(index=by, columns="series", values=name).reindex(columns=STATISTICS)
        for name in ("value", "text")
    )
    values[SPREADLESS] = np.nan
    largest = 1.3 * max(values.abs().max(axis=None), 1e-4)
    across, down = STATISTICS, [f"layer {layer}" for layer in values.index]
    if by == "head":
        values, texts, across, down = values.T, texts.T, list(map(str, values.index)), STATISTICS
    look = {"cmap": heads.CMAP, "vmin": -largest, "vmax": largest, "edgecolors": "white"}
    grids.coloured_table(axes, values.to_numpy(float), across, down, 7, **look)
    for (y, x), text in np.ndenumerate(texts.fillna("–").to_numpy()):
        axes.text(x, y, text, ha="center", va="center", fontsize=7)


def number(value: float) -> str:
    """Three decimals, or five for what is 0 in three but not in five."""
    text = heads.short(value)
    if text == "0" and round(value, 5):
        text = f"{value:.5f}".rstrip("0").replace("0.", ".", 1).replace("-", "−")
    return text


def with_derived(table: pd.DataFrame) -> pd.DataFrame:
    """The paper's cells as printed, with `derived`: what the paper's own differences give."""
    theirs = table[table["source"] == "published"]
    calculated = theirs["provenance"] == CALCULATED
    derived = theirs[calculated].rename(columns={"value": "derived"})
    return theirs[~calculated].merge(derived[[*BY, "derived"]], on=BY, how="left")


def differs(cells: pd.DataFrame) -> pd.Series:
    return (cells["value"] - cells["derived"]).abs() > EXACT


def corrections(table: pd.DataFrame, by: str) -> str:
    """A sentence on the paper's cells that do not follow from its differences; empty if all do."""
    cells = with_derived(table)
    said = [
        f"{row.series} of {by} {getattr(row, by)} {row.derived:.4f}".replace("-", "−")
        for row in cells[differs(cells)].itertuples()
    ]
    return f"† Not what the paper's differences give: {', '.join(said)}." if said else ""
