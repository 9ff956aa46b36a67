"""BERT Goes to College: the score with one head re-initialised (Figures 5 and 6), summarised by
layer or by head (7 to 10)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bertshift.figures import grids, numbers, style
from bertshift.rows import labelling, ranges
from bertshift.rows.provenance import ORIGIN
from bertshift.rows.table import Table, concat

BY = ["panel", "series", "score", "layer", "head"]
COLUMNS = [*BY, "sd", "runs", "p", "q", *numbers.VALUES]
CMAP, LEVEL = "PiYG", 0.05
DELTA, BASELINE = "delta", "baseline"
CELL = ["panel", "series", "layer", "head"]
QUARTILES = {"p25": 0.25, "p50": 0.5, "p75": 0.75}
FOR_QUARTILES = 4  # numbers; of fewer they would say no more than the least and the largest
STATISTICS = ["count", "mean", "std", "min", "p25", "p50", "p75", "max"]
NOT_DIFFERENCES = ["count", "std"]  # without a colour
EXACT = 0.00105  # the paper prints three decimals, some cut and some rounded
CALCULATED = "derived"
REPORTED = (
    "; below ours are its differences to its one plain run. Heads of the same number in two models"
    " are not the same head"
)
SUMMARISED = "; below ours are its summaries, each of one run"


def deltas(inputs: Mapping[str, Table]) -> Table:
    """Select the headline rows of results/reinit_heads; `value` is the difference from the mean of
    the baselines, whose noise all seeds share."""
    measured = concat(table.assign(table=path) for path, table in inputs.items())
    measured = measured.where(measured["headline"])
    rows = measured.rows
    variance = (rows["baseline_sd"] ** 2 / rows["baseline_n"]).fillna(0)
    freedom = (rows["baseline_n"] - 1).clip(lower=1)
    measured = replace(measured, shared=np.column_stack([variance, freedom]))
    return measured.assign(panel=rows["model"], series=DELTA, value=rows["delta"])


def failures(rows: pd.DataFrame) -> str:
    """Write sentences on the runs among `deltas` and the baselines that failed to train; empty if
    none did."""
    baselines = rows.drop_duplicates(["model", "init"])
    left_out = baselines["baseline_left_out"].sum()
    sentences = []
    if rows["failed"].any():
        sentences.append(
            f"{rows['failed'].sum()} of {len(rows)} runs with a head re-initialised failed to"
            " train and count as they are."
        )
    if left_out:
        sentences.append(f"Left out of the baselines: {left_out} that failed to train.")
    if baselines["baseline_failed"].any():
        sentences.append("Every baseline of a pretraining run failed to train.")
    return " ".join(sentences)


def tidy(inputs: Mapping[str, Table], published: Mapping, key: str) -> pd.DataFrame:
    """Tabulate differences by layer and head with their p and q (the largest of any pretraining
    run). Add the baselines (layer 0), with the sd between their seeds and their number, and the
    paper's panel, the figure `key` of its file."""
    measured = deltas(inputs)
    rows = measured.rows
    # A model at the level of the majority class is a result here.
    mean = numbers.means_of_all(measured, BY, ["panel"])
    chance = rows.groupby(BY, as_index=False)[["p", "q"]].agg(lambda p: p.max(skipna=False))
    mean = mean.merge(chance, on=BY)
    paper = read_published(rows, published, key)
    return numbers.join(mean, average_baselines(measured), *paper, columns=COLUMNS)


def average_baselines(measured: Table) -> pd.DataFrame:
    """Average the baselines over pretraining runs, and count their runs."""
    baselines = measured.rows.drop_duplicates(["panel", "init"])
    baselines = baselines.assign(series=BASELINE, layer=0, head=0)
    bounds = ranges.of(baselines.assign(metric=baselines["score"])).T
    used = baselines["baseline_n"]
    all_failed = baselines["baseline_failed"].astype(bool)
    counts = baselines.assign(
        trained=used.where(~all_failed, 0),
        failed=baselines["baseline_left_out"].where(~all_failed, used),
    )
    counts = counts.groupby(BY, as_index=False).agg(
        sd=("baseline_sd", "mean"),
        runs=("baseline_n", "sum"),
        trained=("trained", "sum"),
        failed=("failed", "sum"),
    )
    own = measured.keep(baselines.drop(columns="failed"))
    mean = numbers.means(own.with_value(baselines["baseline"], bounds), BY, ["panel"])
    return mean.drop(columns=["trained", "failed"]).merge(counts, on=BY)


