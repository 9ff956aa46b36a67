"""Curves over layers, shared by the figures that draw one line per model or input."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from math import ceil

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from bertshift.figures import style
from bertshift.figures.intervals import INTERVAL
from bertshift.rows import labelling, statistics
from bertshift.rows.nulls import NOISE, SHUFFLED, model_of, null_of

GREY = "#8a8a8a"
REACH = 2  # times the range of values, by which intervals may widen an axis on either side
NULL_SENTENCES = {
    NOISE: (
        "Dash-dotted: the model before fine-tuning with random weights added, of the size of"
        " fine-tuning's change (mean, and range of replicates)."
    ),
    SHUFFLED: (
        "Dashed and dotted: trained in the same way on labels dealt anew, which say nothing (mean,"
        " and range of replicates)."
    ),
}
# Letters of a legend in an inch, and as many as a handle takes.
LEGEND_LETTERS = 18
LEGEND_HANDLE = 5
LEGEND_LINE = 0.17  # inches


def curve(
    axes: Axes, rows: pd.DataFrame, label: str, look: dict, x: str = "layer", **line
) -> None:
    """Draw one line over column `x`: with a band from low to high where there are replicates
    enough for an interval, or else with a thin line for each of several replicates."""
    bare_curve(axes, rows, label, look, x, **line)
    rows = rows.sort_values(x)
    colour = look["color"]
    has_band = statistics.banded(rows)
    if has_band.any():
        low, high = rows["low"].where(has_band), rows["high"].where(has_band)
        with within_reach(axes, rows["value"]):
            band = {"alpha": 0.18, "linewidth": 0, "gid": INTERVAL}
            axes.fill_between(rows[x], low, high, color=colour, **band)


def bare_curve(
    axes: Axes, rows: pd.DataFrame, label: str, look: dict, x: str = "layer", **line
) -> None:
    """Draw one line over column `x` without its band, and a thin line for each of several
    replicates that are too few for an interval."""
    rows = rows.sort_values(x)
    axes.plot(rows[x], rows["value"], label=label, **look, **line)
    thin = {"color": look["color"], "linewidth": 0.5, "alpha": 0.6}
    thin["linestyle"] = line.get("linestyle", "-")
    for values in zip_longest(*statistics.too_few(rows), fillvalue=np.nan):
        axes.plot(rows[x], values, **thin)


def bars(
    axes: Axes, positions: Sequence[float], rows: pd.DataFrame, horizontal: bool = True, **look
) -> None:
    """Draw intervals at `positions` on the other axis; where there are too few replicates for an
    interval, draw a dot for each of several."""
    has_bar = statistics.banded(rows).to_numpy()
    positions = np.asarray(positions, dtype=np.float64)
    with within_reach(axes, rows["value"], horizontal):
        draw_lines = axes.hlines if horizontal else axes.vlines
        ends = rows["low"][has_bar], rows["high"][has_bar]
        draw_lines(positions[has_bar], *ends, gid=INTERVAL, **look)
    dot = {"color": look["color"], "zorder": look.get("zorder", 1), "markersize": 2.5}
    for position, values in zip(positions, statistics.too_few(rows), strict=True):
        same = [position] * len(values)
        x, y = (values, same) if horizontal else (same, values)
        axes.plot(x, y, ".", **dot)


def task_colour(model: str) -> str:
    """Name the colour of a model's task."""
    return style.look_of(labelling.task_of(model))["color"]


def nulls(
    axes: Axes,
    table: pd.DataFrame,
    name: str = "series",
    x: str = "layer",
    colour: Callable[[str], str] = task_colour,
) -> None:
    """Draw the nulls that column `name` names, shuffled labels in the `colour` of their model."""
    labels = dict(labelling.NULL_WORDS)
    for series, rows in table.groupby(name, sort=False):
        if null := null_of(series):
            label = labels.pop(null, None)  # once in a legend
            null_curve(axes, rows, null, colour(model_of(series)), label, x)


def null_curve(
    axes: Axes,
    rows: pd.DataFrame,
    null: str,
    colour: str,
    label: str | None,
    x: str = "layer",
    grey: bool = True,
) -> None:
    """Draw a null as a band over its replicates, with their mean.

    Noise is grey; beside noise of other series in its panel it has its `colour`, as shuffled
    labels always have.
    """
    rows = rows.sort_values(x)
    if null == SHUFFLED:
        look = {"color": colour} | style.SHUFFLED_DASH
    else:
        look = {"color": GREY if grey else colour} | style.NOISE_DASH
    least, most = null_band(rows)
    axes.plot(rows[x], rows["value"], linewidth=0.9, zorder=0, label=label, **look)
    alpha = 0.15 if null == SHUFFLED else 0.35
    axes.fill_between(
        rows[x], least, most, color=look["color"], alpha=alpha, linewidth=0, zorder=0
    )


