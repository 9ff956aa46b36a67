"""BERT Goes to College: what re-initialising one head does to the score (Figures 5 and 6), by
layer or by head (7 to 10)."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bertshift.figures import grids, numbers, style
from bertshift.rows import labelling, ranges, statistics
from bertshift.rows.blocks import JACKKNIFE_COLUMNS
from bertshift.rows.provenance import ORIGIN

COLUMNS = ["panel", "series", "score", "layer", "head", "sd", "runs", "p", "q", *numbers.VALUES]
BY = COLUMNS[:5]
CMAP, LEVEL = "PiYG", 0.05
DELTA, BASELINE = "delta", "baseline"
CELL = ["panel", "series", "layer", "head"]
STATISTICS = ["count", "mean", "std", "min", "p25", "p50", "p75", "max"]
SPREADLESS = ["count", "std"]  # no differences, so that they have no colour
EXACT = 0.00105  # the paper prints three decimals, some cut and some rounded
CALCULATED = "derived"


def deltas(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Select the headline rows of results/reinit_heads; `value` is the difference from the mean of
    the baselines."""
    rows = pd.concat(
        [table.assign(table=path) for path, table in inputs.items()], ignore_index=True
    )
    rows = rows[rows["headline"]]
    return rows.assign(panel=rows["model"], series=DELTA, value=rows["delta"])


def failures(rows: pd.DataFrame) -> str:
    """Write sentences on the runs among `deltas` and the baselines that failed to train; empty if
    none did."""
    baselines = rows.drop_duplicates(["model", "init"])
    left_out, all_failed = baselines["baseline_left_out"].sum(), baselines["baseline_failed"].any()
    said = [
        (
            f"{rows['failed'].sum()} of {len(rows)} runs with a head re-initialised failed to"
            " train and count as they are."
            if rows["failed"].any()
            else ""
        ),
        f"Left out of the baselines: {left_out} that failed to train." if left_out else "",
        "Every baseline of a pretraining run failed to train." if all_failed else "",
    ]
    return " ".join(filter(None, said))


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping, key: str) -> pd.DataFrame:
    """Tabulate differences by layer and head with their p and q (the largest of any pretraining
    run). Add the baselines (layer 0), with the sd between their seeds and their number, and the
    paper's panel, the figure `key` of its file."""
    rows = deltas(inputs)
    # A model at the level of the majority class is a result here.
    mean = numbers.means_of_all(rows, BY, ["panel"])
    chance = rows.groupby(BY, as_index=False)[["p", "q"]].agg(lambda p: p.max(skipna=False))
    base = rows.drop_duplicates(["panel", "init"]).assign(series=BASELINE, layer=0, head=0)
    base = statistics.with_value(
        base, base["baseline"], ranges.of(base.assign(metric=base["score"])).T
    )
    used, all_failed = base["baseline_n"], base["baseline_failed"].astype(bool)
    counts = {
        "trained": used.where(~all_failed, 0),
        "failed": base["baseline_left_out"].where(~all_failed, used),
    }
    about = (
        base.assign(**counts)
        .groupby(BY, as_index=False)
        .agg(
            sd=("baseline_sd", "mean"),
            runs=("baseline_n", "sum"),
            trained=("trained", "sum"),
            failed=("failed", "sum"),
        )
    )
    base = numbers.means(base.drop(columns="failed"), BY, ["panel"]).drop(columns=list(counts))
    base = base.merge(about, on=BY)
    return numbers.join(
        mean.merge(chance, on=BY), base, *printed(rows, published, key), columns=COLUMNS
    )


def printed(rows: pd.DataFrame, published: Mapping, key: str) -> Iterator[pd.DataFrame]:
    """Yield the paper's differences and its one baseline."""
    paper, entry = published.get("paper", {}), published.get(key, {})
    for panel in beside(rows, entry):
        facts = {"panel": panel, "score": entry["metric"]}
        yield numbers.published(
            entry, paper, series=BASELINE, value=entry["baseline"], runs=1, **facts
        )
        yield numbers.published(
            entry, paper, series=DELTA, **facts, **cells_of(entry).to_dict("list")
        )


def beside(rows: pd.DataFrame, entry: Mapping) -> list[str]:
    """Find the panel beside which the paper's numbers stand: the first model of the same task, if
    there is one."""
    return [
        panel for panel in rows["panel"].unique() if labelling.task_of(panel) == entry.get("task")
    ][:1]


