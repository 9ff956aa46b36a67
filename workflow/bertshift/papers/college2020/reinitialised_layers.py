"""BERT Goes to College: scores with layers k and up re-initialised (Figure 3, the table of MRPC,
and a control of ours)."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from bertshift.errors import UserError
from bertshift.figures import grids, layers, numbers, style
from bertshift.naming import Name
from bertshift.rows import labelling, ranges, statistics
from bertshift.rows.blocks import JACKKNIFE_COLUMNS

COLUMNS = ["panel", "series", "score", "position", "layers", "run", *numbers.VALUES]
BY = COLUMNS[:5]
PLATEAU = "plateau"
MAJORITY, PAPER = "majority", "paper"
CORRELATIONS = ("pearson", "spearman")
ACROSS = 3
# The label of each series, and how its line differs from others of the task's colour.
LINES = {
    "reinit": ("fine-tuned as the plain model", {}),
    "reinit.plateau": (
        "until the loss is on a plateau",
        {"linestyle": "-.", "markerfacecolor": "white"},
    ),
}
BESIDE = {
    "no layer re-initialised": {"color": "#444444", "linestyle": "--", "linewidth": 0.8},
    "majority class": {"color": "#666666", "linestyle": ":"},
    "paper": {"color": "white", "marker": "*", "markersize": 7, "markeredgecolor": "black"},
}
# The control: readings of the way in which the report re-initialised layers.
SCHEMES = {
    "reinit": ("A: σ .02, cut at ±.04", {"color": "#0072B2", "marker": "o"}),
    "reinitb": ("B: σ 1, cut at ±.02", {"color": "#D55E00", "marker": "s"}),
    "reinitc": ("C: σ .02, cut at ±.0004", {"color": "#CC79A7", "marker": "D"}),
    "reinitd": ("D: σ .02, cut at ±.0008", {"color": "#009E73", "marker": "^"}),
}
MEAN, LOSS = "accuracy_and_f1", "loss"
OF_MRPC = {
    "accuracy": "accuracy",
    "f1": "F1",
    MEAN: "mean of both",
    LOSS: "training loss,\nlast epoch",
}
# The columns of the table of MRPC: whose number, and which.
CELLS = [("ours", score) for score in OF_MRPC] + [
    ("published", score) for score in OF_MRPC if score != LOSS
]
LABELS, CELL, ROW = 1.5, 0.95, 0.3  # inches


def runs(inputs: Mapping[str, pd.DataFrame], headline: bool = True) -> pd.DataFrame:
    """Stack every run's scores. `panel` is the plain model, and `run` the replicate. `series` is
    what the path says is done to the model (`reinit`, `reinitb`), with PLATEAU if it trains until
    the loss does not fall.

    A model at the level of the majority class is a result here, and counts.
    """
    kept = []
    for path, table in inputs.items():
        if table.empty:
            raise UserError(f"{path} holds no run; delete it and run its rule again.")
        model, kind = Name.of_row(path)
        series = f"{kind}.{PLATEAU}" if model.variant(PLATEAU) else kind
        rows = table.assign(panel=str(model.without(PLATEAU)), series=series, table=path)
        kept.append(rows[rows["headline"]] if headline else rows)
    rows = pd.concat(kept, ignore_index=True).rename(columns={"metric": "score"})
    run = "init" + rows["init"].astype(str) + "_seed" + rows["seed"].astype(str)
    return rows.assign(run=run)


def means(rows: pd.DataFrame) -> pd.DataFrame:
    """Average over replicates; add each of several replicates (`run`), and the majority class, at
    position 0."""
    mean = numbers.means_of_all(rows, BY, ["panel", "series"])
    made_from = mean.drop(columns=["value", "low", "high", "each", "trained", "failed"])
    single = rows.assign(trained=~rows["failed"].astype(bool))[
        [*BY, "run", "value", "trained", "failed"]
    ]
    single = single.merge(made_from, on=BY)
    constant = rows.drop_duplicates(["panel", "score", "init", "seed"]).dropna(subset="majority")
    constant = statistics.with_value(constant, constant["majority"]).drop(columns="failed")
    constant = constant.assign(series=MAJORITY, position=0)
    constant = numbers.means(constant, BY, ["panel", "score"])
    return numbers.join(mean, single[single["replicates"] > 1], constant, columns=COLUMNS)


def printed(table: pd.DataFrame, published: Mapping) -> Iterator[pd.DataFrame]:
    paper, known, three = (published.get(key, {}) for key in ("paper", "baselines", "figure3"))
    for panel, rows in table.groupby("panel", sort=False):
        task, score, depth = (
            labelling.task_of(panel),
            rows["score"].iloc[0],
            int(rows["layers"].iloc[0]),
        )
        complete = known.get(task, {}).get("correlation" if score in CORRELATIONS else score)
        any_layer = three.get(task, {}).get("any_layer", {}).get(score)
        for entry, positions, value in (
            (known, [depth + 1], complete),
            (three, list(range(1, depth + 1)), any_layer),
        ):
            if value is not None:
                yield numbers.published(
                    entry,
                    paper,
                    panel=panel,
                    series=PAPER,
                    score=score,
                    layers=depth,
                    position=positions,
                    value=value,
                )


def figure3(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw one panel per task; the last place on the axis is the plain model. The paper's numbers
    are of complete models and, for MRPC, the one score of every k."""
    table = means(runs(inputs))
    table = numbers.join(table, *printed(table, published), columns=COLUMNS)
    places = table["panel"].nunique() + 1  # the last one is the legend's
    columns = min(ACROSS, places)
    lines = -(-places // columns)
    figure = style.blank(2.0 * lines)
    for place, (panel, rows) in enumerate(table.groupby("panel", sort=False), 1):
        colour = style.look_of(labelling.task_of(panel))
        looks = {series: (label, colour | look) for series, (label, look) in LINES.items()}
        draw_panel(figure.add_subplot(lines, columns, place), rows, looks)
    grey, series = {"color": "#444444", "marker": "o"}, set(table["series"])
    shown = {
        label: grey | look for name, (label, look) in LINES.items() if name in series
    } | BESIDE
    keys = [Line2D([], [], label=label, **look) for label, look in shown.items()]
    beside = figure.add_subplot(lines, columns, places)
    beside.axis("off")
    beside.legend(handles=keys, loc="center")
    return style.captioned(figure, table, numbers.cited(published, "figure3", table))


def draw_panel(axes: Axes, table: pd.DataFrame, looks: Mapping[str, tuple[str, dict]]) -> None:
    """Draw a line per series, with its label and look, over the first re-initialised layer. Dots
    are replicates; stars stand where the paper has a number."""
    ours, theirs = (table[table["source"] == source] for source in ("ours", "published"))
    depth = int(ours["layers"].max())
    for series, (label, look) in looks.items():
        rows = ours[ours["series"] == series]
        mean, single = rows[rows["run"] == ""], rows[rows["run"] != ""]
        if mean.empty:
            continue
        layers.curve(axes, mean, label, look, "position")
        axes.scatter(
            single["position"], single["value"], s=5, color=look["color"], linewidth=0, alpha=0.6
        )
        plain = mean.set_index("position")["value"][depth + 1]
        axes.axhline(plain, color=look["color"], linewidth=0.8, linestyle="--")
    for value in ours.loc[ours["series"] == MAJORITY, "value"]:
        axes.axhline(value, color="#666666", linewidth=0.9, linestyle=":")
    for point in theirs.itertuples():
        axes.plot(point.position, point.value, linestyle="", zorder=5, **BESIDE["paper"])
    ticks = [*range(1, depth + 1, 1 if depth < 10 else 2 if depth <= 12 else 4), depth + 1]
    axes.set_xticks(ticks, [*ticks[:-1], "none"])
    model, score = ours[["panel", "score"]].iloc[0]
    axes.set(
        xlim=(0.6, depth + 1.6),
        xlabel="first re-initialised layer k",
        title=f"{labelling.label_of(model)} ({labelling.SCORES.get(score, score)})",
    )


def schemes(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw one panel per task, with one line per scheme."""
    table = means(runs(inputs))
    panels = table.groupby("panel", sort=False)
    figure, [line] = style.grid(2.6, columns=len(panels))
    for axes, (_, rows) in zip(line, panels):
        draw_panel(axes, rows, SCHEMES)
    lines = figure.axes[0].get_legend_handles_labels()[0]
    figure.legend(handles=lines, loc="outside upper center", ncols=len(lines))
    return style.captioned(figure, table)


def of_mrpc(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Tabulate accuracy, F1, their mean and the loss of the last epoch by k, and the majority
    class (position 0). Add the paper's scores, and what always saying "paraphrase" gives on the
    development set of MRPC."""
    rows = runs(inputs, headline=False)
    rows = rows[rows["score"].isin(OF_MRPC)]
    run = ["panel", "series", "position", "init", "seed"]
    averaged = [name for name in ("value", "majority", *JACKKNIFE_COLUMNS) if name in rows]
    both = rows.groupby(run, as_index=False)[averaged].mean()
    first = rows.drop_duplicates(run)
    mean = first.drop(columns=averaged).merge(both, on=run).assign(score=MEAN)
    loss = statistics.with_value(first, first["loss"], ranges.POSITIVE).assign(
        score=LOSS, majority=np.nan
    )
    table = means(pd.concat([rows, mean, loss], ignore_index=True))
    return numbers.join(
        table[table["run"] == ""], *printed_of_mrpc(table, published), columns=COLUMNS
    )


def printed_of_mrpc(table: pd.DataFrame, published: Mapping) -> Iterator[pd.DataFrame]:
    """Yield the paper's scores for any k, for none (position L + 1), and for the majority class
    (position 0)."""
    paper, entry = published.get("paper", {}), published.get("figure3", {})
    panels = [panel for panel in table["panel"].unique() if labelling.task_of(panel) == "mrpc"]
    for panel in panels[:1]:
        depth = int(table.loc[table["panel"] == panel, "layers"].iloc[0])
        for key, positions, provenance in (
            ("any_layer", list(range(1, depth + 1)), "printed"),
            ("no_reinit", [depth + 1], "printed"),
            ("majority", [0], "derived"),
        ):
            for score, value in entry.get("mrpc", {}).get(key, {}).items():
                yield numbers.published(
                    entry | {"provenance": provenance, "place": "table of MRPC"},
                    paper,
                    panel=panel,
                    series=PAPER,
                    score=score,
                    layers=depth,
                    position=positions,
                    value=value,
                )


def table_mrpc(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw the first model's scores, a row per first re-initialised layer, with the paper's to the
    right of ours."""
    table = of_mrpc(dict([next(iter(inputs.items()))]), published)
    depth = int(table["layers"].max())
    positions = [*range(1, depth + 2), 0]
    figure, [[axes]] = style.grid(0.75 + ROW * len(positions), width=LABELS + CELL * len(CELLS))
    scores = table[table["score"] != LOSS].set_index(["position", "source", "score"])["value"]
    fills = scores.unstack(["source", "score"]).reindex(index=positions, columns=CELLS).to_numpy()
    across = [
        ("paper,\n" if source == "published" else "") + OF_MRPC[score] for source, score in CELLS
    ]
    down = [f"from layer {k} up" for k in positions[:-2]] + ["no layer", "majority class"]
    grids.coloured_table(axes, fills, across, down, 7, cmap="Blues", vmin=0, vmax=2)
    for row in table.itertuples():
        place = CELLS.index((row.source, row.score)), positions.index(row.position)
        colour = "black" if row.source == "ours" else "#404040"
        number = "{:.3f}".format
        text = f"{number(row.value)}\n{numbers.spread(row, number)}".rstrip()
        axes.text(
            *place, text, ha="center", va="center", fontsize=7, color=colour, linespacing=0.95
        )
    axes.axvline(len(OF_MRPC) - 0.5, color="#808080", linewidth=0.8)
    axes.axhline(depth - 0.5, color="#808080", linewidth=0.8)
    axes.set_title(
        f"{labelling.label_of(table['panel'].iloc[0])}, re-initialised …", pad=4, loc="left"
    )
    return style.captioned(figure, table, identity(table, published))


def identity(table: pd.DataFrame, published: Mapping) -> str:
    """Say for how many k every score of ours equals the majority class's, and that the paper's
    does for any k."""
    ours = table[(table["source"] == "ours") & (table["score"] != LOSS)]
    depth = int(table["layers"].max())
    scores = ours.pivot(index="position", columns="score", values="value")
    apart = (scores.loc[1:depth] - scores.loc[0]).abs().max(axis=1)
    equal = (apart < statistics.EQUAL).sum()
    most = (
        f"; a score differs by up to {apart.max():.4f} (k = {apart.idxmax()})"
        if equal < depth
        else ""
    )
    facts = published["figure3"]["mrpc"]
    return (
        f"Ours equals the majority class, in every score, for {equal} of {depth} k{most}. The"
        f" paper's {facts['any_layer'][MEAN]:.6f} for any k is exactly that class: 279 of 408 are"
        f" paraphrases, and the mean of accuracy {facts['majority']['accuracy']:.5f} and F1"
        f" {facts['majority']['f1']:.5f} is the same number."
    )