def null_band(rows: pd.DataFrame) -> tuple[list[float], list[float]]:
    """List the least and the largest replicate of each row."""
    replicates = [
        statistics.each_of(text) or [value] for text, value in zip(rows["each"], rows["value"])
    ]
    return list(map(min, replicates)), list(map(max, replicates))


def null_note(table: pd.DataFrame, name: str = "series", of: pd.Series | None = None) -> str:
    """Write sentences on the nulls in a figure, and on what lacks them; empty if there is none.
    `of` names in words what each row is of, if that is not its model alone."""
    ours = table[table["source"] == "ours"]
    null = ours[name].map(null_of)
    if of is None:
        of = ours[name].map(model_of).map(labelling.label_of)
    shown = set(null)
    sentences = [sentence for key, sentence in NULL_SENTENCES.items() if key in shown]
    return " ".join([*sentences, *measured_alone(null, of.loc[null.index])])


def measured_alone(null: pd.Series, of: pd.Series) -> list[str]:
    """Write a sentence on each null that a part of the figure lacks. A figure's rows are given by
    their `null`, which is empty for a model, and by what they are `of`, in words."""
    everything = set(of[null == ""])
    sentences = []
    for key, words in labelling.NULL_WORDS.items():
        measured = list(of[null == key].unique())
        if measured and everything - set(measured):
            sentences.append(f"Measured for {', '.join(measured)} alone: {words}.")
    return sentences


@contextmanager
def within_reach(axes: Axes, values: pd.Series, horizontal: bool = False) -> Iterator[None]:
    """Let the intervals drawn inside the block widen the axis of `values` by no more than REACH
    times their range on either side: beside the widest ones nothing else would be seen. The
    caption says which are cut (`style.cut_note`)."""
    column = 0 if horizontal else 1
    before = axes.dataLim.get_points().copy()
    reach = REACH * ((values.max() - values.min()) or abs(values.max()))
    yield
    if values.empty:
        return
    limits = axes.dataLim.get_points().copy()
    low, high = values.min() - reach, values.max() + reach
    least, most = limits[:, column].clip(low, high)
    limits[0, column] = min(before[0, column], least)
    limits[1, column] = max(before[1, column], most)
    axes.dataLim.set_points(limits)


def highest(rows: pd.DataFrame) -> float:
    """Find where an axis that begins at 0 must end: above all values, and above the highest
    interval unless that reaches further than REACH times their height above them."""
    most = rows["value"].max()
    interval = rows.loc[statistics.banded(rows), "high"].max()
    replicates = statistics.too_few(rows).explode().dropna()
    return max([most, *replicates, min(interval, (1 + REACH) * most)])


def all_ends(rows: pd.DataFrame) -> pd.Series:
    """List all that is drawn of rows: values, the ends of intervals, and replicates where there
    are too few for one."""
    banded = rows[statistics.banded(rows)]
    replicates = statistics.too_few(rows).explode().dropna()
    return pd.concat([rows["value"], banded["low"], banded["high"], replicates.astype(float)])


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
    position = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "borderaxespad": 0.3}
    axes.legend(ncols=columns, columnspacing=1.2, **position)


def by_model(axes: Axes, table: pd.DataFrame, x: str = "layer") -> None:
    """Draw a line per model of our rows, in the colour of its task; the pretrained model's is
    dashed, on top of what it hides. Nulls are drawn below them."""
    nulls(axes, table, x=x)
    for model, rows in table[table["source"] == "ours"].groupby("series", sort=False):
        if null_of(model):
            continue
        line = style.BASELINE | {"linewidth": 1.0, "zorder": 3} if model == "base" else {}
        label = labelling.label_of(model) + style.mark_of(rows)
        curve(axes, rows, label, style.look_of(labelling.task_of(model)), x, **line)


