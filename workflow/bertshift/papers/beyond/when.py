"""When the layers change: similarity to the parent over the course of fine-tuning, and the share
of training at half of it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.scale import SymmetricalLogTransform
from matplotlib.ticker import FixedLocator, NullLocator

from bertshift.figures import layers, numbers, style
from bertshift.measures import MEASURES, POSITIVE
from bertshift.naming import Model
from bertshift.rows import halfway, labelling, nulls
from bertshift.rows.losses import thinned
from bertshift.rows.nulls import model_of
from bertshift.rows.provenance import ORIGIN
from bertshift.rows.table import Table, concat


class Trace(NamedTuple):
    """How a measure of change is drawn: which rows of its tables are read, the colours of its heat
    map, and the look of its line."""

    variants: list[str]
    stimuli: list[str]
    colours: str
    look: dict


TRACES = {
    "rsa": Trace(["content"], ["wiki"], "Blues_r", {"color": "#000000", "marker": "o"}),
    "svcca": Trace(["svcca99"], [], "Blues", {"color": "#0072B2", "marker": "s"}),
    "js": Trace(["nats"], [], "Blues", {"color": "#D55E00", "marker": "^"}),
}
COLUMNS = ["panel", "series", "variant", "layer", "share", *numbers.VALUES]
ALL = 100  # percent
OWN_AXES = 2  # rows of scores and of losses, which have another unit in each task
RUN = ["series", "init", "seed"]


def tidy(inputs: Mapping[str, Table]) -> pd.DataFrame:
    """Tabulate the means by `panel` (a metric, `score`, `loss` or `half of <metric>`), model
    (`series`), layer and share of the training steps. Nulls at each share have `half of <metric>`
    alone.

    `share` is in percent; in `half of <metric>` the value is a share. The snapshots of a run that
    failed to train count as failed, those of any other run do not: before a run has learnt its
    task, no snapshot of it is above the majority class.
    """
    scores = _over_training(inputs, "scores")
    changes = {metric: _changes(inputs, metric) for metric in TRACES}
    null_rows = [change.rows[nulls.is_null(change["series"])] for change in changes.values()]
    outcomes = _outcomes(pd.concat([scores.rows, *null_rows]))
    headline = scores.where(scores["headline"]).in_points()
    headline = headline.assign(panel="score", variant=headline["metric"], layer=0)
    runs = _over_training(inputs, "losses").rows.groupby(["table", *RUN], sort=False)
    losses = pd.concat([_thin(run) for _, run in runs], ignore_index=True)
    losses = Table.of(losses).within(POSITIVE)
    parts, halves = [_average(headline, outcomes), _average(losses, outcomes)], []
    for metric, change in changes.items():
        models = change.where(~nulls.is_null(change["series"]))
        parts.append(_average(models.assign(panel=metric), outcomes))
        halves.append(_halves(change.assign(panel=f"half of {metric}")))
    halves = concat(halves)
    if len(halves):
        parts.append(_average(halves, outcomes, []))
    table = numbers.join(*parts, columns=COLUMNS)
    table.loc[table["panel"].str.startswith("half"), "provenance"] = "derived"
    return table


def _add_shares(measured: Table) -> Table:
    """Add `series`, the model at the end of its training, and `share`, how far on the way to it a
    row's model was taken."""
    series, shares = {}, {}
    for model in measured["model"].unique():
        parsed = Model.of(model)
        snapshot = parsed.variant("at")
        series[model] = str(parsed.trained)
        shares[model] = float(snapshot["share"]) if snapshot else ALL
    models = measured["model"]
    return measured.assign(series=models.map(series), share=models.map(shares))


def _changes(inputs: Mapping[str, Table], metric: str) -> Table:
    trace = TRACES[metric]
    change = numbers.stack_layers(inputs, metric, trace.variants, trace.stimuli)
    change = _add_shares(change)
    shares = change.rows.groupby("series")["share"].agg(set)
    # Archives may have nulls of the whole change alone, which say nothing of when.
    incomplete = [series for series in shares.index if shares[series] != shares[model_of(series)]]
    return change.where(~change["series"].isin(incomplete))


