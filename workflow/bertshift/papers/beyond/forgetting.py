"""How much fine-tuning made models forget, a dot a run, and the pretrained head on every layer's
output."""

from collections.abc import Iterator, Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from bertshift.figures import layers, numbers, style
from bertshift.rows import labelling, statistics

FORGOTTEN, RSA, MOVED = "forgotten", "rsa", "moved"
# The numbers of a run beside what it forgot, and the labels of their axes.
BESIDE = {RSA: "RSA of the last layer", MOVED: "relative distance of the weights"}
MARKERS = {"base": "o", "roberta": "s", "gpt2": "^"}
OTHER_MARKERS = "DvPX"
PARENT = {"color": "#000000", "marker": "", "linestyle": "--", "linewidth": 1.2}
UNIGRAM = {"color": "#666666", "linestyle": ":", "linewidth": 1.0}


def tidy(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Tabulate runs, and losses by layer. Panel `runs` has for each run (`series`: the model and
    the run) what it forgot, its RSA and its weights' distance. The panel of each checkpoint has
    the losses by layer of its models and (`parent`, `unigram`) of its own."""
    tables = numbers.of_measure(inputs, "forgetting")
    rows = numbers.stack(tables, "forgetting", ["model", "parent", "unigram", FORGOTTEN])
    whole = numbers.stack(tables, "weights_moved", ["whole"]).assign(variant=MOVED)
    similar = numbers.stack(numbers.of_measure(inputs, RSA), RSA, ["content"], ["wiki"])
    last = similar["layer"] == similar.groupby("model")["layer"].transform("max")
    similar = similar[last].assign(variant=RSA)
    runs = pd.concat([rows[rows["variant"] == FORGOTTEN], similar, whole], ignore_index=True)
    names = [f"{row.model}, run {row.init}, seed {row.seed}" for row in runs.itertuples()]
    runs = runs.assign(panel="runs", series=names)
    curves = rows[rows["variant"] != FORGOTTEN]
    curves = curves.assign(panel=curves["model"].map(labelling.base_of), series=curves["model"])
    # Models of one checkpoint share what is the checkpoint's own.
    own = curves["variant"].isin(["parent", "unigram"])
    parents = curves[own].drop_duplicates(["panel", "ref_init", "variant", "layer"])
    base, named = parents["panel"], curves.groupby("panel")["table"].agg(numbers.each_once)
    parents = parents.assign(series=base, model=base, table=base.map(named), seed=0, failed=False)
    by, apart = [*numbers.COLUMNS[:6], "model"], ["series", "model", "stimuli"]
    parts = [numbers.means(part, by, apart) for part in (runs, curves[~own], parents)]
    return numbers.join(*parts, columns=[*numbers.COLUMNS[:6], "model", *numbers.VALUES])


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw above a panel for each of BESIDE, and below one for each checkpoint."""
    table = tidy(inputs)
    bases = [panel for panel in dict.fromkeys(table["panel"]) if panel != "runs"]
    markers = style.of_bases(table.loc[table["panel"] == "runs", "model"], MARKERS, OTHER_MARKERS)
    figure = style.blank(4.6)
    above, below = figure.subfigures(2, 1, hspace=0.02)
    pairs = _pairs(table)
    dots = above.subplots(1, len(BESIDE), sharey=True)
    for axes, beside in zip(dots, BESIDE, strict=True):
        _dots(axes, pairs, beside, markers)
        axes.set_ylabel("forgotten (nats)" if beside == RSA else "")
    drawn = below.subplots(1, len(bases), squeeze=False)[0]
    for axes, base in zip(drawn, bases, strict=True):
        _curves(axes, table[table["panel"] == base], base, markers)
    drawn[0].set_ylabel("loss of the pretrained head (nats)")
    layers.legend_over(figure, *layers.handles_of(dots[:1]), *_handles(pairs, markers))
    return style.captioned(figure, table, style.failures(table[table["panel"] != "runs"]))


def _pairs(table: pd.DataFrame) -> pd.DataFrame:
    """Build a row for each run: `model`, what it forgot, the numbers beside that (BESIDE), and
    whether it failed to train. RSA is NaN where all tokens of the last layer are alike."""
    rows = table[table["panel"] == "runs"]
    wide = rows.pivot(index="series", columns="variant", values="value")
    facts = rows[rows["variant"] == FORGOTTEN].set_index("series")[["model", "trained", "failed"]]
    return facts.join(wide)


def _dots(axes: Axes, pairs: pd.DataFrame, beside: str, markers: Mapping[str, str]) -> None:
    pairs = pairs.dropna(subset=beside)
    for row in pairs.itertuples():
        look = _look(row.model, markers)
        hollow = {"markerfacecolor": "none"} if row.failed and not row.trained else {}
        axes.plot(
            [getattr(row, beside)],
            [getattr(row, FORGOTTEN)],
            linestyle="",
            markersize=5,
            **look,
            **hollow,
        )
    axes.set_xlabel(BESIDE[beside])
    # Over one checkpoint's runs: over several it would be mostly what these differ in.
    said = []
    for base, own in pairs.groupby(pairs["model"].map(labelling.base_of), sort=False):
        if len(own) > 2 and min(own[beside].std(), own[FORGOTTEN].std()) > statistics.EQUAL:
            rho = own[beside].rank().corr(own[FORGOTTEN].rank())
            said.append(f"{base} {rho + 0:.2f} ({len(own)} runs)".replace("-", "−"))
    if said:
        axes.set_title("Spearman's ρ: " + ",\n".join(said), fontsize=7)


def _curves(axes: Axes, rows: pd.DataFrame, base: str, markers: Mapping[str, str]) -> None:
    for model, own in rows[rows["variant"] == "model"].groupby("series", sort=False):
        layers.curve(axes, own, labelling.label_of(model), _look(model, markers))
    layers.curve(axes, rows[rows["variant"] == "parent"], "pretrained", PARENT, zorder=3)
    [unigram] = rows.loc[rows["variant"] == "unigram", "value"]
    axes.axhline(unigram, **UNIGRAM)
    layers.layer_axis(axes, rows["layer"])
    axes.locator_params(axis="x", nbins=6)
    axes.set_ylim(0, 1.05 * layers.highest(rows))
    axes.set_title(base)


def _handles(pairs: pd.DataFrame, markers: Mapping[str, str]) -> Iterator[Line2D]:
    for model, own in pairs.groupby("model", sort=False):
        label = labelling.label_of(model) + style.mark_of(own)
        yield Line2D([], [], linestyle="", label=label, **_look(model, markers))
    yield Line2D([], [], label="pretrained", **PARENT)
    yield Line2D([], [], label="word frequencies", **UNIGRAM)


def _look(model: str, markers: Mapping[str, str]) -> dict:
    """Combine the task's colour with the checkpoint's marker."""
    return style.look_of(labelling.task_of(model)) | {"marker": markers[labelling.base_of(model)]}
