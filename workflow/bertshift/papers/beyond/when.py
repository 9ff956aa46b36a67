"""When the layers change: similarity to the parent over the course of fine-tuning, and the share
of training at half of it."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.scale import SymmetricalLogTransform
from matplotlib.ticker import FixedLocator, NullLocator

from bertshift.figures import layers, numbers, style
from bertshift.naming import Name
from bertshift.rows import labelling, ranges, statistics
from bertshift.rows.blocks import JACKKNIFE_COLUMNS
from bertshift.rows.losses import thinned
from bertshift.rows.nulls import NOISE, model_of, null_of
from bertshift.rows.provenance import ORIGIN

# Metric -> what is read of its tables (variants, inputs), its name, its colours, and its line.
MEASURES = {
    "rsa": (["content"], ["wiki"], "RSA", "Blues_r", {"color": "#000000", "marker": "o"}),
    "svcca": (["svcca99"], [], "SVCCA distance", "Blues", {"color": "#0072B2", "marker": "s"}),
    "js": (["nats"], [], "JS (nats)", "Blues", {"color": "#D55E00", "marker": "^"}),
}
COLUMNS = ["panel", "series", "variant", "layer", "share", *numbers.VALUES]
ALL = 100  # percent
RUN = ["series", "init", "seed"]


def half_change(shares: Sequence[float], change: Sequence[float]) -> float:
    """Find the share of training after which a layer has made half of its final change.

    `change` is the distance from the parent after each of the ascending `shares`, the last one at
    the end; between two shares it is a straight line. Where it reaches half of its last value
    several times, the first counts. NaN where it ends at 0.
    """
    half = change[-1] / 2
    if not half > statistics.EQUAL:
        return np.nan
    after = next(n for n, value in enumerate(change) if value >= half)
    if after == 0:
        return float(shares[0])
    return float(np.interp(half, change[after - 1 : after + 1], shares[after - 1 : after + 1]))


def tidy(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Tabulate the means by `panel` (a metric, `score`, `loss` or `half of <metric>`), model
    (`series`), layer and share of the training steps. Noise as large as the change at each share
    has `half of <metric>` alone.

    `share` is in percent; in `half of <metric>` the value is one. The snapshots of a run that
    failed to train count as failed, those of any other run do not: before a run has learnt its
    task, no snapshot of it is above the majority class.
    """
    parts, halves = [], []
    scores = _over_training(inputs, "scores")
    changes = {metric: _changes(inputs, metric) for metric in MEASURES}
    ends = _at_end(pd.concat([scores, *(rows[_of_noise(rows)] for rows in changes.values())]))
    headline = statistics.in_points(scores[scores["headline"]])
    parts.append(_means(headline.assign(panel="score", variant=headline["metric"], layer=0), ends))
    losses = _over_training(inputs, "losses").groupby(["table", *RUN], sort=False)
    parts.append(_means(pd.concat([_thinned(run) for _, run in losses]), ends))
    for metric, rows in changes.items():
        parts.append(_means(rows[~_of_noise(rows)].assign(panel=metric), ends))
        halves.append(_halves(rows.assign(panel=f"half of {metric}")))
    halves = pd.concat(halves)
    parts.append(_means(halves, ends, []) if len(halves) else halves)
    table = numbers.join(*parts, columns=COLUMNS)
    table.loc[table["panel"].str.startswith("half"), "provenance"] = "derived"
    return table


def _placed(rows: pd.DataFrame) -> pd.DataFrame:
    """Add `series`, the model at the end of its training, and `share`, how far on the way to it a
    row's model was taken."""
    names = list(map(Name.of, rows["model"].unique()))
    shares = {
        str(name): float(found["share"]) if (found := name.variant("at")) else ALL
        for name in names
    }
    series = {str(name): str(name.without("at")) for name in names}
    return rows.assign(series=rows["model"].map(series), share=rows["model"].map(shares))


