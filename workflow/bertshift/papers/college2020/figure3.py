"""BERT Goes to College, Figure 3: scores with layers k and up re-initialised.

`schemes` and `table_mrpc` show rows of the same kind, and use what stands here.
"""

from collections.abc import Iterator, Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bertshift.errors import UserError
from bertshift.figures import layers, numbers, style
from bertshift.rows import statistics

COLUMNS = ["panel", "series", "score", "position", "layers", "run", *numbers.VALUES]
BY = COLUMNS[:5]
PLATEAU = ".plateau"
MAJORITY, PAPER = "majority", "paper"
CORRELATIONS = ("pearson", "spearman")
ACROSS = 3
# The label of each series, and how its line differs from others of the task's colour.
LINES = {
    "reinit": ("fine-tuned as the plain model", {}),
    "reinit.plateau": ("until the loss is on a plateau", {"linestyle": "-.", "markerfacecolor": "white"}),
}
BESIDE = {
    "no layer re-initialised": {"color": "#444444", "linestyle": "--", "linewidth": 0.8},
    "majority class": {"color": "#666666", "linestyle": ":"},
    "paper": {"color": "white", "marker": "*", "markersize": 7, "markeredgecolor": "black"},
}


def runs(inputs: Mapping[str, pd.DataFrame], headline: bool = True) -> pd.DataFrame:
    """Every run's scores: `panel` is the plain model, `series` what the path says is done to it (`reinit`, `reinitb`),
    with PLATEAU if it trains until the loss does not fall; `run` its replicate.

    A model at the level of the majority class is a result here, not a failure.
    """
    kept = []
    for path, table in inputs.items():
        if table.empty:
            raise UserError(f"{path} holds no run; delete it and run its rule again.")
        model, kind = min(table["model"], key=len), path.removesuffix(".tsv").rpartition(".")[2]
        series = kind + PLATEAU * (PLATEAU in model)
        rows = table.assign(panel=model.replace(PLATEAU, ""), series=series, table=path)
        kept.append(rows[rows["headline"]] if headline else rows)
    rows = pd.concat(kept, ignore_index=True).rename(columns={"metric": "score"})
    run = "init" + rows["init"].astype(str) + "_seed" + rows["seed"].astype(str)
    return rows.assign(run=run).drop(columns="failed", errors="ignore")


def means(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over replicates, each replicate where there are several (`run`), and the majority class, at position 0."""
    mean = numbers.means(rows, BY, ["panel", "series"])
    made_from = mean.drop(columns=["value", "low", "high"])
    single = rows[[*BY, "run", "value"]].merge(made_from, on=BY)
    constant = rows.drop_duplicates(["panel", "score", "init", "seed"]).dropna(subset="majority")
    constant = statistics.with_value(constant, constant["majority"]).assign(series=MAJORITY, position=0)
    constant = numbers.means(constant, BY, ["panel", "score"])
    return numbers.join(mean, single[single["replicates"] > 1], constant, columns=COLUMNS)


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Our rows, and the paper's numbers: complete models, and of MRPC the one score of every k."""
    table = means(runs(inputs))
    return numbers.join(table, *printed(table, published), columns=COLUMNS)


def printed(table: pd.DataFrame, published: Mapping) -> Iterator[pd.DataFrame]:
    paper, known, three = (published.get(key, {}) for key in ("paper", "baselines", "figure3"))
    for panel, rows in table.groupby("panel", sort=False):
        task, score, depth = style.task_of(panel), rows["score"].iloc[0], int(rows["layers"].iloc[0])
        complete = known.get(task, {}).get("correlation" if score in CORRELATIONS else score)
        any_layer = three.get(task, {}).get("any_layer", {}).get(score)
        for entry, positions, value in (
            (known, [depth + 1], complete), (three, list(range(1, depth + 1)), any_layer)
        ):  # fmt: skip
            if value is not None:
                yield numbers.published(entry, paper, panel=panel, series=PAPER, score=score, layers=depth,
                                        position=positions, value=value)  # fmt: skip


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """One panel per task; the last place on the axis is the plain model."""
    table = tidy(inputs, published)
    places = table["panel"].nunique() + 1  # the last one is the legend's
    columns = min(ACROSS, places)
    lines = -(-places // columns)
    figure = Figure((style.TEXT_WIDTH, 2.0 * lines), layout="constrained")
    for place, (panel, rows) in enumerate(table.groupby("panel", sort=False), 1):
        colour = style.look_of(style.task_of(panel))
        looks = {series: (label, colour | look) for series, (label, look) in LINES.items()}
        draw_panel(figure.add_subplot(lines, columns, place), rows, looks)
    grey, series = {"color": "#444444", "marker": "o"}, set(table["series"])
    shown = {label: grey | look for name, (label, look) in LINES.items() if name in series} | BESIDE
    keys = [Line2D([], [], label=label, **look) for label, look in shown.items()]
    beside = figure.add_subplot(lines, columns, places)
    beside.axis("off")
    beside.legend(handles=keys, loc="center")
    return style.captioned(figure, table, numbers.cited(published, "figure3", table))


def draw_panel(axes: Axes, table: pd.DataFrame, looks: Mapping[str, tuple[str, dict]]) -> None:
    """A line per series, with its label and look, over the first re-initialised layer; dots for replicates, stars where
    the paper has a number."""
    ours, theirs = (table[table["source"] == source] for source in ("ours", "published"))
    depth = int(ours["layers"].max())
    for series, (label, look) in looks.items():
        rows = ours[ours["series"] == series]
        mean, single = rows[rows["run"] == ""], rows[rows["run"] != ""]
        if mean.empty:
            continue
        layers.curve(axes, mean, label, look, "position")
        axes.scatter(single["position"], single["value"], s=5, color=look["color"], linewidth=0, alpha=0.6)
        plain = mean.set_index("position")["value"][depth + 1]
        axes.axhline(plain, color=look["color"], linewidth=0.8, linestyle="--")
    for value in ours.loc[ours["series"] == MAJORITY, "value"]:
        axes.axhline(value, color="#666666", linewidth=0.9, linestyle=":")
    for point in theirs.itertuples():
        axes.plot(point.position, point.value, linestyle="", zorder=5, **BESIDE["paper"])
    ticks = [*range(1, depth + 1, 1 if depth < 10 else 2 if depth <= 12 else 4), depth + 1]
    axes.set_xticks(ticks, [*ticks[:-1], "none"])
    score = ours["score"].iloc[0]
    axes.set(
        xlim=(0.6, depth + 1.6), xlabel="first re-initialised layer k",
        title=f"{style.label_of(ours['panel'].iloc[0])} ({style.SCORES.get(score, score)})",
    )  # fmt: skip
