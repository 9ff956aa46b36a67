"""Curves over layers, shared by the figures that draw one line per model or input."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bertshift.figures import style
from bertshift.rows import statistics

LEGEND_LETTERS, LEGEND_HANDLE = 18, 5  # letters of a legend in an inch, and as many as a handle takes


def curve(axes: Axes, rows: pd.DataFrame, label: str, look: dict, x: str = "layer", **line) -> None:
    """Draw one line over column `x`: with a band from low to high where there are replicates enough for an
    interval, or else with a thin line for each of several replicates."""
    rows = rows.sort_values(x)
    axes.plot(rows[x], rows["value"], label=label, **look, **line)
    thin = {"color": look["color"], "linewidth": 0.5, "alpha": 0.6, "linestyle": line.get("linestyle", "-")}
    for values in zip_longest(*statistics.too_few(rows), fillvalue=np.nan):
        axes.plot(rows[x], values, **thin)
    enough = statistics.banded(rows)
    if enough.any():
        low, high = rows["low"].where(enough), rows["high"].where(enough)
        with within_reach(axes, rows["value"]):
            axes.fill_between(rows[x], low, high, color=look["color"], alpha=0.18, linewidth=0)


def bars(axes: Axes, places: Sequence[float], rows: pd.DataFrame, horizontal: bool = True, **look) -> None:
    """Draw intervals at `places` on the other axis; where there are too few replicates for an interval, draw
    a dot for each of several."""
    enough = statistics.banded(rows).to_numpy()
    places = np.asarray(places, dtype=np.float64)
    with within_reach(axes, rows["value"], horizontal):
        lines = axes.hlines if horizontal else axes.vlines
        lines(places[enough], rows["low"][enough], rows["high"][enough], **look)
    dot = {"color": look["color"], "zorder": look.get("zorder", 1), "markersize": 2.5}
    for place, values in zip(places, statistics.too_few(rows), strict=True):
        at = [place] * len(values)
        axes.plot(*((values, at) if horizontal else (at, values)), ".", **dot)


@contextmanager
def within_reach(axes: Axes, values: pd.Series, horizontal: bool = False) -> Iterator[None]:
    """Let the intervals drawn inside the block widen the axis of `values` by no more than their range on
    either side: those of two replicates are so wide that nothing else would be seen."""
    before, side = axes.dataLim.get_points().copy(), 0 if horizontal else 1
    reach = (values.max() - values.min()) or abs(values.max())
    yield
    if values.empty:
        return
    points = axes.dataLim.get_points().copy()
    least, most = points[:, side].clip(values.min() - reach, values.max() + reach)
    points[:, side] = min(before[0, side], least), max(before[1, side], most)
    axes.dataLim.set_points(points)


def highest(rows: pd.DataFrame) -> float:
    """Find where an axis that begins at 0 must end: above all values, and above the highest interval unless
    that is more than twice as high."""
    most = rows["value"].max()
    ends = rows.loc[statistics.banded(rows), "high"].max()
    return max([most, *statistics.too_few(rows).explode().dropna(), min(ends, 2 * most)])


def layer_axis(axes: Axes, layers: pd.Series) -> None:
    """Set ticks at whole layers, with the embeddings named where they are drawn."""
    first, last = int(layers.min()), int(layers.max())
    axes.set_xlim(first - 0.3, last + 0.3)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=13, integer=True))
    axes.set_xlabel("layer (0 = embeddings)" if first == 0 else "layer")


def up_to_one(axes: Axes) -> None:
    """End the axis just above 1, whatever the range below it."""
    low = axes.get_ylim()[0]
    axes.set_ylim(low, 1 + 0.03 * max(1 - low, 1e-6))


def legend_above(axes: Axes, columns: int) -> None:
    """Draw a legend that no curve can run into."""
    place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "borderaxespad": 0.3}
    axes.legend(ncols=columns, columnspacing=1.2, **place)


def by_model(axes: Axes, table: pd.DataFrame, x: str = "layer") -> None:
    """Draw a line per model of our rows, in the colour of its task; the pretrained model's is dashed, on top
    of what it hides."""
    for model, rows in table[table["source"] == "ours"].groupby("series", sort=False):
        line = {"linestyle": "--", "linewidth": 1.0, "zorder": 3} if model == "base" else {}
        label = style.label_of(model) + style.mark_of(rows)
        curve(axes, rows, label, style.look_of(style.task_of(model)), x, **line)


def small_multiples(
    table: pd.DataFrame, row: str, rows: Mapping[str, str], variants: Mapping[str, tuple[str, dict]]
) -> Figure:
    """Draw a panel per value of the column `row` (with these labels) and model, a line per variant (its label
    and look).

    Models that have a row in common share its axis; a legend where a panel has several lines.
    """
    panels = dict(list(table.groupby("panel", sort=False)))
    rows = {name: label for name, label in rows.items() if (table[row] == name).any()}
    width = style.TEXT_WIDTH if len(panels) > 3 else 1.0 + 1.6 * len(panels)
    figure, grid = style.grid(
        0.5 + 1.15 * len(rows), len(rows), len(panels), width, sharex="col", sharey="row"
    )
    for line, (name, label) in zip(grid, rows.items(), strict=True):
        for axes, cells in zip(line, panels.values(), strict=True):
            cells = cells[cells[row] == name]
            for variant, (words, look) in variants.items():
                shown = cells[cells["variant"] == variant]
                if len(shown):
                    curve(axes, shown, words, look | {"markersize": 2.5, "linewidth": 1.1})
            layer_axis(axes, cells["layer"])
            axes.locator_params(axis="x", nbins=4)  # the panels are narrow
            axes.set_xlabel("layer" if axes in grid[-1] else "")
        line[0].set(ylim=(0, 1.05 * highest(table[table[row] == name]) or 1), ylabel=label)
    for axes, (panel, cells) in zip(grid[0], panels.items(), strict=True):
        axes.set_title(style.label_of(panel) + style.mark_of(cells))
    if len(grid[0, 0].get_legend_handles_labels()[0]) > 1:
        legend_over(figure, grid[0, 0])
    return figure


def legend_over(figure: Figure, axes: Axes, *more: Artist) -> None:
    """Draw a legend above all panels, for the lines of `axes` and `more`, side by side as far as they find
    room."""
    handles = [*axes.get_legend_handles_labels()[0], *more]
    longest = max(len(handle.get_label()) for handle in handles) + LEGEND_HANDLE
    columns = max(1, int(figure.get_figwidth() * LEGEND_LETTERS) // longest)
    figure.legend(handles=handles, loc="outside upper center", ncols=min(columns, len(handles)))


def star(axes: Axes, x: float, point, label: str | None = None) -> None:
    """Draw a published `point` (series, value, low, high) at `x`, in the colour of its task."""
    axes.errorbar(
        x, point.value, [[point.value - point.low], [point.high - point.value]], label=label, fmt="*", markersize=7,
        markeredgecolor="black", markeredgewidth=0.5, ecolor="black", elinewidth=0.8, capsize=2, zorder=5,
        color=style.look_of(style.task_of(point.series))["color"],
    )  # fmt: skip