def read_published(rows: pd.DataFrame, published: Mapping, key: str) -> Iterator[pd.DataFrame]:
    """Yield the paper's differences and its one baseline."""
    paper, entry = published["paper"], published[key]
    panel = panel_of_task(rows, entry["task"])
    if panel is None:
        return
    facts = {"panel": panel, "score": entry["metric"]}
    yield numbers.published(
        entry,
        paper,
        series=BASELINE,
        value=entry["baseline"],
        runs=1,
        **facts,
    )
    cells = cells_of(entry).to_dict("list")
    yield numbers.published(entry, paper, series=DELTA, **facts, **cells)


def panel_of_task(rows: pd.DataFrame, task: str) -> str | None:
    """Find the first model of a task, if there is one: the paper's numbers lie beside it."""
    for panel in rows["panel"].unique():
        if labelling.task_of(panel) == task:
            return panel
    return None


def cells_of(entry: Mapping, down: str = "layer", across: str = "head") -> pd.DataFrame:
    """List every number of a table that the paper prints, row by row, in the columns `down`,
    `across` and `value`.

    `layer` and `head` are numbers, counted from 1; `series` is a statistic.
    """
    cells = []
    for name, values in entry["rows"].items():
        row = int(name.removeprefix("layer_")) if down == "layer" else name
        heads = range(1, len(values) + 1)
        columns = heads if across == "head" else entry["columns"]
        for column, value in zip(columns, values):
            cells.append({down: row, across: column, "value": value})
    return pd.DataFrame(cells)


def draw(inputs: Mapping[str, Table], published: Mapping, key: str) -> style.Drawn:
    """Draw a heat map of layers x heads with its numbers, and the paper's below it."""
    table = tidy(inputs, published, key)
    parts = []
    for _, panel in table.groupby("panel", sort=False):
        parts += [part for _, part in panel.groupby("source")]
    heights = [part.query("layer > 0")["layer"].nunique() for part in parts]
    height = 0.55 * len(parts) + 0.25 * sum(heights)
    figure, grid = style.grid(height, len(parts), height_ratios=heights)
    column = grid[:, 0]
    is_comparable = comparable(table)
    for axes, part in zip(column, parts, strict=True):
        draw_cells(figure, axes, part[part["series"] == DELTA])
        axes.set_title(write_title(part, is_comparable), loc="left", pad=3)
    column[-1].set_xlabel("head")
    figure, _, caption = style.captioned(
        figure,
        table[table["series"] == DELTA],
        by_chance(table),
        failures(deltas(inputs).rows),
        numbers.cited(published, key, table, REPORTED),
        with_intervals=table[:0],
    )
    return figure, table, caption


def draw_cells(figure: Figure, axes: Axes, cells: pd.DataFrame) -> None:
    """Draw each head's difference with its stars, and a colour bar."""
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


def write_title(part: pd.DataFrame, is_comparable: bool) -> str:
    """Write the title of a panel; `is_comparable` if the paper's heads are the same as ours."""
    base = part[part["series"] == BASELINE].iloc[0]
    score = labelling.SCORES.get(base["score"], base["score"])
    value = short(base["value"])
    if base["source"] == "published":
        warning = "" if is_comparable else "; other heads or another model, not comparable"
        return f"Paper: {score}, one baseline of {value}{warning}"
    sd = f" ± {short(base['sd'])} (sd)" if np.isfinite(base["sd"]) else ""
    model = labelling.label_of(base["panel"])
    return f"{model}, ours: {score}, {base['runs']:.0f} baselines of {value}{sd}"


def comparable(table: pd.DataFrame) -> bool:
    """Test whether our numbers and the paper's are of the same layers and heads of the same
    checkpoint."""
    ours = table.query("source == 'ours'")
    theirs = table.query("source == 'published'")
    if theirs.empty:
        return False
    heads = set(zip(ours["layer"], ours["head"]))
    if heads != set(zip(theirs["layer"], theirs["head"])):
        return False
    checkpoint = theirs["checkpoint"].iloc[0]
    return bool(ours["checkpoint"].str.contains(checkpoint, regex=False).all())


