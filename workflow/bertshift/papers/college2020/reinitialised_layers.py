"""BERT Goes to College: scores with layers k and up re-initialised (Figure 3, the table of MRPC,
and a control of ours)."""

import math
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from bertshift.errors import UserError
from bertshift.figures import grids, layers, numbers, style
from bertshift.measures import POSITIVE
from bertshift.naming import Model
from bertshift.rows import labelling, statistics
from bertshift.rows.estimates import NONE
from bertshift.rows.table import Table, concat

BY = ["panel", "series", "score", "position", "layers"]
COLUMNS = [*BY, "run", *numbers.VALUES]
PLATEAU = "plateau"
MAJORITY, PAPER, ABOVE = "majority", "paper", "above_majority"
NO_LAYER, MAJORITY_CLASS = "no layer re-initialised", "majority class"
STARS = (
    "; stars: its scores of complete models and, for MRPC, its one score for any k, as its curves"
    " carry no other numbers. Do not compare with a star of another model or of another score (the"
    " report does not say which correlation it used)"
)
SIDE_BY_SIDE = 0.12  # layers from one line to the next
SATURATES = 0.1  # of a score, from the majority class's
SHADING = (
    "Shading: scores above the majority class's are blue, below it orange, both full at"
    f" {SATURATES:g}."
)
CORRELATIONS = ("pearson", "spearman")
ACROSS = 3
# The label of each series, and the look of its line beside others of the task's colour.
LINES = {
    "reinit": ("fine-tuned as the plain model", {}),
    "reinit.plateau": (
        "until the loss is on a plateau",
        {"linewidth": 0.9, "markerfacecolor": "white"},
    ),
}
REFERENCES = {
    NO_LAYER: {"color": "#444444", "linewidth": 0.8} | style.BASELINE,
    MAJORITY_CLASS: {"color": "#666666", "linewidth": 0.9} | style.UNRELATED,
    PAPER: style.PUBLISHED | {"linestyle": ""},
}
# The control: readings of the way in which the report re-initialised layers.
SCHEMES = {
    "reinit": ("A: σ .02, cut at ±.04", {"color": "#0072B2", "marker": "o"}),
    "reinitb": ("B: σ 1, cut at ±.02", {"color": "#D55E00", "marker": "s"}),
    "reinitc": ("C: σ .02, cut at ±.0004", {"color": "#CC79A7", "marker": "D"}),
    "reinitd": ("D: σ .02, cut at ±.0008", {"color": "#009E73", "marker": "^"}),
}
MEAN, LOSS = "accuracy_and_f1", "loss"
MRPC_SCORES = {
    "accuracy": "accuracy",
    "f1": "F1",
    MEAN: "mean of both",
    LOSS: "training loss,\nlast epoch",
}
# The columns of the table of MRPC: a source and a score.
CELLS = [("ours", score) for score in MRPC_SCORES]
CELLS += [("published", score) for score in MRPC_SCORES if score != LOSS]
LABELS, CELL, ROW = 1.5, 0.95, 0.3  # inches


def runs(inputs: Mapping[str, Table]) -> Table:
    """Stack every run's scores. `panel` is the plain model, and `run` the replicate. `series` is
    what the path says is done to the model (`reinit`, `reinitb`), with PLATEAU if it trains until
    the loss does not fall.

    A model at the level of the majority class is a result here, and counts.
    """
    parts = []
    for path, table in inputs.items():
        if not len(table):
            raise UserError(f"{path} holds no run; delete it and run its rule again.")
        model, series = Model.of_row(path)
        if model.variant(PLATEAU):
            series = f"{series}.{PLATEAU}"
        parts.append(table.assign(panel=str(model.without(PLATEAU)), series=series, table=path))
    measured = concat(parts).rename(metric="score")
    init, seed = (measured[key].astype(str) for key in ("init", "seed"))
    return measured.assign(run="init" + init + "_seed" + seed)


def headline_runs(inputs: Mapping[str, Table]) -> Table:
    measured = runs(inputs)
    return measured.where(measured["headline"])


