"""Full fine-tuning and LoRA beside each other: what moves by layer, and the spectra of what is
added to the weights."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from bertshift.figures import layers, numbers, style
from bertshift.models.weights import MATRICES
from bertshift.naming import Name, is_pair
from bertshift.rows import labelling, statistics
from bertshift.rows.nulls import model_of, null_of

COLUMNS = [*numbers.COLUMNS[:6], "matrix", "rank", "task", *numbers.VALUES]
# Panels over layers: the metric's variant and inputs, and the label.
BY_LAYER = {
    "rsa": (["content"], ["wiki"], "RSA"),
    "js": (["nats"], [], "JS (nats)"),
    "norm": (["norm"], [], "|ΔW| / |W|"),
    "intruders": (["intruders"], [], "intruders of 10"),
}
LOOKS = [
    {"color": "#000000", "marker": "o"},
    {"color": "#D55E00", "marker": "s"},
    {"color": "#0072B2", "marker": "^"},
    {"color": "#009E73", "marker": "D"},
]
LEAST = 1e-6  # singular values below it are rounding
ROW, EDGES_ROW = 1.4, 1.5  # inches


def way_of(model: str) -> str:
    """Say how a model was fine-tuned, for a legend."""
    adapters = Name.of(model).variant("lora")
    return f"LoRA, rank {adapters['rank']}" if adapters else "full"


def row_of(model: str) -> str:
    """Name the task and the checkpoint that a row of panels shows."""
    return str(Name.of(model).plain)


def tidy(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Tabulate what the figure shows. By panel, model (`series`) and layer these are the means of
    BY_LAYER, for weights over the four matrices; by matrix and `rank`, the singular values, mean
    over layers. There are also the scores, in points, and by `task` the differences of edge
    probes, in points, if there are any."""
    parts = []
    for panel, (variants, stimuli, _) in BY_LAYER.items():
        metric = panel if panel in ("rsa", "js") else "spectra"
        rows = numbers.stack(numbers.of_measure(inputs, metric), metric, variants, stimuli)
        parts.append(_means(rows[rows["head"] == 0].assign(panel=panel)))
    spectra = numbers.stack(numbers.of_measure(inputs, "spectra"), "spectra", ["singular"])
    parts.append(_means(spectra.assign(panel="singular", layer=0)))
    scores = numbers.of_measure(inputs, "scores").items()
    scores = pd.concat([table[table["headline"]].assign(table=path) for path, table in scores])
    scores = scores.assign(
        panel="score", variant=scores["metric"], layer=0, head=0, stimuli=scores["task"]
    )
    parts.append(_means(statistics.in_points(scores)))
    probes = numbers.of_measure(inputs, "edge_probes")
    deltas = {path: table for path, table in probes.items() if is_pair(path)}
    if deltas:
        rows = statistics.in_points(numbers.rows_of(deltas, "edge_probe_delta"))
        rows = rows[(rows["variant"] == "mix") & (rows["view"] == "micro_all")]
        parts.append(_means(rows.assign(panel="edges", layer=0, head=0, stimuli="edges")))
    return numbers.join(*parts, columns=COLUMNS)


