"""What re-initialising one head does to the score, shared by Figures 5 and 6 of BERT Goes to College."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bertshift.figures import grids, numbers, style
from bertshift.rows import statistics

COLUMNS = ["panel", "series", "score", "layer", "head", "sd", "runs", "p", "q", *numbers.VALUES]
BY = COLUMNS[:5]
CMAP, LEVEL = "PiYG", 0.05
DELTA, BASELINE = "delta", "baseline"


def deltas(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The headline rows of results/reinit_heads, `value` being the difference to the mean of the baselines."""
    rows = pd.concat([table.assign(table=path) for path, table in inputs.items()], ignore_index=True)
    rows = rows[rows["headline"]]
    return rows.assign(panel=rows["model"], series=DELTA, value=rows["delta"])


def failures(rows: pd.DataFrame) -> str:
    """A sentence on the runs among `deltas` that failed to train, and on failed baselines; empty if there are none."""
    baselines = rows.drop_duplicates(["model", "init"])
    left_out, all_failed = baselines["baseline_left_out"].sum(), baselines["baseline_failed"].any()
    said = [
        f"{rows['failed'].sum()} of {len(rows)} runs with a head re-initialised failed to train and count as they are."
        if rows["failed"].any() else "",
        f"Left out of the baselines: {left_out} that failed to train." if left_out else "",
        "Every baseline of a pretraining run failed to train." if all_failed else "",
    ]  # fmt: skip
    return " ".join(filter(None, said))


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping, key: str) -> pd.DataFrame:
    """Differences by layer and head, their p and q (the largest of any pretraining run); the baselines (layer 0), with
    the sd between their seeds and how many they are; and the paper's panel, the figure `key` of its file."""
    rows = deltas(inputs)
    # A model at the level of the majority class is a result here.
    mean = numbers.means(rows.drop(columns="failed"), BY, ["panel"])
    chance = rows.groupby(BY, as_index=False)[["p", "q"]].agg(lambda p: p.max(skipna=False))
    base = rows.drop_duplicates(["panel", "init"]).assign(series=BASELINE, layer=0, head=0)
    base = statistics.with_value(base, base["baseline"])
    about = base.groupby(BY, as_index=False).agg(sd=("baseline_sd", "mean"), runs=("baseline_n", "sum"))
    base = numbers.means(base.drop(columns="failed"), BY, ["panel"]).merge(about, on=BY)
    return numbers.join(mean.merge(chance, on=BY), base, *printed(rows, published, key), columns=COLUMNS)


def printed(rows: pd.DataFrame, published: Mapping, key: str) -> Iterator[pd.DataFrame]:
    """The paper's differences and its one baseline."""
    paper, entry = published.get("paper", {}), published.get(key, {})
    for panel in beside(rows, entry):
        facts = {"panel": panel, "score": entry["metric"]}
        yield numbers.published(entry, paper, series=BASELINE, value=entry["baseline"], runs=1, **facts)
        yield numbers.published(entry, paper, series=DELTA, **facts, **cells_of(entry).to_dict("list"))


def beside(rows: pd.DataFrame, entry: Mapping) -> list[str]:
    """The panel beside which the paper's numbers stand: the first model of the same task, if there is one."""
    return [panel for panel in rows["panel"].unique() if style.task_of(panel) == entry.get("task")][:1]