def means(measured: Table) -> pd.DataFrame:
    """Average over replicates; add each of several replicates (`run`), and the majority class, at
    position 0."""
    mean = numbers.means_of_all(measured, BY, ["panel", "series"])
    facts = mean.drop(columns=["value", "low", "high", "each", "trained", "failed"])
    rows = measured.rows.assign(trained=~measured["failed"].astype(bool))
    single = rows[[*BY, "run", "value", "trained", "failed"]].merge(facts, on=BY)
    single = single.query("replicates > 1")
    majority = rows.drop_duplicates(["panel", "score", "init", "seed"]).dropna(subset="majority")
    majority = measured.keep(majority).with_value(majority["majority"])
    majority = majority.drop("failed").assign(series=MAJORITY, position=0)
    majority = numbers.means(majority, BY, ["panel", "score"])
    return numbers.join(mean, single, majority, columns=COLUMNS)


def read_published(table: pd.DataFrame, published: Mapping) -> Iterator[pd.DataFrame]:
    """Yield the paper's score of each plain model and, for MRPC, its one score of every k."""
    paper, baselines, figure3 = (published[key] for key in ("paper", "baselines", "figure3"))
    for panel, rows in table.groupby("panel", sort=False):
        task = labelling.task_of(panel)
        score = rows["score"].iloc[0]
        depth = int(rows["layers"].iloc[0])
        facts = {"panel": panel, "series": PAPER, "score": score, "layers": depth}
        name = "correlation" if score in CORRELATIONS else score
        plain = baselines.get(task, {}).get(name)
        if plain is not None:
            yield numbers.published(baselines, paper, position=depth + 1, value=plain, **facts)
        any_layer = figure3.get(task, {}).get("any_layer", {}).get(score)
        if any_layer is not None:
            k = list(range(1, depth + 1))
            yield numbers.published(figure3, paper, position=k, value=any_layer, **facts)