def _outcomes(rows: pd.DataFrame) -> pd.Series:
    """List for each run whether it had failed to train at the end of its training."""
    return rows[rows["share"] == ALL].drop_duplicates(RUN).set_index(RUN)["failed"]


def _over_training(inputs: Mapping[str, Table], folder: str) -> Table:
    tables = numbers.of_measure(inputs, folder)
    return _add_shares(concat(table.assign(table=path) for path, table in tables.items()))


def _thin(run: pd.DataFrame) -> pd.DataFrame:
    curve = thinned(run["value"])
    curve["share"] = ALL * curve["step"] / curve["step"].max()
    curve["value"] = curve["smoothed"]
    curve = curve.assign(panel="loss", variant="smoothed", layer=0)
    run_facts = run[["table", *RUN, *ORIGIN]].head(1)
    return curve.merge(run_facts, how="cross")


def _halves(change: Table) -> Table:
    """Find the share of training at half of the change, one row a replicate and layer; where a
    layer does not surely change, there is none."""
    if change["panel"].str.endswith("rsa").all():
        change = change.mapped(lambda similarity: 1 - similarity)
    final = numbers.trained(change.where(change["share"] == ALL), ["series"])
    change = change.where(halfway.changes_surely(change, final, ["series", "layer"]))
    if not len(change):
        return change
    layers_of_runs = [*RUN, "ref_init", "ref_seed", "layer"]
    change = change.keep(change.rows.sort_values("share", kind="stable"))
    tables = change.rows.groupby(layers_of_runs, sort=False)["table"].transform("; ".join)
    return halfway.halves(change.assign(table=tables), "share", layers_of_runs).within((0.0, ALL))


def _average(
    measured: Table, outcomes: pd.Series, more_keys: Sequence[str] = ("share",)
) -> pd.DataFrame:
    failed = outcomes.reindex(pd.MultiIndex.from_frame(measured.rows[RUN])).to_numpy()
    by = ["panel", "series", "variant", "layer", *more_keys]
    return numbers.means(measured.assign(failed=failed), by, ["panel", "series"])