def _changes(inputs: Mapping[str, pd.DataFrame], metric: str) -> pd.DataFrame:
    variants, stimuli, *_ = MEASURES[metric]
    rows = numbers.stack(numbers.of_measure(inputs, metric), metric, variants, stimuli)
    rows = _placed(rows[rows["head"] == 0])
    shares = rows.groupby("series")["share"].agg(set)
    # Archives may have noise of the whole change alone, which says nothing of when.
    partly = [series for series in shares.index if shares[series] != shares[model_of(series)]]
    return rows[~rows["series"].isin(partly)]


def _of_noise(rows: pd.DataFrame) -> pd.Series:
    return rows["series"].map(null_of) != ""


def _at_end(rows: pd.DataFrame) -> pd.Series:
    """Tell which runs had failed to train at the end of their training."""
    return rows[rows["share"] == ALL].drop_duplicates(RUN).set_index(RUN)["failed"]


def _over_training(inputs: Mapping[str, pd.DataFrame], folder: str) -> pd.DataFrame:
    tables = numbers.of_measure(inputs, folder).items()
    return _placed(
        pd.concat([table.assign(table=path) for path, table in tables], ignore_index=True)
    )


def _thinned(run: pd.DataFrame) -> pd.DataFrame:
    curve = thinned(run["value"])
    keys = ranges.within(run.iloc[[0]][["table", *RUN, *ORIGIN]], ranges.POSITIVE)
    share = ALL * curve["step"] / curve["step"].max()
    return curve.assign(
        value=curve["smoothed"], share=share, panel="loss", variant="smoothed", layer=0
    ).merge(keys, how="cross")


def _halves(rows: pd.DataFrame) -> pd.DataFrame:
    """Find the share of training at half of the change, one row a replicate and layer; where a
    layer does not change, there is none."""
    if rows["panel"].str.endswith("rsa").all():
        rows = statistics.mapped(rows, lambda similarity: 1 - similarity)
    kept = []
    for _, layer in rows.sort_values("share", kind="stable").groupby(
        [*RUN, "ref_init", "ref_seed", "layer"], sort=False
    ):
        known = [name for name in JACKKNIFE_COLUMNS if name in layer and layer[name].notna().all()]
        value, *left = (
            half_change(list(layer["share"]), list(layer[name])) for name in ("value", *known)
        )
        if np.isnan(left).any():  # without some block the layer does not change
            left = [np.nan] * len(known)
        same = layer.iloc[-1].drop(JACKKNIFE_COLUMNS, errors="ignore").to_dict()
        found = {"value": value, "table": "; ".join(layer["table"])}
        kept.append(same | found | dict(zip(known, left, strict=True)))
    found = (
        pd.DataFrame(kept).drop(columns=["low", "high"], errors="ignore").dropna(subset="value")
    )
    return ranges.within(found, (0.0, ALL))