def cells_of(entry: Mapping, down: str = "layer", across: str = "head") -> pd.DataFrame:
    """List every number of a table that the paper prints, row by row, in the columns `down`,
    `across` and `value`.

    `layer` and `head` are numbers, counted from 1; `series` is a statistic.
    """
    return pd.DataFrame(
        {
            down: int(name.removeprefix("layer_")) if down == "layer" else name,
            across: other,
            "value": value,
        }
        for name, values in entry["rows"].items()
        for other, value in zip(
            range(1, len(values) + 1) if across == "head" else entry["columns"], values
        )
    )


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping, key: str) -> style.Drawn:
    """Draw a heat map of layers x heads with its numbers, and the paper's below it."""
    table = tidy(inputs, published, key)
    parts = [
        part
        for _, panel in table.groupby("panel", sort=False)
        for _, part in panel.groupby("source")
    ]
    heights = [part.loc[part["layer"] > 0, "layer"].nunique() for part in parts]
    height = 0.55 * len(parts) + 0.25 * sum(heights)
    figure, grid = style.grid(height, len(parts), height_ratios=heights)
    grid = grid[:, 0]
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
        axes,
        grid["value"],
        cmap=CMAP,
        vmin=-largest,
        vmax=largest,
        linecolor="white",
        linewidths=0.5,
        annot=grid["text"],
        fmt="",
        annot_kws={"fontsize": 7},
        xticklabels=list(grid["value"]),
        yticklabels=[f"layer {layer}" for layer in grid.index],
    )
    axes.tick_params(length=0, rotation=0)
    ticks = [-largest, 0, largest]
    bar = figure.colorbar(axes.collections[0], ax=axes, fraction=0.025, pad=0.01, ticks=ticks)
    bar.ax.set_yticklabels(map(short, ticks), fontsize=7)
    bar.outline.set_linewidth(0.4)


def title(part: pd.DataFrame, same: bool) -> str:
    """Write the title of a panel. `same`: the paper's numbers are of the same heads as ours."""
    base = part[part["series"] == BASELINE].iloc[0]
    score = labelling.SCORES.get(base["score"], base["score"])
    if base["source"] == "published":
        other = "" if same else "; other heads or another model, not comparable"
        return f"Paper: {score}, one baseline of {short(base['value'])}{other}"
    sd = f" ± {short(base['sd'])} (sd)" if np.isfinite(base["sd"]) else ""
    return (
        f"{labelling.label_of(base['panel'])}, ours: {score}, {base['runs']:.0f} baselines of"
        f" {short(base['value'])}{sd}"
    )


def comparable(table: pd.DataFrame) -> bool:
    """Tell whether our numbers and the paper's are of the same layers and heads of the same
    checkpoint."""
    both = [set(zip(part["layer"], part["head"])) for _, part in table.groupby("source")]
    ours, theirs = (
        table.loc[table["source"] == source, "checkpoint"] for source in ("ours", "published")
    )
    named = len(theirs) and ours.str.contains(theirs.iloc[0], regex=False).all()
    return bool(len(both) == 2 and both[0] == both[1] and named)


def short(value: float) -> str:
    """Write a number with three decimals, without the 0 before them."""
    text = f"{value:.3f}".replace("0.", ".", 1).replace("-", "−")
    return "0" if float(f"{value:.3f}") == 0 else text


def by_chance(table: pd.DataFrame) -> str:
    """Say how many heads have a star, beside how many of as many other seeds would."""
    tested = table[(table["source"] == "ours") & (table["series"] == DELTA) & table["p"].notna()]
    if tested.empty:
        return ""
    found, chance = (tested["p"] <= LEVEL).sum(), LEVEL * len(tested)
    return f"Of {len(tested)} heads tested {found} have a star; {chance:.2g} would by chance."