def draw(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw a column of panels a task: score, loss, a heat map a measure, and the share of training
    at half of the change."""
    table = tidy(inputs)
    models = table.loc[~nulls.is_null(table["series"]), "series"].unique()
    shares = np.unique(table.loc[table["panel"].isin(TRACES), "share"])
    heights = [0.8, 0.8, *[1.15] * len(TRACES), 1.5]
    width = style.COLUMN_WIDTH + 1.0 if len(models) == 1 else style.TEXT_WIDTH
    size = {"width": width, "height_ratios": heights}
    height = sum(heights) + 0.9
    figure, grid = style.grid(height, len(heights), len(models), **size)
    _share_rows(grid[OWN_AXES:])
    for column, model in zip(grid.T, models, strict=True):
        rows = table[table["series"] == model]
        look = style.look_of(labelling.task_of(model))
        column[0].set_title(labelling.label_of(model) + style.mark_of(rows))
        scores, losses = rows[rows["panel"] == "score"], rows[rows["panel"] == "loss"]
        layers.curve(column[0], scores, "", look, "share")
        layers.curve(column[1], losses, "", look | {"marker": ""}, "share")
        for axes, measure in zip(column[2:], TRACES):
            limits = _colour_limits(table, measure)
            _draw_heat_map(axes, rows[rows["panel"] == measure], measure, shares, limits)
        for axes in column[:-1]:
            _share_axis(axes, shares, axes is column[-2])
        null_rows = table[nulls.is_null(table["series"])]
        null_rows = null_rows[null_rows["series"].map(nulls.model_of) == model]
        _draw_halves(column[-1], rows, null_rows)
    for axes_row, measure in zip(grid[2:], TRACES):
        mesh = axes_row[0].collections[0]
        label = MEASURES[measure].short_label
        figure.colorbar(mesh, ax=list(axes_row), label=label, pad=0.01, aspect=12)
        axes_row[0].set_ylabel("layer")
    grid[0, 0].set_ylabel("dev score\n(points)")
    grid[1, 0].set_ylabel("training\nloss")
    grid[-1, 0].set_ylabel("half of the change\nafter (% of steps)")
    grid[-1, 0].set_ylim(0, ALL)
    layers.legend_above(grid[-1, len(models) // 2], len(TRACES))
    return style.captioned(
        figure, table, _score_note(table), _null_note(table), style.failures(table)
    )


def _share_rows(grid: np.ndarray) -> None:
    """Let the panels of each row have one axis, named once."""
    for first, *others in grid:
        for axes in others:
            axes.sharey(first)
            axes.tick_params(labelleft=False)


def _score_note(table: pd.DataFrame) -> str:
    parts = []
    for row in table[table["panel"] == "score"].drop_duplicates("series").itertuples():
        score = labelling.SCORES.get(row.variant, row.variant)
        parts.append(f"{score} ({labelling.label_of(row.series)})")
    return f"Scores are {', '.join(parts)}."


def _null_note(table: pd.DataFrame) -> str:
    note = layers.null_note(table)
    if nulls.NOISE in set(table["series"].map(nulls.null_of)):
        note += " At each share noise is as large as the change up to there."
    return note


def _scale(shares: np.ndarray) -> dict:
    """Set a symmetric-log axis, linear up to the first share above 0."""
    return {"base": 10, "linthresh": float(shares[shares > 0].min()), "linscale": 0.5}


def _edges(shares: np.ndarray) -> np.ndarray:
    """Place the edges of a heat map's cells halfway between the shares on the axis."""
    scale = _scale(shares)
    axis = SymmetricalLogTransform(scale["base"], scale["linthresh"], scale["linscale"])
    centres = axis.transform(shares)
    middle = (centres[1:] + centres[:-1]) / 2
    first = 2 * centres[0] - middle[0]
    last = 2 * centres[-1] - middle[-1]
    return axis.inverted().transform(np.array([first, *middle, last]))


def _share_axis(axes: Axes, shares: np.ndarray, named: bool) -> None:
    edges = _edges(shares)
    axes.set_xscale("symlog", **_scale(shares))
    axes.set_xlim(edges[0], edges[-1])
    axes.xaxis.set_major_locator(FixedLocator(shares))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([f"{share:g}" for share in shares] if named else [])
    axes.set_xlabel("share of the training steps (%)" if named else "")


def _colour_limits(table: pd.DataFrame, measure: str) -> tuple[float, float]:
    """Find the limits of a measure's colours, which span at least an unchanged layer and a slight
    change."""
    unchanged, slight = (1.0, 0.99) if measure == "rsa" else (0.0, 0.01)
    values = [*table.loc[table["panel"] == measure, "value"], unchanged, slight]
    return min(values), max(values)


def _draw_heat_map(
    axes: Axes,
    rows: pd.DataFrame,
    measure: str,
    shares: np.ndarray,
    limits: tuple[float, float],
) -> None:
    cells = rows.pivot(index="layer", columns="share", values="value").reindex(columns=shares)
    layer_edges = np.append(cells.index - 0.5, cells.index[-1] + 0.5)
    least, most = limits
    look = {"cmap": TRACES[measure].colours, "vmin": least, "vmax": most}
    axes.pcolormesh(_edges(shares), layer_edges, cells.to_numpy(), **look)
    axes.grid(False)
    axes.yaxis.get_major_locator().set_params(integer=True, nbins=5)


def _draw_halves(axes: Axes, rows: pd.DataFrame, null_rows: pd.DataFrame) -> None:
    for metric, trace in TRACES.items():
        halves = rows[rows["panel"] == f"half of {metric}"]
        layers.curve(axes, halves, MEASURES[metric].short_title, trace.look)
    labels = dict(labelling.NULL_WORDS)  # once in the legend
    for (series, panel), halves in null_rows.groupby(["series", "panel"], sort=False):
        null = nulls.null_of(series)
        colour = TRACES[panel.removeprefix("half of ")].look["color"]
        layers.null_curve(axes, halves, null, colour, labels.pop(null, None), grey=False)
    layers.layer_axis(axes, rows.loc[rows["panel"].isin(TRACES), "layer"])
