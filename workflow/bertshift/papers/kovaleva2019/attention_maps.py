"""Attention maps: typical ones of five classes, the share of each class, all of one input (Figures
1, 2 and 10)."""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D

from bertshift.figures import grids, layers, numbers, style
from bertshift.papers.kovaleva2019.panels import colour_bar, published_panels
from bertshift.patterns.classes import CLASSES
from bertshift.patterns.scores import ANSWERS
from bertshift.rows import labelling, statistics
from bertshift.rows.table import Table

MAP = ["panel", "pattern", "layer", "head", "example", "length", "tokens", "special", "weights"]
COLUMNS = [*MAP, *numbers.VALUES]
LABELS = {
    "vertical": "Vertical",
    "diagonal": "Diagonal",
    "vertical_diagonal": "Vertical + diagonal",
    "block": "Block",
    "heterogeneous": "Heterogeneous",
}
SHARES = ["panel", "series", "pattern", *numbers.VALUES]
# From the foot of a bar to its top, in the paper's order and colours.
COLOURS = dict(zip(LABELS, colormaps["Accent"].colors[:5], strict=True))
PAPER = "paper"
# The bars of a task, side by side, and their marks below: a bar has no interval.
BARS = {"classified": "ours", "corrected": "corrected", PAPER: "paper*"}
MARKS = {
    "classified": ("classifier", {"marker": "o", "markeredgecolor": "black", "markersize": 5}),
    "corrected": (
        "corrected for its errors",
        {"marker": "s", "color": "white", "markeredgecolor": "black"},
    ),
    "proposed": ("rule alone", {"marker": "|", "color": "black", "markersize": 6}),
    PAPER: ("paper*", style.PUBLISHED | {"markersize": 6}),
}
MARK = {"linestyle": "none", "markersize": 3.5, "markeredgewidth": 0.6}
# Where an axis of shares may end, in percent: the first that no interval exceeds.
ENDS = (5, 10, 20, 40, 60, 80, 100)
FOUND = 0.5  # a map of a class is more likely of it than of all others together
TYPICAL, ALL = "Reds", "Oranges"  # the paper's own
ACROSS = 2


def select_maps(inputs: Mapping[str, Table], variant: str) -> Table:
    """Stack every map of a variant, one row each; `panel` is its model, `value` the classifier's
    probability of `pattern`."""
    measured = numbers.rows_of(inputs, "pattern_map")
    measured = measured.where(measured["variant"] == variant)
    return measured.assign(panel=measured["model"])


def tabulate_maps(maps: Table) -> pd.DataFrame:
    """Make the table of a figure of single maps, without averages."""
    rows = numbers.means(maps, [*MAP, "init", "seed"], ["panel"]).assign(unit="map")
    return numbers.join(rows, columns=COLUMNS).astype({"length": int})


def matrix_of(row) -> np.ndarray:
    """Read the map [length, length] of a row of the table."""
    return np.array(row.weights.split(), float).reshape(row.length, row.length)


