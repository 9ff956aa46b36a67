"""Full fine-tuning and LoRA beside each other: what moves by layer, and the spectra of what is
added to the weights."""

from collections.abc import Mapping
from itertools import cycle

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from bertshift.figures import layers, numbers, style
from bertshift.measures import MEASURES
from bertshift.models.weights import MATRICES
from bertshift.naming import Model, is_pair
from bertshift.rows import labelling, nulls
from bertshift.rows.nulls import model_of
from bertshift.rows.table import Table, concat

COLUMNS = [*numbers.COLUMNS[:6], "matrix", "rank", "task", *numbers.VALUES]
# Panels over layers: the metric's variant and inputs, and the label.
BY_LAYER = {
    "rsa": (["content"], ["wiki"], MEASURES["rsa"].short_label),
    "js": (["nats"], [], MEASURES["js"].short_label),
    "norm": (["norm"], [], "|ΔW| / |W|"),
    "intruders": (["intruders"], [], "intruders of 10"),
}
LOOKS = [
    {"color": "#000000", "marker": "o"},
    {"color": "#D55E00", "marker": "s"},
    {"color": "#0072B2", "marker": "^"},
    {"color": "#009E73", "marker": "D"},
]
WITH_NULLS = ["rsa", "js"]
LEAST = 1e-6  # singular values below it are rounding
ROW, EDGES_ROW = 1.4, 1.5  # inches


def way_of(model: str) -> str:
    """Name the way in which a model was fine-tuned, for a legend."""
    adapters = Model.of(model).variant("lora")
    return f"LoRA, rank {adapters['rank']}" if adapters else "full"


def row_of(model: str) -> str:
    """Name the task and the checkpoint that a row of panels shows."""
    return str(Model.of(model).plain)


def tidy(inputs: Mapping[str, Table]) -> pd.DataFrame:
    """Tabulate what the figure shows. By panel, model (`series`) and layer these are the means of
    BY_LAYER, for weights over the four matrices; by matrix and `rank`, the singular values, mean
    over layers. There are also the scores, in points, and by `task` the differences of edge
    probes, in points, if there are any."""
    parts = []
    for panel, (variants, stimuli, _) in BY_LAYER.items():
        metric = panel if panel in WITH_NULLS else "spectra"
        measured = numbers.stack_layers(inputs, metric, variants, stimuli)
        parts.append(_average(measured.assign(panel=panel)))
    spectra = numbers.stack(numbers.of_measure(inputs, "spectra"), "spectra", ["singular"])
    parts.append(_average(spectra.assign(panel="singular", layer=0)))
    parts.append(_average(_scores(inputs)))
    probes = numbers.of_measure(inputs, "edge_probes")
    deltas = {path: table for path, table in probes.items() if is_pair(path)}
    if deltas:
        edges = numbers.rows_of(deltas, "edge_probe_delta").in_points()
        edges = edges.where((edges["variant"] == "mix") & (edges["view"] == "micro_all"))
        parts.append(_average(edges.assign(panel="edges", layer=0, head=0, stimuli="edges")))
    return numbers.join(*parts, columns=COLUMNS)


def _scores(inputs: Mapping[str, Table]) -> Table:
    tables = numbers.of_measure(inputs, "scores").items()
    scores = concat(table.assign(table=path) for path, table in tables)
    scores = scores.where(scores["headline"])
    scores = scores.assign(variant=scores["metric"], stimuli=scores["task"])
    return scores.assign(panel="score", layer=0, head=0).in_points()


def _average(measured: Table) -> pd.DataFrame:
    """Average over replicates; columns that a row does not have are empty, or 0."""
    defaults = {"matrix": "", "rank": 0, "task": ""}
    rows = measured.rows
    columns = {column: rows.get(column, default=empty) for column, empty in defaults.items()}
    rows = rows.assign(series=rows["model"], **columns)
    rows.loc[rows["panel"].isin(["norm", "intruders"]), "matrix"] = ""
    rows.loc[rows["panel"] != "edges", "task"] = ""
    by, group_by = [*COLUMNS[:9], "model"], ["series", "model", "stimuli"]
    return numbers.means(measured.keep(rows), by, group_by)[COLUMNS]


