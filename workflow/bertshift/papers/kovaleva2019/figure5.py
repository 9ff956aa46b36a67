"""Kovaleva et al. 2019, Figure 5: cosine similarity of each head's attention before and after fine-tuning."""

from collections.abc import Mapping
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from bertshift.figures import grids, numbers, style
from bertshift.figures.grids import ACROSS
from bertshift.rows import statistics

CMAP = "Blues_r"  # the paper's own
CURVES = {
    ("ours", "crop"): ("ours, tokens only", {"color": "#0072B2", "linestyle": "-"}),
    ("ours", "padded"): ("ours, padded", {"color": "#0072B2", "linestyle": "--"}),
    ("published", "padded"): ("published (padded)", {"color": "#000000", "linestyle": ":"}),
}
ROWS = dict(zip(CURVES, ["ours\nlayer", "ours, padded\nlayer", "published*\nlayer"], strict=True))
AGREEMENT = {"crop": "crop_r", "padded": "padded_r"}


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Our mean of every head and layer (head 0), cropped and padded, the published panels of the same tasks and, where
    shapes agree, the correlation over heads of either with them (crop_r, padded_r)."""
    rows = numbers.stack(inputs, "cosine", ["crop", "padded"])
    heads = numbers.first_run(rows[rows["head"] > 0], "model")
    parts = [numbers.ours(pd.concat([rows[rows["head"] == 0], heads]), "model", "variant")]
    entry, paper = published.get("figure5", {}), published.get("paper", {})
    for model in rows["model"].unique():
        panel = entry.get("tasks", {}).get(style.task_of(model))
        if panel is None:
            continue
        means = {"layer": [*range(1, len(panel["layer_mean"]) + 1)], "head": 0, "value": panel["layer_mean"]}
        facts = {
            "panel": model, "series": entry["variant"], "stimuli": style.task_of(model), "variant": entry["variant"]
        }  # fmt: skip
        parts += [
            numbers.published(entry, paper, **facts, **cells)
            for cells in (numbers.cells(panel["matrix"]), means)
        ]
    table = numbers.join(*parts)
    return numbers.join(table, *agreements(table))


def agreements(table: pd.DataFrame) -> list[pd.DataFrame]:
    found = []
    for panel, variant in product(table["panel"].unique(), AGREEMENT):
        ours, theirs = (
            cells_of(table, panel, *kind) for kind in (("ours", variant), ("published", "padded"))
        )
        places = [rows.set_index(["layer", "head"])["value"].sort_index() for rows in (ours, theirs)]
        if len(ours) and places[0].index.equals(places[1].index):
            r = statistics.correlation(*places)
            nothing = {"layer": 0, "head": 0, "low": np.nan, "high": np.nan, "provenance": "derived"}
            found.append(
                ours.head(1).assign(variant=AGREEMENT[variant], series=AGREEMENT[variant], value=r, **nothing)
            )
    return found


def cells_of(table: pd.DataFrame, panel: str, source: str, variant: str) -> pd.DataFrame:
    """What one heat map shows."""
    chosen = (table["panel"] == panel) & (table["source"] == source) & (table["variant"] == variant)
    return table[chosen & (table["head"] > 0)]


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Heat maps of layers x heads per task, ours (cropped, padded) above the published ones, and all layer means below."""
    table = tidy(inputs, published)
    panels = list(table["panel"].unique())
    there = set(zip(table["source"], table["variant"], strict=True))
    kinds = [kind for kind in ROWS if kind in there]
    across = min(max(len(panels), 3), ACROSS)
    blocks = [panels[start : start + across] for start in range(0, len(panels), across)]
    wide = across >= 6
    width = style.TEXT_WIDTH if across == ACROSS else 0.95 + 0.85 * across
    figure = Figure(
        (width, (0.45 if wide else 0.7) + len(blocks) * (0.98 * len(kinds) + 0.95)), layout="constrained"
    )
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.04, wspace=0.02)
    heights = ([1] * len(kinds) + [0.85]) * len(blocks) + [0.16 if wide else 0.5]
    grid = figure.add_gridspec(
        len(heights), across + 1, height_ratios=heights, width_ratios=[1] * across + [0.09]
    )
    for block, names in enumerate(blocks):
        top = block * (len(kinds) + 1)
        for row, kind in enumerate(kinds):
            for column, panel in enumerate(names):
                axes = figure.add_subplot(grid[top + row, column])
                cells = cells_of(table, panel, *kind)
                heat_map(axes, cells)
                if row == 0:
                    axes.set_title(style.label_of(panel), pad=3)
                elif kind[0] == "published" and len(cells):
                    axes.set_title(agreement(table, panel), pad=2, fontsize=7)
                if column:
                    axes.tick_params(labelleft=False)
                else:
                    axes.set_ylabel(ROWS[kind])
        for column, panel in enumerate(names):
            axes = figure.add_subplot(grid[top + len(kinds), column])
            profile(axes, table[(table["panel"] == panel) & (table["head"] == 0)])
            if column == 0:
                axes.set_ylabel("mean of\nheads")
            else:
                axes.tick_params(labelleft=False)
        bar = figure.add_subplot(grid[top : top + len(kinds), across])
        grids.colour_bar(figure, bar, Normalize(0, 1), CMAP, [0, 0.5, 1], "cosine")
    legend(figure.add_subplot(grid[-1, :]), table, columns=3 if wide else 1)
    cited = numbers.cited(
        published, "figure5", table, "; its maps include rows of padding. r: over heads with ours, padded"
    )
    return style.captioned(figure, table, cited, style.failures(table, "panel"))