def small_multiples(
    table: pd.DataFrame,
    row: str,
    rows: Mapping[str, str],
    variants: Mapping[str, tuple[str, dict]],
    least_width: float = 0,
) -> Figure:
    """Draw a panel per value of the column `row` (with these labels) and model, a line per variant
    (its label and look).

    Models that have a row in common share its axis; a legend where a panel has several lines. A
    model's nulls lie in its panel.
    """
    null = table["panel"].map(null_of)
    noise = table.assign(null=null, panel=table["panel"].map(model_of))[null != ""]
    noise = noise[noise["variant"].isin([*variants])]
    table = table[null == ""]
    panels = dict(list(table.groupby("panel", sort=False)))
    measured = set(table[row])
    rows = {name: label for name, label in rows.items() if name in measured}
    width = style.TEXT_WIDTH if len(panels) > 3 else max(1.0 + 1.6 * len(panels), least_width)
    height = 0.5 + 1.15 * len(rows)
    figure, grid = style.grid(height, len(rows), len(panels), width, sharex="col", sharey="row")
    for axes_row, (name, label) in zip(grid, rows.items(), strict=True):
        row_noise = noise[noise[row] == name]
        for axes, (panel, panel_rows) in zip(axes_row, panels.items(), strict=True):
            shown = panel_rows[panel_rows[row] == name]
            if shown.empty:  # a model may have none, as a decoder has no separators
                axes.set_visible(False)
                continue
            _draw_variants(axes, shown, row_noise[row_noise["panel"] == panel], variants)
            layer_axis(axes, panel_rows["layer"])  # panels below one another share it
            axes.locator_params(axis="x", nbins=4)  # the panels are narrow
            axes.set_xlabel("layer" if axes in grid[-1] else "")
        _, noise_most = null_band(row_noise)
        most = max([highest(table[table[row] == name]), *noise_most])
        axes_row[0].set(ylim=(0, 1.05 * most or 1), ylabel=label)
    for axes, (panel, panel_rows) in zip(grid[0], panels.items(), strict=True):
        axes.set_title(labelling.label_of(panel) + style.mark_of(panel_rows))
    with_legend = [axes for axes in grid.flat if len(handles_of([axes])) > 1]
    if with_legend:
        legend_over(figure, *map(_in_grey, handles_of(with_legend)))
    return figure


def _in_grey(handle: Artist) -> Artist:
    """Make the handle of a null grey, as its lines have the colours of all variants."""
    if handle.get_label() not in labelling.NULL_WORDS.values():
        return handle
    in_grey = Line2D([], [], label=handle.get_label())
    in_grey.update_from(handle)
    in_grey.set_color(GREY)
    return in_grey


def _draw_variants(
    axes: Axes,
    rows: pd.DataFrame,
    noise: pd.DataFrame,
    variants: Mapping[str, tuple[str, dict]],
) -> None:
    """Draw a line per variant of one model, over those of its nulls."""
    labels = dict(labelling.NULL_WORDS)
    for (null, variant), null_rows in noise.groupby(["null", "variant"], sort=False):
        _, look = variants[variant]
        null_curve(axes, null_rows, null, look["color"], labels.pop(null, None), grey=False)
    for variant, (label, look) in variants.items():
        shown = rows[rows["variant"] == variant]
        if len(shown):
            curve(axes, shown, label, look | {"markersize": 2.5, "linewidth": 1.1})


def handles_of(panels: Iterable[Axes]) -> list[Artist]:
    """List what a legend explains of these panels, each label once."""
    handles = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    return list(handles.values())


def legend_over(figure: Figure, *handles: Artist) -> None:
    """Draw a legend of `handles` above all panels, side by side as far as they find room. The
    figure grows by its lines from the third on, so that panels keep their height."""
    longest = max(len(handle.get_label()) for handle in handles) + LEGEND_HANDLE
    columns = int(figure.get_figwidth() * LEGEND_LETTERS) // longest
    columns = min(max(1, columns), len(handles))
    lines = ceil(len(handles) / columns)
    figure.set_figheight(figure.get_figheight() + LEGEND_LINE * max(0, lines - 2))
    figure.legend(handles=handles, loc="outside upper center", ncols=columns)


def star(axes: Axes, x: float, point, label: str | None = None) -> None:
    """Draw a published `point` (series, value, low, high) at `x`, in the colour of its task."""
    look = style.look_of(labelling.task_of(point.series))
    axes.errorbar(
        x,
        point.value,
        [[point.value - point.low], [point.high - point.value]],
        label=label,
        color=look["color"],
        fmt="*",
        markersize=7,
        markeredgecolor="black",
        markeredgewidth=0.5,
        ecolor="black",
        elinewidth=0.8,
        capsize=2,
        zorder=5,
    )