def draw(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw for each task two rows of panels, by layer and by singular value, and one of edge
    probes where there are any."""
    table = tidy(inputs)
    by_task = dict(list(table.groupby(table["series"].map(row_of), sort=False)))
    ways = table["series"].map(model_of).map(way_of).unique()
    looks = dict(zip(ways, cycle(LOOKS)))
    heights = []
    for rows in by_task.values():
        heights += [ROW, ROW]
        if _has_probes(rows):
            heights.append(EDGES_ROW)
    figure = style.blank(0.45 + sum(heights))
    grid = figure.add_gridspec(len(heights), 4, height_ratios=heights)
    lines = iter(range(len(heights)))
    for task, rows in by_task.items():
        line = next(lines)
        by_layer = [figure.add_subplot(grid[line, column]) for column in range(4)]
        line = next(lines)
        spectra = [figure.add_subplot(grid[line, column]) for column in range(4)]
        _draw_layers(by_layer, rows, looks)
        _draw_spectra(spectra, rows, looks)
        _write_above(by_layer, _title(task, rows))
        if _has_probes(rows):
            axes = figure.add_subplot(grid[next(lines), :])
            _draw_edges(axes, rows, looks)
            axes.set_title("edge probes", loc="left")
    layers.legend_over(figure, *layers.handles_of(figure.axes))
    return style.captioned(figure, table, _null_note(table), style.failures(table))


def _null_note(table: pd.DataFrame) -> str:
    """Write sentences on the nulls, which are of some panels and models alone."""
    rows = table[table["panel"].isin(WITH_NULLS)]
    labels = rows["panel"].map(lambda panel: BY_LAYER[panel][2])
    of = labels + " of " + rows["series"].map(model_of).map(labelling.label_of)
    return layers.null_note(rows, of=of)


def _has_probes(rows: pd.DataFrame) -> bool:
    return (rows["panel"] == "edges").any()


def _title(task: str, rows: pd.DataFrame) -> str:
    """Write the title of a task: `MNLI, accuracy in points: 83.9 (full), 83.1 (LoRA, rank 8)`."""
    scores = rows[rows["panel"] == "score"]
    variant = scores["variant"].iloc[0]
    name = labelling.SCORES.get(variant, variant)
    parts = []
    for series, means in scores.groupby("series", sort=False):
        words = ", ".join([way_of(series), *style.marks_of(means)])
        parts += [f"{value:.1f} ({words})" for value in means["value"]]
    return f"{labelling.label_of(task)}, {name} in points: {', '.join(parts)}"


def _write_above(panels: list[Axes], title: str) -> None:
    """Write a title over all panels of a row; room for it is made above, not beside the first."""
    for axes in panels:
        axes.set_title(" ")
    first = panels[0]
    text = first.annotate(
        title,
        (0, 1),
        xycoords="axes fraction",
        xytext=(0, 6),
        textcoords="offset points",
        fontsize=first.title.get_fontsize(),
    )
    text.set_in_layout(False)


def _draw_layers(panels: list[Axes], rows: pd.DataFrame, looks: Mapping[str, dict]) -> None:
    for axes, (panel, (_, _, label)) in zip(panels, BY_LAYER.items(), strict=True):
        shown = rows[rows["panel"] == panel]
        is_null = nulls.is_null(shown["series"])
        models, null_rows = shown[~is_null], shown[is_null]
        layers.nulls(axes, shown, colour=lambda model: looks[way_of(model)]["color"])
        for series, curve in models.groupby("series", sort=False):
            way = way_of(series)
            layers.curve(axes, curve, way, looks[way] | {"markersize": 3})
        layers.layer_axis(axes, shown["layer"])
        axes.locator_params(axis="x", nbins=5)
        axes.set(xlabel="layer", ylabel=label)
        if panel == "rsa":
            layers.up_to_one(axes)
        else:
            most = max([layers.highest(models), *layers.null_band(null_rows)[1]])
            axes.set_ylim(0, 1.05 * most or 1)


def _draw_spectra(panels: list[Axes], rows: pd.DataFrame, looks: Mapping[str, dict]) -> None:
    rows = rows[(rows["panel"] == "singular") & (rows["value"] > LEAST)]
    low, high = rows["value"].min(), rows["value"].max()
    for axes, matrix in zip(panels, MATRICES, strict=True):
        for series, curve in rows[rows["matrix"] == matrix].groupby("series", sort=False):
            curve = curve.sort_values("rank")
            look = looks[way_of(series)] | {"markersize": 2}
            axes.plot(curve["rank"], curve["value"], **look)
        axes.set(xscale="log", yscale="log", xlabel="singular value", title=matrix)
        if len(rows):
            axes.set_ylim(low / 1.5, high * 1.5)
        axes.set_xlim(0.8, 80)
        axes.set_xticks([1, 8, 64], ["1", "8", "64"])
        axes.yaxis.set_major_locator(LogLocator(numticks=4))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_formatter(NullFormatter())
    panels[0].set_ylabel("share of old norm")
    for axes in panels[1:]:
        axes.tick_params(labelleft=False)


def _draw_edges(axes: Axes, rows: pd.DataFrame, looks: Mapping[str, dict]) -> None:
    rows = rows[rows["panel"] == "edges"]
    labels = labelling.edge_labels(rows["task"])
    positions = {task: number for number, task in enumerate(labels)}
    models = rows["series"].unique()
    for number, series in enumerate(models):
        points = rows[rows["series"] == series].set_index("task").reindex(list(labels))
        points = points.dropna(subset="value")
        offset = 0.2 * (number - (len(models) - 1) / 2)
        x = points.index.map(positions).to_numpy() + offset
        look = looks[way_of(series)]
        axes.plot(x, points["value"], linestyle="none", **look)
        layers.bars(axes, x, points, horizontal=False, color=look["color"], linewidth=1)
    axes.axhline(0, color="#666666", linewidth=0.6, **style.BASELINE)
    axes.set_xticks(range(len(labels)), labels.values())
    axes.set(xlim=(-0.6, len(labels) - 0.4), ylabel="Δ F1 (points)")
    axes.grid(axis="x", visible=False)
