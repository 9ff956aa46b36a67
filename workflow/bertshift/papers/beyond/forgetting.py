"""How much fine-tuning made models forget, a dot a run, and the pretrained head on every layer's
output."""

from collections.abc import Iterator, Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from bertshift.figures import grids, layers, numbers, style
from bertshift.rows import labelling, statistics
from bertshift.rows.table import Table, concat

FORGOTTEN, RSA, MOVED = "forgotten", "rsa", "moved"
# The numbers of a run beside what it forgot, and the labels of their axes.
BESIDE = {RSA: "RSA of the last layer", MOVED: "relative distance of the weights"}
MARKERS = {"base": "o", "roberta": "s", "gpt2": "^"}
OTHER_MARKERS = "DvPX"
PARENT = style.BASELINE | {"color": "#000000", "marker": "", "linewidth": 1.2}
UNIGRAM = style.UNRELATED | {"color": "#666666", "linewidth": 1.0}
HOLLOW = "Hollow dots: runs that failed to train."


def tidy(inputs: Mapping[str, Table]) -> pd.DataFrame:
    """Tabulate runs, and losses by layer. Panel `runs` has for each run (`series`: the model and
    the run) what it forgot, its RSA and its weights' distance. The panel of each checkpoint has
    the losses by layer of its models and (`parent`, `unigram`) of its own."""
    tables = numbers.of_measure(inputs, "forgetting")
    losses = numbers.stack(tables, "forgetting", ["model", "parent", "unigram", FORGOTTEN])
    is_run = losses["variant"] == FORGOTTEN
    moved = numbers.stack(tables, "weights_moved", ["whole"]).assign(variant=MOVED)
    similar = numbers.stack(numbers.of_measure(inputs, RSA), RSA, ["content"], ["wiki"])
    is_last = similar["layer"] == similar.rows.groupby("model")["layer"].transform("max")
    similar = similar.where(is_last).assign(variant=RSA)
    runs = concat([losses.where(is_run), similar, moved])
    names = [f"{row.model}, run {row.init}, seed {row.seed}" for row in runs.rows.itertuples()]
    runs = runs.assign(panel="runs", series=names)
    curves = losses.where(~is_run)
    curves = curves.assign(panel=curves["model"].map(labelling.base_of), series=curves["model"])
    is_models = curves["variant"] == "model"
    parents = _parents(curves.rows[~is_models], curves.rows)
    parts = [runs, curves.where(is_models), curves.keep(parents)]
    by, group_by = [*numbers.COLUMNS[:6], "model"], ["series", "model", "stimuli"]
    means = [numbers.means(part, by, group_by) for part in parts]
    return numbers.join(*means, columns=[*numbers.COLUMNS[:6], "model", *numbers.VALUES])


def _parents(rows: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """Name the `rows` of checkpoints by these, each row once: the models of one checkpoint share
    them. Their tables are those of all curves of the checkpoint."""
    parents = rows.drop_duplicates(["panel", "ref_init", "variant", "layer"])
    base = parents["panel"]
    tables = base.map(curves.groupby("panel")["table"].agg(numbers.each_once))
    return parents.assign(series=base, model=base, table=tables, seed=0, failed=False)


def draw(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw above a panel for each of BESIDE, and below one for each checkpoint."""
    table = tidy(inputs)
    is_run = table["panel"] == "runs"
    bases = table.loc[~is_run, "panel"].unique()
    markers = style.of_bases(table.loc[is_run, "model"], MARKERS, OTHER_MARKERS)
    figure = style.blank(4.6)
    above, below = figure.subfigures(2, 1, hspace=0.02)
    pairs = _pairs(table)
    dots = above.subplots(1, len(BESIDE), sharey=True)
    for axes, quantity in zip(dots, BESIDE, strict=True):
        _draw_dots(axes, pairs, quantity, markers)
    dots[0].set_ylabel("forgotten (nats)")
    curves = below.subplots(1, len(bases), squeeze=False)[0]
    for axes, base in zip(curves, bases, strict=True):
        _draw_curves(axes, table[table["panel"] == base], base, markers)
    curves[0].set_ylabel("loss of the pretrained head (nats)")
    layers.legend_over(figure, *layers.handles_of(dots[:1]), *_handles(table, markers))
    hollow = HOLLOW if _has_failed(pairs).any() else ""
    return style.captioned(figure, table, hollow, style.failures(table[~is_run]))


def _pairs(table: pd.DataFrame) -> pd.DataFrame:
    """Build a row for each run: `model`, its forgetting, the quantities of BESIDE, and whether it
    failed to train. RSA is NaN where all tokens of the last layer are alike."""
    rows = table[table["panel"] == "runs"]
    wide = rows.pivot(index="series", columns="variant", values="value")
    facts = rows[rows["variant"] == FORGOTTEN].set_index("series")[["model", "trained", "failed"]]
    return facts.join(wide)


def _has_failed(pairs: pd.DataFrame) -> pd.Series:
    return (pairs["failed"] > 0) & (pairs["trained"] == 0)


def _draw_dots(axes: Axes, pairs: pd.DataFrame, quantity: str, markers: Mapping[str, str]) -> None:
    pairs = pairs.dropna(subset=quantity)
    for row in pairs.assign(is_hollow=_has_failed(pairs)).to_dict("records"):
        look = _look(row["model"], markers) | {"linestyle": "", "markersize": 5}
        if row["is_hollow"]:
            look["markerfacecolor"] = "none"
        axes.plot([row[quantity]], [row[FORGOTTEN]], **look)
    axes.set_xlabel(BESIDE[quantity])
    # Over one checkpoint's runs: over several it would mostly compare the checkpoints.
    parts = []
    for base, runs in pairs.groupby(pairs["model"].map(labelling.base_of), sort=False):
        x, y = runs[quantity], runs[FORGOTTEN]
        if len(runs) > 2 and min(x.std(), y.std()) > statistics.EQUAL:
            rho = grids.number(x.rank().corr(y.rank()), decimals=2)
            parts.append(f"{base} {rho} ({len(runs)} runs)")
    if parts:
        correlations = ",\n".join(parts)
        axes.set_title(f"Spearman's ρ: {correlations}", fontsize=7)


def _draw_curves(axes: Axes, rows: pd.DataFrame, base: str, markers: Mapping[str, str]) -> None:
    for model, curve in rows[rows["variant"] == "model"].groupby("series", sort=False):
        layers.curve(axes, curve, labelling.label_of(model), _look(model, markers))
    layers.curve(axes, rows[rows["variant"] == "parent"], "pretrained", PARENT, zorder=3)
    [unigram] = rows.loc[rows["variant"] == "unigram", "value"]
    axes.axhline(unigram, **UNIGRAM)
    layers.layer_axis(axes, rows["layer"])
    axes.locator_params(axis="x", nbins=6)
    axes.set_title(base)


def _handles(table: pd.DataFrame, markers: Mapping[str, str]) -> Iterator[Line2D]:
    for model, rows in table[table["variant"] == "model"].groupby("model", sort=False):
        label = labelling.label_of(model) + style.mark_of(rows)
        yield Line2D([], [], linestyle="", label=label, **_look(model, markers))
    yield Line2D([], [], label="pretrained", **PARENT)
    yield Line2D([], [], label="word frequencies", **UNIGRAM)


def _look(model: str, markers: Mapping[str, str]) -> dict:
    """Combine the task's colour with the checkpoint's marker."""
    return style.look_of(labelling.task_of(model)) | {"marker": markers[labelling.base_of(model)]}