def _means(rows: pd.DataFrame, ends: pd.Series, at: Sequence[str] = ("share",)) -> pd.DataFrame:
    failed = ends.reindex(pd.MultiIndex.from_frame(rows[RUN])).to_numpy()
    by = ["panel", "series", "variant", "layer", *at]
    return numbers.means(rows.assign(failed=failed), by, ["panel", "series"])


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw a column of panels a task: score, loss, a heat map a measure, and the share of training
    at half of the change."""
    table = tidy(inputs)
    models = [series for series in dict.fromkeys(table["series"]) if not null_of(series)]
    shares = np.unique(table.loc[table["panel"].isin(MEASURES), "share"])
    heights = [0.8, 0.8, *[1.15] * len(MEASURES), 1.5]
    width = style.COLUMN_WIDTH + 1.0 if len(models) == 1 else style.TEXT_WIDTH
    size = {"width": width, "height_ratios": heights}
    figure, grid = style.grid(sum(heights) + 0.9, len(heights), len(models), sharey="row", **size)
    for column, model in zip(grid.T, models, strict=True):
        own = table[table["series"] == model]
        look = style.look_of(labelling.task_of(model))
        column[0].set_title(labelling.label_of(model) + style.mark_of(own))
        layers.curve(column[0], own[own["panel"] == "score"], "", look, "share")
        layers.curve(column[1], own[own["panel"] == "loss"], "", look | {"marker": ""}, "share")
        for axes, measure in zip(column[2:], MEASURES):
            _heat_map(
                axes,
                own[own["panel"] == measure],
                table[table["panel"] == measure],
                measure,
                shares,
            )
        for axes in column[:-1]:
            _share_axis(axes, shares, axes is column[-2])
        _halves_drawn(column[-1], own, table[table["series"] == str(Name.of(model).plus(NOISE))])
    for line, (_, _, words, *_) in zip(grid[2:], MEASURES.values()):
        figure.colorbar(line[0].collections[0], ax=list(line), label=words, pad=0.01, aspect=12)
        line[0].set_ylabel("layer")
    grid[0, 0].set_ylabel("dev score\n(points)")
    grid[1, 0].set_ylabel("training\nloss")
    grid[-1, 0].set_ylabel("half of the change\nafter (% of steps)")
    grid[-1, 0].set_ylim(0, ALL)
    layers.legend_above(grid[-1, len(models) // 2], len(MEASURES))
    scores = table[table["panel"] == "score"].drop_duplicates("series")
    named = zip(
        scores["variant"].map(lambda name: labelling.SCORES.get(name, name)),
        scores["series"].map(labelling.label_of),
    )
    told = ", ".join(f"{score} ({model})" for score, model in named)
    noise = layers.null_note(table, noise="Dash-dotted")
    noise = noise and f"{noise} At each share it is as large as the change up to there."
    return style.captioned(figure, table, f"Scores are {told}.", noise, style.failures(table))


def _scale(shares: np.ndarray) -> dict:
    """Set a symmetric-log axis, linear up to the first share above 0."""
    return {"base": 10, "linthresh": float(shares[shares > 0].min()), "linscale": 0.5}


def _edges(shares: np.ndarray) -> np.ndarray:
    """Place the edges of a heat map's cells halfway between the shares on the axis."""
    how = _scale(shares)
    axis = SymmetricalLogTransform(how["base"], how["linthresh"], how["linscale"])
    at = axis.transform(shares)
    middle = (at[1:] + at[:-1]) / 2
    return axis.inverted().transform(
        np.array([2 * at[0] - middle[0], *middle, 2 * at[-1] - middle[-1]])
    )


def _share_axis(axes: Axes, shares: np.ndarray, named: bool) -> None:
    edges = _edges(shares)
    axes.set_xscale("symlog", **_scale(shares))
    axes.set_xlim(edges[0], edges[-1])
    axes.xaxis.set_major_locator(FixedLocator(shares))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([f"{share:g}" for share in shares] if named else [])
    axes.set_xlabel("share of the training steps (%)" if named else "")


def _heat_map(
    axes: Axes, own: pd.DataFrame, of_all: pd.DataFrame, measure: str, shares: np.ndarray
) -> None:
    cells = own.pivot(index="layer", columns="share", values="value").reindex(columns=shares)
    rows = np.append(cells.index - 0.5, cells.index[-1] + 0.5)
    unchanged, least = (1.0, 0.99) if measure == "rsa" else (0.0, 0.01)
    values = [*of_all["value"], unchanged, least]
    limits = {"vmin": min(values), "vmax": max(values)}
    axes.pcolormesh(_edges(shares), rows, cells.to_numpy(), cmap=MEASURES[measure][3], **limits)
    axes.grid(False)
    axes.yaxis.get_major_locator().set_params(integer=True, nbins=5)


def _halves_drawn(axes: Axes, own: pd.DataFrame, noise: pd.DataFrame) -> None:
    for measure, (_, _, words, _, look) in MEASURES.items():
        layers.curve(
            axes, own[own["panel"] == f"half of {measure}"], words.partition(" ")[0], look
        )
    label = labelling.NULL_WORDS[NOISE]  # once in the legend
    for panel, rows in noise.groupby("panel", sort=False):
        look = MEASURES[panel.removeprefix("half of ")][-1]
        layers.null_curve(axes, rows, NOISE, look["color"], label, grey=False)
        label = None
    layers.layer_axis(axes, own.loc[own["panel"].isin(MEASURES), "layer"])