def short(value: float) -> str:
    """Write a number with three decimals, without the 0 before them."""
    text = f"{value:.3f}"
    if float(text) == 0:
        return "0"
    return text.replace("0.", ".", 1).replace("-", "−")


def by_chance(table: pd.DataFrame) -> str:
    """Write how many heads have a star, and how many would have one by chance."""
    tested = table[(table["source"] == "ours") & (table["series"] == DELTA) & table["p"].notna()]
    if tested.empty:
        return ""
    starred = (tested["p"] <= LEVEL).sum()
    chance = LEVEL * len(tested)
    return f"Of {len(tested)} heads tested {starred} have a star; {chance:.2g} would by chance."


def summaries(rows: pd.DataFrame, measured: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Summarise what was measured of each of `rows`, `value` and maybe others, by the columns
    `keys` and by `series`, the name of the statistic. Standard deviations have ddof 1 (none of one
    value), quartiles are linear (none of fewer than FOR_QUARTILES)."""
    groups = measured.groupby([rows[key] for key in keys], sort=False)
    statistic = {
        "count": groups.count(),
        "mean": groups.mean(),
        "std": groups.std(),
        "min": groups.min(),
        "max": groups.max(),
    }
    has_quartiles = groups.size() >= FOR_QUARTILES
    for name, share in QUARTILES.items():
        statistic[name] = groups.quantile(share)[has_quartiles]
    table = pd.concat(statistic, axis=1, names=["series"]).stack("series")
    return table.dropna(subset="value").reset_index()


def tidy_summaries(
    inputs: Mapping[str, Table], published: Mapping, key: str, differences: str, unit: str
) -> pd.DataFrame:
    """Summarise each replicate by `unit`, `layer` or `head`, and average over replicates. Add the
    paper's figure `key` as it is printed, and as its figure of `differences` gives it (provenance
    `derived`)."""
    measured = deltas(inputs)
    rows = measured.rows
    ours = numbers.means(_summarise_replicates(measured, unit), CELL, ["panel"])
    heads = numbers.runs_of(rows, ["panel", "layer", "head"])
    counts = heads.groupby(["panel", unit]).sum()
    ours = ours.drop(columns=list(counts)).join(counts, on=["panel", unit])
    paper = read_published_summaries(rows, published, key, differences, unit)
    return numbers.join(ours, *paper, columns=[*CELL, *numbers.VALUES])


def _summarise_replicates(measured: Table, unit: str) -> Table:
    """Summarise each replicate by `unit`, as rows of `layer` and `head`, one of them 0."""
    variance, freedom = measured.shared.T
    rows = measured.rows.assign(variance=variance, freedom=freedom)
    keys = ["panel", "init", "seed", *ORIGIN, "table", "variance", "freedom", unit]
    table = summaries(rows, measured.numbers, keys)
    table["head" if unit == "layer" else "layer"] = 0
    is_difference = ~table["series"].isin(NOT_DIFFERENCES)
    blocks = list(measured.numbers.columns[1:])
    summarised = Table.of(table.drop(columns=blocks), table[blocks].to_numpy())
    shared = np.column_stack([table["variance"].where(is_difference, 0.0), table["freedom"]])
    floor = np.where(is_difference, -np.inf, 0.0)
    return replace(summarised, shared=shared).within((floor, np.inf))


def read_published_summaries(
    rows: pd.DataFrame, published: Mapping, key: str, differences: str, unit: str
) -> Iterator[pd.DataFrame]:
    """Yield the summaries of the paper's differences, and the summaries that the paper prints."""
    paper, entry, source = published["paper"], published[key], published[differences]
    panel = panel_of_task(rows, entry["task"])
    if panel is None:
        return
    place = f"{entry['place']}, from {source['place']}"
    cells = cells_of(source)
    derived = summaries(cells, cells[["value"]], [unit]).to_dict("list")
    facts = entry | {"provenance": CALCULATED, "place": place}
    yield numbers.published(facts, paper, panel=panel, **derived)
    down, across = ("layer", "series") if unit == "layer" else ("series", "head")
    printed = cells_of(entry, down, across).to_dict("list")
    yield numbers.published(entry, paper, panel=panel, **printed)