def figure3(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw one panel per task; the last tick on the axis is the plain model. The paper's numbers
    are of complete models and, for MRPC, the one score of every k."""
    ours = means(headline_runs(inputs))
    table = numbers.join(ours, *read_published(ours, published), columns=COLUMNS)
    cells = table["panel"].nunique() + 1  # the last one is the legend's
    columns = min(ACROSS, cells)
    lines = math.ceil(cells / columns)
    figure = style.blank(2.0 * lines)
    for cell, (panel, rows) in enumerate(table.groupby("panel", sort=False), 1):
        colour = style.look_of(labelling.task_of(panel))
        looks = {series: (label, colour | look) for series, (label, look) in LINES.items()}
        draw_panel(figure.add_subplot(lines, columns, cell), rows, looks)
    grey = {"color": "#444444", "marker": "o"}
    drawn = [LINES[series] for series in LINES if series in set(table["series"])]
    references = dict(REFERENCES)
    if (table["source"] == "ours").all():
        del references[PAPER]
    looks = {label: grey | look for label, look in drawn} | references
    keys = [Line2D([], [], label=label, **look) for label, look in looks.items()]
    legend = figure.add_subplot(lines, columns, cells)
    legend.axis("off")
    legend.legend(handles=keys, loc="center")
    return style.captioned(figure, table, numbers.cited(published, "figure3", table, STARS))


def draw_panel(axes: Axes, table: pd.DataFrame, looks: Mapping[str, tuple[str, dict]]) -> None:
    """Draw a line per series, with its label and look, over the first re-initialised layer; bars
    of several series stand side by side, as bands would hide each other. Dots are replicates;
    stars are numbers of the paper."""
    ours = table.query("source == 'ours'")
    theirs = table.query("source == 'published'")
    depth = int(ours["layers"].max())
    drawn = [series for series in looks if series in set(ours["series"])]
    for order, series in enumerate(drawn):
        label, look = looks[series]
        rows = ours[ours["series"] == series]
        mean = rows.query("run == ''").sort_values("position")
        single = rows.query("run != ''")
        shift = SIDE_BY_SIDE * (order - (len(drawn) - 1) / 2)
        if len(drawn) == 1:
            layers.curve(axes, mean, label, look, "position")
        else:
            x = mean["position"] + shift
            axes.plot(x, mean["value"], label=label, **look)
            layers.bars(axes, x, mean, horizontal=False, color=look["color"], linewidth=0.9)
        axes.scatter(
            single["position"] + shift,
            single["value"],
            s=5,
            color=look["color"],
            linewidth=0,
            alpha=0.6,
        )
        plain = mean.set_index("position")["value"][depth + 1]
        axes.axhline(plain, **REFERENCES[NO_LAYER])
    for value in ours.loc[ours["series"] == MAJORITY, "value"]:
        axes.axhline(value, **REFERENCES[MAJORITY_CLASS])
    for point in theirs.itertuples():
        axes.plot(point.position, point.value, zorder=5, **REFERENCES[PAPER])
    ticks = [*range(1, depth + 1, _choose_step(depth)), depth + 1]
    axes.set_xticks(ticks, [*ticks[:-1], "none"])
    model, score = ours[["panel", "score"]].iloc[0]
    axes.set(
        xlim=(0.6, depth + 1.6),
        xlabel="first re-initialised layer k",
        title=f"{labelling.label_of(model)} ({labelling.SCORES.get(score, score)})",
    )


def _choose_step(depth: int) -> int:
    """Choose how many layers lie between two ticks."""
    if depth < 10:
        return 1
    if depth <= 12:
        return 2
    return 4


def schemes(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw one panel per task, with one line per scheme."""
    table = means(headline_runs(inputs))
    panels = table.groupby("panel", sort=False)
    figure, [line] = style.grid(2.6, columns=len(panels))
    for axes, (_, rows) in zip(line, panels):
        draw_panel(axes, rows, SCHEMES)
    handles, _ = figure.axes[0].get_legend_handles_labels()
    for label in (NO_LAYER, MAJORITY_CLASS):
        handles.append(Line2D([], [], label=label, **REFERENCES[label]))
    layers.legend_over(figure, *handles)
    return style.captioned(figure, table)


def tabulate_mrpc(inputs: Mapping[str, Table], published: Mapping) -> pd.DataFrame:
    """Tabulate accuracy, F1, their mean and the loss of the last epoch by k, the majority class
    (position 0), and how far scores lie above it. Add the paper's scores, and what always saying
    "paraphrase" gives on the development set of MRPC."""
    measured = runs(inputs)
    measured = measured.where(measured["score"].isin(MRPC_SCORES))
    run = ["panel", "series", "position", "init", "seed"]
    majority = measured.rows.groupby(run)["majority"].transform("mean")
    mean = measured.assign(majority=majority).mean_of(run).assign(score=MEAN)
    loss = mean.with_value(mean["loss"], POSITIVE).assign(score=LOSS, majority=np.nan)
    table = means(concat([measured, mean, loss]))
    ours = table.query("run == ''")
    scores = numbers.join(ours, *read_published_mrpc(table, published), columns=COLUMNS)
    return numbers.join(scores, above_majority(scores), columns=COLUMNS)


def above_majority(scores: pd.DataFrame) -> pd.DataFrame:
    """Subtract the majority class's score (position 0) from each, ours from ours and the paper's
    from the paper's: rows of the series ABOVE, which have no intervals."""
    cell = ["panel", "source", "score"]
    majority = scores[scores["position"] == 0].set_index(cell)["value"].rename("majority")
    above = scores[scores["position"] > 0].join(majority, on=cell, how="inner")
    value = above["value"] - above["majority"]
    return above.assign(series=ABOVE, value=value, low=np.nan, high=np.nan, each="", interval=NONE)


def read_published_mrpc(table: pd.DataFrame, published: Mapping) -> Iterator[pd.DataFrame]:
    """Yield the paper's scores for any k, for none (position L + 1), and for the majority class
    (position 0), beside the first model of MRPC."""
    panel = labelling.first_of_tasks(table["panel"].unique()).get("mrpc")
    if panel is None:
        return
    paper, entry = published["paper"], published["figure3"]
    depth = int(table.loc[table["panel"] == panel, "layers"].iloc[0])
    facts = {"panel": panel, "series": PAPER, "layers": depth}
    for key, position, provenance in (
        ("any_layer", list(range(1, depth + 1)), "printed"),
        ("no_reinit", depth + 1, "printed"),
        ("majority", 0, "derived"),
    ):
        source = entry | {"provenance": provenance, "place": "table of MRPC"}
        for score, value in entry["mrpc"][key].items():
            yield numbers.published(
                source,
                paper,
                score=score,
                position=position,
                value=value,
                **facts,
            )


def table_mrpc(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw the first model's scores, a row per first re-initialised layer, with the paper's to the
    right of ours."""
    first_path = next(iter(inputs))
    table = tabulate_mrpc({first_path: inputs[first_path]}, published)
    depth = int(table["layers"].max())
    positions = [*range(1, depth + 2), 0]
    height = 0.75 + ROW * len(positions)
    width = LABELS + CELL * len(CELLS)
    figure, [[axes]] = style.grid(height, width=width)
    is_above = table["series"] == ABOVE
    above = table[is_above].set_index(["position", "source", "score"])["value"]
    fills = above.unstack(["source", "score"]).reindex(index=positions, columns=CELLS)
    prefixes = {"ours": "", "published": "paper,\n"}
    columns = [prefixes[source] + MRPC_SCORES[score] for source, score in CELLS]
    lines = [f"from layer {k} up" for k in range(1, depth + 1)]
    lines += ["no layer", "majority class"]
    grids.coloured_table(
        axes,
        fills.to_numpy(),
        columns,
        lines,
        fontsize=7,
        cmap=grids.LOSS_TO_GAIN,
        vmin=-SATURATES,
        vmax=SATURATES,
    )
    number = "{:.3f}".format
    for row in table[~is_above].itertuples():
        text = f"{number(row.value)}\n{numbers.spread(row, number)}"
        axes.text(
            CELLS.index((row.source, row.score)),
            positions.index(row.position),
            text.rstrip(),
            ha="center",
            va="center",
            fontsize=7,
            color="black" if row.source == "ours" else "#404040",
            linespacing=0.95,
        )
    axes.axvline(len(MRPC_SCORES) - 0.5, color="#808080", linewidth=0.8)
    axes.axhline(depth - 0.5, color="#808080", linewidth=0.8)
    model = labelling.label_of(table["panel"].iloc[0])
    axes.set_title(f"{model}, re-initialised …", pad=4, loc="left")
    return style.captioned(figure, table, SHADING, describe_majority(table, published))


def describe_majority(table: pd.DataFrame, published: Mapping) -> str:
    """Write for how many k every score of ours equals the majority class's, and that the paper's
    does for any k."""
    above = table[(table["source"] == "ours") & (table["series"] == ABOVE)]
    depth = int(table["layers"].max())
    distances = above.pivot(index="position", columns="score", values="value").abs()
    distance = distances.loc[1:depth].max(axis=1)
    equal = (distance < statistics.EQUAL).sum()
    largest = ""
    if equal < depth:
        largest = f"; a score differs by up to {distance.max():.4f} (k = {distance.idxmax()})"
    sentence = (
        f"Ours equals the majority class, in every score, for {equal} of {depth} k{largest}."
    )
    if not (table["source"] == "published").any():
        return sentence
    facts = published["figure3"]["mrpc"]
    return (
        f"{sentence} The report's scores for any k, to the right of ours, are those of the"
        f" majority class: its mean of both, {facts['any_layer'][MEAN]:.6f}, is of accuracy"
        f" {facts['majority']['accuracy']:.5f} and F1 {facts['majority']['f1']:.5f}, as 279 of 408"
        " are paraphrases."
    )