def _means(rows: pd.DataFrame) -> pd.DataFrame:
    """Average over replicates; columns that a row does not have are empty, or 0."""
    kept = {"matrix": "", "rank": 0, "task": ""}
    of_weights = rows["panel"].isin(["norm", "intruders"])
    rows = rows.assign(
        series=rows["model"], **{key: rows.get(key, default=empty) for key, empty in kept.items()}
    )
    rows.loc[of_weights, "matrix"] = ""
    rows.loc[~rows["panel"].isin(["edges"]), "task"] = ""
    return numbers.means(rows, [*COLUMNS[:9], "model"], ["series", "model", "stimuli"])[COLUMNS]


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw for each task two rows of panels, by layer and by singular value, and one of edge
    probes where there are any."""
    table = tidy(inputs)
    tasks = list(dict.fromkeys(map(row_of, table["series"])))
    ways = list(dict.fromkeys(map(way_of, map(model_of, table["series"]))))
    looks = {way: LOOKS[number % len(LOOKS)] for number, way in enumerate(ways)}
    probed = [task for task in tasks if (_of(table, task)["panel"] == "edges").any()]
    heights = [height for task in tasks for height in [ROW, ROW, *[EDGES_ROW] * (task in probed)]]
    figure = style.blank(0.45 + sum(heights))
    lines, grid = (
        iter(range(len(heights))),
        figure.add_gridspec(len(heights), 4, height_ratios=heights),
    )
    for task in tasks:
        rows = _of(table, task)
        by_layer, spectra = (
            [figure.add_subplot(grid[line, n]) for n in range(4)]
            for line in (next(lines), next(lines))
        )
        _by_layer(by_layer, rows, looks)
        _spectra(spectra, rows, looks)
        _over(by_layer, _title(task, rows))
        if task in probed:
            axes = figure.add_subplot(grid[next(lines), :])
            _edges(axes, rows, looks)
            axes.set_title("edge probes", loc="left")
    layers.legend_over(figure, *layers.handles_of(figure.axes))
    return style.captioned(figure, table, layers.null_note(table), style.failures(table))


def _of(table: pd.DataFrame, task: str) -> pd.DataFrame:
    return table[table["series"].map(row_of) == task]


def _title(task: str, rows: pd.DataFrame) -> str:
    """Write the title of a task: `MNLI, accuracy in points: 83.9 (full), 83.1 (LoRA, rank 8)`."""
    scores = rows[rows["panel"] == "score"]
    variant = scores["variant"].iloc[0]
    name = labelling.SCORES.get(variant, variant)
    parts = []
    for series, own in scores.groupby("series", sort=False):
        failed = ", failed" if style.mark_of(own) else ""
        parts += [f"{value:.1f} ({way_of(series)}{failed})" for value in own["value"]]
    each = ", ".join(parts)
    return f"{labelling.label_of(task)}, {name} in points: {each}"


def _over(line: list[Axes], title: str) -> None:
    """Write a title over all panels of a line; room for it is made above, not beside the first."""
    for axes in line:
        axes.set_title(" ")
    place = {
        "xytext": (0, 6),
        "textcoords": "offset points",
        "fontsize": line[0].title.get_fontsize(),
    }
    line[0].annotate(title, (0, 1), xycoords="axes fraction", **place).set_in_layout(False)


def _by_layer(line: list[Axes], rows: pd.DataFrame, looks: Mapping[str, dict]) -> None:
    for axes, (panel, (_, _, label)) in zip(line, BY_LAYER.items(), strict=True):
        shown = rows[rows["panel"] == panel]
        beside = shown["series"].map(null_of) != ""
        layers.nulls(axes, shown, colour=lambda model: looks[way_of(model)]["color"])
        for series, own in shown[~beside].groupby("series", sort=False):
            layers.curve(axes, own, way_of(series), looks[way_of(series)] | {"markersize": 3})
        layers.layer_axis(axes, shown["layer"])
        axes.locator_params(axis="x", nbins=5)
        axes.set(xlabel="layer", ylabel=label)
        if panel == "rsa":
            layers.up_to_one(axes)
        else:
            most = max([layers.highest(shown[~beside]), *layers.null_band(shown[beside])[1]])
            axes.set_ylim(0, 1.05 * most or 1)


def _spectra(line: list[Axes], rows: pd.DataFrame, looks: Mapping[str, dict]) -> None:
    rows = rows[(rows["panel"] == "singular") & (rows["value"] > LEAST)]
    low, high = rows["value"].min(), rows["value"].max()
    for axes, matrix in zip(line, MATRICES, strict=True):
        for series, own in rows[rows["matrix"] == matrix].groupby("series", sort=False):
            own = own.sort_values("rank")
            axes.plot(own["rank"], own["value"], **looks[way_of(series)] | {"markersize": 2})
        axes.set(xscale="log", yscale="log", xlabel="singular value", title=matrix)
        if len(rows):
            axes.set_ylim(low / 1.5, high * 1.5)
        axes.set_xlim(0.8, 80)
        axes.set_xticks([1, 8, 64], ["1", "8", "64"])
        axes.yaxis.set_major_locator(LogLocator(numticks=4))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_formatter(NullFormatter())
    line[0].set_ylabel("share of old norm")
    for axes in line[1:]:
        axes.tick_params(labelleft=False)


def _edges(axes: Axes, rows: pd.DataFrame, looks: Mapping[str, dict]) -> None:
    rows = rows[rows["panel"] == "edges"]
    names, models = labelling.edge_labels(rows["task"]), list(rows["series"].unique())
    for number, series in enumerate(models):
        own = (
            rows[rows["series"] == series]
            .set_index("task")
            .reindex(list(names))
            .dropna(subset="value")
        )
        x = np.array([list(names).index(task) for task in own.index]) + 0.2 * (
            number - (len(models) - 1) / 2
        )
        look = looks[way_of(series)]
        axes.plot(x, own["value"], linestyle="none", **look)
        layers.bars(axes, x, own, horizontal=False, color=look["color"], linewidth=1)
    axes.axhline(0, color="#666666", linewidth=0.6)
    axes.set_xticks(range(len(names)), names.values())
    axes.set(xlim=(-0.6, len(names) - 0.4), ylabel="Δ F1 (points)")
    axes.grid(axis="x", visible=False)