def summaries(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Summarise `value`, and the values without each block, by `by` and by `series`, which names
    the statistic. Standard deviations have ddof 1 (none of one value), quartiles are linear."""
    groups = rows.groupby(by, sort=False)[
        ["value", *(name for name in JACKKNIFE_COLUMNS if name in rows)]
    ]
    found = {
        "count": groups.count(),
        "mean": groups.mean(),
        "std": groups.std(),
        "min": groups.min(),
        "max": groups.max(),
        **{f"p{percent}": groups.quantile(percent / 100) for percent in (25, 50, 75)},
    }
    return (
        pd.concat(found, axis=1, names=["series"])
        .stack("series")
        .dropna(subset="value")
        .reset_index()
    )


def tidy_summaries(
    inputs: Mapping[str, pd.DataFrame], published: Mapping, key: str, of: str, by: str
) -> pd.DataFrame:
    """Summarise each replicate, and average over replicates. Add the paper's figure `key` as it is
    printed, and as the paper's differences in its figure `of` give it (provenance `derived`)."""
    rows = deltas(inputs)
    ours = summaries(rows, ["panel", "init", "seed", *ORIGIN, "table", by])
    ours = ours.assign(**{"head" if by == "layer" else "layer": 0})
    ours.loc[ours["series"].isin(SPREADLESS), ranges.ENDS[0]] = 0.0
    ours = numbers.means(ours, CELL, ["panel"])
    counts = numbers.runs_of(rows, ["panel", "layer", "head"]).groupby(["panel", by]).sum()
    ours = ours.drop(columns=list(counts)).join(counts, on=["panel", by])
    return numbers.join(
        ours, *printed_summaries(rows, published, key, of, by), columns=[*CELL, *numbers.VALUES]
    )


def printed_summaries(
    rows: pd.DataFrame, published: Mapping, key: str, of: str, by: str
) -> Iterator[pd.DataFrame]:
    paper, entry, source = (published.get(name, {}) for name in ("paper", key, of))
    for panel in beside(rows, entry):
        derived = entry | {
            "provenance": CALCULATED,
            "place": f"{entry['place']}, from {source['place']}",
        }
        down, across = ("layer", "series") if by == "layer" else ("series", "head")
        for facts, cells in (
            (derived, summaries(cells_of(source), [by])),
            (entry, cells_of(entry, down, across)),
        ):
            yield numbers.published(facts, paper, panel=panel, **cells.to_dict("list"))


def draw_summaries(
    inputs: Mapping[str, pd.DataFrame], published: Mapping, key: str, of: str, by: str
) -> style.Drawn:
    """Draw a table of ours and, below it, the paper's, shaped as in the paper: layers down, or
    heads across."""
    table = tidy_summaries(inputs, published, key, of, by)
    parts = []
    for panel, rows in table.groupby("panel", sort=False):
        parts.append((f"{labelling.label_of(panel)}, ours", rows[rows["source"] == "ours"]))
        if (rows["source"] == "published").any():
            other = "" if comparable(rows) else f"; other {by}s or another model, not comparable"
            parts.append((f"Paper{other}", with_derived(rows)))
    heights = [part[by].nunique() if by == "layer" else len(STATISTICS) for _, part in parts]
    height = 0.5 * len(parts) + 0.24 * sum(heights)
    figure, grid = style.grid(height, len(parts), height_ratios=heights)
    for axes, (title, part) in zip(grid[:, 0], parts, strict=True):
        draw_table(axes, part, by)
        axes.set_title(title, loc="left", pad=3 if by == "head" else 14)
    return style.captioned(figure, table, corrections(table, by), failures(deltas(inputs)))


def draw_table(axes: Axes, part: pd.DataFrame, by: str) -> None:
    """Draw the summaries of `part`, with † where they differ from its column `derived`, if it has
    one."""
    wrong = differs(part) if "derived" in part else False
    texts = (
        part["value"]
        .map(number)
        .where(part["series"] != "count", part["value"].map("{:g}".format))
    )
    cells = part.assign(text=texts + np.where(wrong, " †", ""))
    values, texts = (
        cells.pivot(index=by, columns="series", values=name).reindex(columns=STATISTICS)
        for name in ("value", "text")
    )
    values[SPREADLESS] = np.nan
    largest = 1.3 * max(values.abs().max(axis=None), 1e-4)
    across, down = STATISTICS, [f"layer {layer}" for layer in values.index]
    if by == "head":
        values, texts, across, down = values.T, texts.T, list(map(str, values.index)), STATISTICS
    look = {"cmap": CMAP, "vmin": -largest, "vmax": largest, "edgecolors": "white"}
    grids.coloured_table(axes, values.to_numpy(float), across, down, 7, **look)
    for (y, x), text in np.ndenumerate(texts.fillna("–").to_numpy()):
        axes.text(x, y, text, ha="center", va="center", fontsize=7)


def number(value: float) -> str:
    """Write a number with three decimals, or five for what is 0 in three but not in five."""
    text = short(value)
    if text == "0" and round(value, 5):
        text = f"{value:.5f}".rstrip("0").replace("0.", ".", 1).replace("-", "−")
    return text


def with_derived(table: pd.DataFrame) -> pd.DataFrame:
    """Select the paper's cells as printed; add as `derived` what the paper's own differences
    give."""
    theirs = table[table["source"] == "published"]
    calculated = theirs["provenance"] == CALCULATED
    derived = theirs[calculated].rename(columns={"value": "derived"})
    return theirs[~calculated].merge(derived[[*CELL, "derived"]], on=CELL, how="left")


def differs(cells: pd.DataFrame) -> pd.Series:
    return (cells["value"] - cells["derived"]).abs() > EXACT


def corrections(table: pd.DataFrame, by: str) -> str:
    """Write a sentence on the paper's cells that do not follow from its differences; empty if all
    do."""
    cells = with_derived(table)
    said = [
        f"{row.series} of {by} {getattr(row, by)} {row.derived:.4f}".replace("-", "−")
        for row in cells[differs(cells)].itertuples()
    ]
    return f"† Not what the paper's differences give: {', '.join(said)}." if said else ""