def figure1(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw five maps side by side, each with its own scale: for each class the map with the
    highest probability among all models and replicates."""
    maps = select_maps(inputs, "most_confident")
    failed = statistics.failures(maps.rows)
    if not failed.all():
        maps = maps.where(~failed)
    rows = maps.rows.sort_values("value", ascending=False, kind="stable")
    table = tabulate_maps(maps.keep(rows.drop_duplicates("pattern")))
    table = table.sort_values("pattern", key=lambda names: names.map(CLASSES.index))
    table = table.reset_index(drop=True)
    figure, [line] = style.grid(1.95, columns=len(CLASSES))
    for axes, row in zip(line, table.itertuples(), strict=True):
        axes.set_title(LABELS[row.pattern], pad=4)
        _draw_map(axes, row)
    none_found = ""
    if (table["value"] <= FOUND).any():
        none_found = f"Where none is found, no map has a p above {FOUND:g}."
    return style.captioned(figure, table, none_found)


def _draw_map(axes: Axes, row) -> None:
    """Draw a class's map, or `none found` if the classifier is sure of none."""
    axes.grid(False)
    if row.value <= FOUND:
        grids.write_absent(axes, "none found")
        axes.set_box_aspect(1)
        axes.set_xlabel(f"highest p = {row.value:.2f}")
        return
    axes.imshow(matrix_of(row), TYPICAL, vmin=0, interpolation="nearest")
    special = [int(position) - 1 for position in str(row.special).split()]
    tokens = row.tokens.split(" ")
    legible = far_apart(special, row.length / 6)
    words = [tokens[position] if position in legible else "" for position in special]
    axes.set_xticks(special, words, rotation=90)
    axes.set_yticks(special, words)
    axes.tick_params(length=1.5, pad=1)
    axes.tick_params(axis="x", pad=3.5)  # clear of the lowest name at the left
    head = f"{labelling.label_of(row.panel)}, L{row.layer}H{row.head}"
    axes.set_xlabel(f"{head}\np = {row.value:.2f}")


def far_apart(positions: list[int], room: float) -> list[int]:
    """Leave out positions between the first and the last that are nearer than `room` to one that
    stays."""
    first, last = positions[0], positions[-1]
    kept = [first]
    for position in positions[1:-1]:
        if min(position - kept[-1], last - position) >= room:
            kept.append(position)
    return [*kept, last]


def class_shares(inputs: Mapping[str, Table], published: Mapping) -> pd.DataFrame:
    """Average shares in percent over replicates, and add the paper's."""
    shares = numbers.rows_of(inputs, "pattern_share").in_points()
    ours = numbers.means(shares, ["model", "variant", "pattern"], ["model"])
    parts = [ours.rename(columns={"model": "panel", "variant": "series"})]
    entry = published["figure2"]
    for model, shares in published_panels(published, "figure2", ours["model"].unique(), "rows"):
        row = numbers.published(
            entry,
            published["paper"],
            panel=model,
            series=PAPER,
            pattern=entry["columns"],
            value=shares,
        )
        parts.append(row)
    return numbers.join(*parts, columns=SHARES)


def figure2(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw stacked bars by task, ours, ours corrected and the paper's; below, the same class by
    class, with intervals."""
    table = class_shares(inputs, published)
    panels = list(table["panel"].unique())
    heights = [3.3, 0.55 + 0.2 * len(panels), 0.2]
    figure = style.blank(sum(heights))
    grid = figure.add_gridspec(3, len(LABELS), height_ratios=heights)
    _draw_bars(figure.add_subplot(grid[0, :]), table, panels)
    for column, (pattern, label) in enumerate(LABELS.items()):
        axes = figure.add_subplot(grid[1, column])
        _draw_intervals(axes, table[table["pattern"] == pattern], panels)
        axes.set_title(label, pad=3, fontsize=7.5)
        axes.tick_params(labelleft=column == 0)
    below = figure.add_subplot(grid[2, :])
    below.axis("off")
    keys = [
        Line2D([], [], label=label, **MARK | {"color": layers.GREY} | mark)
        for series, (label, mark) in MARKS.items()
        if series in set(table["series"])
    ]
    below.legend(handles=keys, loc="center", ncols=len(MARKS), borderaxespad=0)
    first_table = next(iter(inputs.values()))
    classifier = _describe_classifier(first_table.rows.iloc[0])
    rescaled = (
        ", in points, from bars that the axis cuts at 94 %, rescaled to the numbers of the text;"
        f" its F1, on maps labelled by hand, is {published['figure2']['printed']['classifier_f1']}"
    )
    cited = numbers.cited(published, "figure2", table, rescaled)
    return style.captioned(figure, table, classifier, cited)


def _describe_classifier(row: pd.Series) -> str:
    """Write the F1 of the classifier and the origin of its labels; all rows have the same."""
    macro = [f"{row[f'f1_macro_{answer}']:.2f}" for answer in ANSWERS]
    weighted = [f"{row[f'f1_weighted_{answer}']:.2f}" for answer in ANSWERS]
    return (
        f"Classifier: macro F1 {macro[0]} (weighted {weighted[0]}) in a cross-validation by input,"
        f" {macro[1]} ({weighted[1]}) on maps that it was trained on. Of {row['labels']} labels"
        f" {row['labels_by_person']} are a person's, the rest are the rule's."
    )


def _draw_bars(axes: Axes, table: pd.DataFrame, panels: list[str]) -> None:
    """Draw one stack of classes for each of BARS, side by side for each task."""
    bars = table[table["series"].isin(list(BARS))]
    shares = bars.set_index(["panel", "series", "pattern"])["value"].unstack()
    series = [name for name in BARS if name in shares.index.levels[1]]
    width = 0.86 / len(series)
    middle = (len(series) - 1) / 2
    offsets = {name: (order - middle) * width for order, name in enumerate(series)}
    x = np.array([panels.index(panel) + offsets[name] for panel, name in shares.index])
    bottom = np.zeros(len(x))
    for pattern, colour in COLOURS.items():
        axes.bar(
            x,
            shares[pattern],
            0.9 * width,
            bottom,
            color=colour,
            edgecolor="white",
            linewidth=0.4,
        )
        bottom += shares[pattern]
    axes.grid(False)
    axes.set(
        xlim=(-0.55, len(panels) - 0.45),
        ylim=(0, 100),
        ylabel="% of maps",
    )
    axes.set_xticks(x, [BARS[name] for _, name in shares.index], rotation=90)
    axes.tick_params(axis="x", length=0, pad=1)
    names = axes.secondary_xaxis("top")
    labels = [labelling.label_of(panel) for panel in panels]
    names.set_xticks(range(len(panels)), labels, fontsize=8)
    names.tick_params(length=0, pad=2)
    names.spines[:].set_visible(False)
    for pattern in reversed(LABELS):
        axes.bar(0, 0, color=COLOURS[pattern], label=LABELS[pattern])
    axes.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1.06),
        ncols=len(LABELS),
        handlelength=1,
    )


def _draw_intervals(axes: Axes, rows: pd.DataFrame, panels: list[str]) -> None:
    """Draw one class: a line of marks for each task."""
    distance = 0.8 / len(MARKS)
    middle = (len(MARKS) - 1) / 2
    colour = COLOURS[rows["pattern"].iloc[0]]
    for order, (series, (_, mark)) in enumerate(MARKS.items()):
        shares = rows[rows["series"] == series]
        lines = np.array([panels.index(panel) for panel in shares["panel"]])
        y = lines + (order - middle) * distance
        layers.bars(axes, y, shares, color="#888888", linewidth=1, zorder=1)
        if len(shares):
            axes.plot(shares["value"], y, **MARK | {"color": colour} | mark)
    axes.set(ylim=(len(panels) - 0.5, -0.5), xlabel="%")
    most = layers.all_ends(rows).max()
    end = next(end for end in ENDS if end >= min(most, ENDS[-1]))
    margin = 0.04 * end  # a mark at an end is seen whole
    axes.set(xlim=(-margin, end + margin), xticks=[0, end / 2, end])
    axes.xaxis.set_major_formatter("{x:g}")
    labels = [labelling.label_of(panel) for panel in panels]
    axes.set_yticks(range(len(panels)), labels)
    axes.tick_params(axis="y", length=0)


def figure10(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw all maps of one input for each model, from its first replicate: a grid of layers x
    heads, all on one scale."""
    table = tabulate_maps(select_maps(inputs, "one_input"))
    models = list(table.groupby("panel", sort=False))
    lines = math.ceil(len(models) / ACROSS)
    height = 0.5 + 3 * table["layer"].max() / table["head"].max()  # the cells are squares
    figure, grid = style.grid(height * lines, lines, ACROSS)
    largest = max(matrix_of(row).max() for row in table.itertuples())
    norm = Normalize(0, largest)
    for axes, (model, maps) in zip(grid.flat, models):
        _draw_mosaic(axes, maps, norm)
        first = maps.iloc[0]
        label = labelling.label_of(model)
        axes.set_title(f"{label}, {first['example']} ({first['length']} tokens)", pad=4)
    for axes in grid.flat[len(models) :]:
        axes.axis("off")
    colour_bar(
        grid, norm, style.shades(ALL), aspect=20, fraction=0.02, pad=0.01, label="attention"
    )
    return style.captioned(figure, table)


def _draw_mosaic(axes: Axes, maps: pd.DataFrame, norm: Normalize) -> None:
    """Draw all maps in one image, a gap between them; layer 1 on top."""
    depth, heads = maps["layer"].max(), maps["head"].max()
    length = maps["length"].iloc[0]
    gap = max(1, length // 12)
    step = length + gap
    image = np.full((depth * step - gap, heads * step - gap), np.nan)
    for row in maps.itertuples():
        top = (row.layer - 1) * step
        left = (row.head - 1) * step
        image[top : top + length, left : left + length] = matrix_of(row)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.imshow(np.ma.masked_invalid(image), style.shades(ALL).with_extremes(bad="#cfcfcf"), norm)
    for axis, count, name in ((axes.xaxis, heads, "head"), (axes.yaxis, depth, "layer")):
        labels = grids.ends(count)
        positions = [(number - 1) * step + length / 2 for number in labels]
        axis.set_ticks(positions, labels)
        axis.set_label_text(name)
    axes.tick_params(length=0, pad=2)