def agreement(table: pd.DataFrame, panel: str) -> str:
    rows = table[(table["panel"] == panel) & (table["variant"] == AGREEMENT["padded"])]
    if rows.empty:
        return "not comparable"
    return style.agreement(rows["value"].item())


def heat_map(axes: Axes, cells: pd.DataFrame) -> None:
    """The matrix [layers, heads] of `cells`, layer 1 on top."""
    axes.set_box_aspect(1)
    matrix = cells.pivot(index="layer", columns="head", values="value")
    grids.heat_map(axes, matrix, cmap=CMAP, vmin=0, vmax=1)
    if matrix.size:
        grids.ticks(axes.yaxis, grids.ends(len(matrix)))


def profile(axes: Axes, means: pd.DataFrame) -> None:
    """Layer means of one task; over relative depth where our model has another number of layers than the paper's."""
    depths = means.groupby("source")["layer"].max()
    relative = depths.nunique() > 1
    for (source, variant), (_, look) in CURVES.items():
        rows = means[(means["source"] == source) & (means["variant"] == variant)].sort_values("layer")
        if rows.empty:
            continue
        x = rows["layer"] / depths[source] if relative else rows["layer"]
        axes.plot(x, rows["value"], **look, marker="." if len(rows) < 8 else None)
        if rows["low"].notna().any():
            axes.fill_between(x, rows["low"], rows["high"], color=look["color"], alpha=0.18, linewidth=0)
    axes.set(ylim=(0, 1.05), yticks=[0, 0.5, 1], xlabel="layer / layers" if relative else "layer")
    axes.set(xlim=(0, 1.06), xticks=[0, 0.5, 1]) if relative else axes.set_xticks(
        grids.ends(int(depths.max()))
    )
    if relative:
        axes.set_xticklabels(["0", ".5", "1"])
    axes.tick_params(length=1.5, pad=1)


def legend(axes: Axes, table: pd.DataFrame, columns: int) -> None:
    axes.axis("off")
    drawn = set(zip(table["source"], table["variant"], strict=True))
    for key, (label, look) in CURVES.items():
        if key in drawn:
            axes.plot([], [], label=label, **look)
    axes.legend(loc="center", ncols=columns, borderaxespad=0)
