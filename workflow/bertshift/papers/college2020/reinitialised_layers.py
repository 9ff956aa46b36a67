"""Scores with the upper layers re-initialised, shared by the figures of BERT Goes to College that show them."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes

from bertshift.errors import UserError
from bertshift.figures import layers, numbers, style

COLUMNS = ["panel", "series", "score", "position", "layers", "run", *numbers.VALUES]
BY = COLUMNS[:5]
PLATEAU = ".plateau"
MAJORITY = "majority"


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


def tidy(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over replicates, each replicate where there are several (`run`), and the majority class, at position 0."""
    mean = numbers.means(rows, BY, ["panel", "series"])
    made_from = mean.drop(columns=["value", "low", "high"])
    single = rows[[*BY, "run", "value"]].merge(made_from, on=BY)
    constant = rows.drop_duplicates(["panel", "init", "seed"])
    constant = constant.assign(value=constant["majority"], series=MAJORITY, position=0)
    constant = numbers.means(constant[constant["value"].notna()], BY, ["panel"])
    return numbers.join(mean, single[single["replicates"] > 1], constant, columns=COLUMNS)


def draw_panel(axes: Axes, table: pd.DataFrame, labels: Mapping[str, str], looks: Mapping[str, dict]) -> None:
    """A line per series over the first re-initialised layer, dots for replicates; stars where the paper has a number."""
    ours = table[table["source"] == "ours"]
    depth = int(ours["layers"].max())
    for series, look in looks.items():
        rows = ours[ours["series"] == series]
        mean, single = rows[rows["run"] == ""], rows[rows["run"] != ""]
        if mean.empty:
            continue
        layers.curve(axes, mean, labels.get(series, series), look, "position")
        axes.scatter(single["position"], single["value"], s=5, color=look["color"], linewidth=0, alpha=0.6)
        axes.axhline(
            mean.loc[mean["position"] == depth + 1, "value"].iloc[0], color=look["color"], linewidth=0.8,
            linestyle="--"
        )  # fmt: skip
    for row in ours[ours["series"] == MAJORITY].itertuples():
        axes.axhline(row.value, color="#666666", linewidth=0.9, linestyle=":")
    for point in table[table["source"] == "published"].itertuples():
        axes.plot(
            point.position, point.value, "*", markersize=7, color="white", markeredgecolor="black", zorder=5
        )
    step = 1 if depth < 10 else 2 if depth <= 12 else 4
    ticks = [*range(1, depth + 1, step), depth + 1]
    axes.set_xticks(ticks, [*map(str, ticks[:-1]), "none"])
    axes.set_xlim(0.6, depth + 1.6)
    axes.set_title(title(ours))
    axes.set_xlabel("first re-initialised layer k")


def title(rows: pd.DataFrame) -> str:
    score = rows["score"].iloc[0]
    return f"{style.label_of(rows['panel'].iloc[0])} ({style.SCORES.get(score, score)})"