def cells_of(entry: Mapping, down: str = "layer", across: str = "head") -> pd.DataFrame:
    """Columns `down`, `across` and `value`: every number of a table that the paper prints, row by row.

    `layer` and `head` are numbers, counted from 1; `series` is a statistic.
    """
    return pd.DataFrame(
        {down: int(name.removeprefix("layer_")) if down == "layer" else name, across: other, "value": value}
        for name, values in entry["rows"].items()
        for other, value in zip(range(1, len(values) + 1) if across == "head" else entry["columns"], values)
    )


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping, key: str) -> style.Drawn:
    """A heat map of layers x heads with its numbers, and the paper's below it."""
    table = tidy(inputs, published, key)
    parts = [part for _, panel in table.groupby("panel", sort=False) for _, part in panel.groupby("source")]
    heights = [part.loc[part["layer"] > 0, "layer"].nunique() for part in parts]
    figure = Figure((style.TEXT_WIDTH, 0.55 * len(parts) + 0.25 * sum(heights)), layout="constrained")
    grid = figure.subplots(len(parts), 1, height_ratios=heights, squeeze=False)[:, 0]
    for axes, part in zip(grid, parts, strict=True):
        draw_cells(figure, axes, part[part["series"] == DELTA])
        axes.set_title(title(part, comparable(table)), loc="left", pad=3)
    grid[-1].set_xlabel("head")
    said = by_chance(table), failures(deltas(inputs)), numbers.cited(published, key, table)
    figure, _, caption = style.captioned(figure, table[table["series"] == DELTA], *said)
    return figure, table, caption


def draw_cells(figure: Figure, axes: Axes, cells: pd.DataFrame) -> None:
    stars = np.select([cells["q"] <= LEVEL, cells["p"] <= LEVEL], ["**", "*"], "")
    cells = cells.assign(text=cells["value"].map(short) + stars)
    grid = cells.set_index(["layer", "head"])[["value", "text"]].unstack()
    largest = max(cells["value"].abs().max(), 1e-4)
    grids.heat_map(
        axes, grid["value"], cmap=CMAP, vmin=-largest, vmax=largest, linecolor="white", linewidths=0.5, annot=grid["text"],
        fmt="", annot_kws={"fontsize": 7}, xticklabels=list(grid["value"]),
        yticklabels=[f"layer {layer}" for layer in grid.index],
    )  # fmt: skip
    axes.tick_params(length=0, rotation=0)
    ticks = [-largest, 0, largest]
    bar = figure.colorbar(axes.collections[0], ax=axes, fraction=0.025, pad=0.01, ticks=ticks)
    bar.ax.set_yticklabels(map(short, ticks), fontsize=7)
    bar.outline.set_linewidth(0.4)


def title(part: pd.DataFrame, same: bool) -> str:
    """`same`: the paper's numbers are of the same heads as ours."""
    base = part[part["series"] == BASELINE].iloc[0]
    score = style.SCORES.get(base["score"], base["score"])
    if base["source"] == "published":
        other = "" if same else "; other heads or another model, not comparable"
        return f"Paper: {score}, one baseline of {short(base['value'])}{other}"
    sd = f" ± {short(base['sd'])} (sd)" if np.isfinite(base["sd"]) else ""
    return f"{style.label_of(base['panel'])}, ours: {score}, {base['runs']:.0f} baselines of {short(base['value'])}{sd}"


def comparable(table: pd.DataFrame) -> bool:
    """Whether ours and the paper's are the same layers and heads of the same checkpoint."""
    both = [set(zip(part["layer"], part["head"])) for _, part in table.groupby("source")]
    ours, theirs = (table.loc[table["source"] == source, "checkpoint"] for source in ("ours", "published"))
    named = len(theirs) and ours.str.contains(theirs.iloc[0], regex=False).all()
    return bool(len(both) == 2 and both[0] == both[1] and named)


def short(value: float) -> str:
    """Three decimals without the 0 before them."""
    text = f"{value:.3f}".replace("0.", ".", 1).replace("-", "−")
    return "0" if float(f"{value:.3f}") == 0 else text


def by_chance(table: pd.DataFrame) -> str:
    """How many heads have a star, beside how many of as many other seeds would."""
    tested = table[(table["source"] == "ours") & (table["series"] == DELTA) & table["p"].notna()]
    if tested.empty:
        return ""
    found, chance = (tested["p"] <= LEVEL).sum(), LEVEL * len(tested)
    return f"Of {len(tested)} heads tested {found} have a star; {chance:.2g} would by chance."