def draw_summaries(
    inputs: Mapping[str, Table], published: Mapping, key: str, differences: str, unit: str
) -> style.Drawn:
    """Draw a table of ours and, below it, the paper's, shaped as in the paper: layers down, or
    heads across."""
    table = tidy_summaries(inputs, published, key, differences, unit)
    parts = []
    for panel, rows in table.groupby("panel", sort=False):
        ours = rows.query("source == 'ours'")
        title = f"{labelling.label_of(panel)}, ours"
        replicates = ours["replicates"].max()
        if replicates > 1:
            title += f": mean of the summaries of {replicates} {ours['unit'].iloc[0]}s"
        parts.append((title, ours))
        paper = with_derived(rows)
        if paper.empty:
            continue
        title = "Paper"
        if not comparable(rows):
            title += f"; other {unit}s or another model, not comparable"
        parts.append((title, paper))
    lines = "layer" if unit == "layer" else "series"
    heights = [part[lines].nunique() for _, part in parts]
    height = 0.5 * len(parts) + 0.24 * sum(heights)
    figure, grid = style.grid(height, len(parts), height_ratios=heights)
    for axes, (title, part) in zip(grid[:, 0], parts, strict=True):
        draw_table(axes, part, unit)
        axes.set_title(title, loc="left", pad=3 if unit == "head" else 14)
    return style.captioned(
        figure,
        table,
        numbers.cited(published, key, table, SUMMARISED),
        corrections(table, unit),
        failures(deltas(inputs).rows),
        with_intervals=table[:0],
    )


def draw_table(axes: Axes, part: pd.DataFrame, unit: str) -> None:
    """Draw the summaries of `part`, with † where they differ from its column `derived`, if it has
    one."""
    counts = part["value"].map("{:g}".format)
    texts = part["value"].map(number).where(part["series"] != "count", counts)
    if "derived" in part:
        texts = texts + np.where(differs(part), " †", "")
    cells = part.assign(text=texts).pivot(index=unit, columns="series", values=["value", "text"])
    drawn = [name for name in STATISTICS if name in set(part["series"])]
    values = cells["value"].reindex(columns=drawn).astype(float)
    texts = cells["text"].reindex(columns=drawn).astype(object).fillna("–")
    values[values.columns.intersection(NOT_DIFFERENCES)] = np.nan
    largest = 1.3 * max(values.abs().max(axis=None), 1e-4)
    across, down = drawn, [f"layer {layer}" for layer in values.index]
    if unit == "head":
        across, down = [str(head) for head in values.index], drawn
        values, texts = values.T, texts.T
    grids.coloured_table(
        axes,
        values.to_numpy(),
        across,
        down,
        fontsize=7,
        cmap=CMAP,
        vmin=-largest,
        vmax=largest,
        edgecolors="white",
    )
    for (y, x), text in np.ndenumerate(texts.to_numpy()):
        axes.text(x, y, text, ha="center", va="center", fontsize=7)


def number(value: float) -> str:
    """Write a number with three decimals, or with five if three are all 0."""
    text = short(value)
    if text == "0" and round(value, 5):
        text = f"{value:.5f}".rstrip("0").replace("0.", ".", 1).replace("-", "−")
    return text


def with_derived(table: pd.DataFrame) -> pd.DataFrame:
    """Select the paper's cells as printed; add as `derived` what the paper's own differences
    give."""
    theirs = table.query("source == 'published'")
    is_derived = theirs["provenance"] == CALCULATED
    derived = theirs[is_derived].rename(columns={"value": "derived"})
    return theirs[~is_derived].merge(derived[[*CELL, "derived"]], on=CELL, how="left")


def differs(cells: pd.DataFrame) -> pd.Series:
    return (cells["value"] - cells["derived"]).abs() > EXACT


def corrections(table: pd.DataFrame, unit: str) -> str:
    """Write a sentence on the paper's cells that do not follow from its differences; empty if all
    do."""
    cells = with_derived(table)
    wrong = cells[differs(cells)]
    if wrong.empty:
        return ""
    columns = zip(wrong["series"], wrong[unit], wrong["derived"])
    texts = [f"{series} of {unit} {which} {value:.4f}" for series, which, value in columns]
    return f"† Not what the paper's differences give: {', '.join(texts)}.".replace("-", "−")
