"""BERT Goes to College 2020, Figure 2: scores after an intermediate task, beside those of direct
fine-tuning."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from bertshift.figures import grids, numbers, style
from bertshift.rows import labelling, ranges, statistics
from bertshift.rows.blocks import JACKKNIFE_COLUMNS
from bertshift.rows.estimates import NONE
from bertshift.rows.significance import benjamini_hochberg

COLUMNS = [
    "panel",
    "final",
    "intermediate",
    "heads",
    "score",
    "p",
    "q",
    "p_runs",
    "q_runs",
    "changed",
    "n",
    "se",
    *numbers.VALUES,
]
BY = ["model", "final", "intermediate", "heads", "score"]
REFERENCE = ["ref_init", "ref_seed"]
TITLES = {
    "fresh": "A fresh head for the final task",
    "carry": "The head of the intermediate task, carried over",
}
RATE = 0.05
EXACT = (
    ", one dev set. Where its cut decimals give away the number of right answers, its score is"
    " that, ± its binomial standard error"
)
SATURATES = 0.1  # of gain
LABELS, CELL, ROW, HEADER = 0.95, 1.45, 0.8, 0.6  # inches
LINE = 0.178  # of a row


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Tabulate the panels `score`, `gain` (over direct fine-tuning), `best_of_two` (where two
    seeds share a pretraining run) and `majority`; `intermediate` is empty for direct fine-tuning.

    p: over examples, of the least certain replicate; p_runs: over replicates; q and q_runs:
    Benjamini-Hochberg over all chains with the same `heads`. `se` of a published accuracy:
    binomial, over the examples.
    """
    rows = scores(inputs, published.get("figure2", {}).get("metrics", {}))
    chained = rows[rows["intermediate"] != ""].drop(columns=REFERENCE)
    gain = numbers.means_of_all(chained.assign(value=chained["delta"]), BY, ["model"]).merge(
        tests(chained), on=BY
    )
    score = numbers.means_of_all(of_scores(rows), BY, ["model"]).assign(panel="score")
    best = (
        rows.groupby(["model", "init"])["value"]
        .agg(statistics.best_of_two)
        .groupby("model")
        .mean()
    )
    majority = rows.groupby("model")["majority"].first()
    return numbers.join(
        score,
        gain.assign(panel="gain"),
        _instead(score, best, "best_of_two"),
        _instead(score[score["intermediate"] == ""], majority, "majority").assign(
            trained=0, failed=0
        ),
        *printed(published, list(rows.loc[rows["intermediate"] == "", "final"])),
        columns=COLUMNS,
    )


def scores(inputs: Mapping[str, pd.DataFrame], metrics: Mapping[str, str]) -> pd.DataFrame:
    """Select one row for each replicate of every model, alone or a chain. It has the score that
    `metrics` names for the model's task, or else the headline, and the run that a chain's gain is
    over. A run at the level of the majority class is a result here, and counts."""
    parts = []
    for path, table in inputs.items():
        table = table.assign(table=path)
        if "delta" not in table:
            table = table.rename(columns={"metric": "score"})
        chosen = table["score"] == metrics.get(table["task"].iloc[0])
        parts.append(table[chosen if chosen.any() else table["headline"]])
    rows = pd.concat(parts, ignore_index=True)
    rows = rows.drop(columns=["low", "high"], errors="ignore")
    intermediate, heads = zip(*map(labelling.intermediate_of, rows["model"]))
    return rows.assign(final=rows["task"], intermediate=intermediate, heads=heads)


def of_scores(rows: pd.DataFrame) -> pd.DataFrame:
    """Give each row of `scores` the values of its score without each block. A chain's table has
    those of its gain over a run of the model alone; those of that run are added to them."""
    without = [name for name in JACKKNIFE_COLUMNS if name in rows]
    alone = rows[rows["intermediate"] == ""].set_index(["final", "init", "seed"])
    keys = pd.MultiIndex.from_frame(rows[["final", *REFERENCE]], names=alone.index.names)
    before = alone[without].reindex(keys).set_index(rows.index)
    chained = rows["intermediate"] != ""
    values = rows[without].where(~chained, rows[without] + before)
    rows = ranges.within(rows.assign(**values), ranges.of(rows.assign(metric=rows["score"])).T)
    return rows.drop(columns=[*REFERENCE, "ref_failed"], errors="ignore")


def tests(chained: pd.DataFrame) -> pd.DataFrame:
    by_chain = chained.groupby(BY, as_index=False)
    found = by_chain.agg(p=("p", "max"), n=("n", "min"), changed=("changed", "mean"))
    runs = statistics.with_replicates(chained).groupby([*BY, "replicate"])["delta"].mean()
    found = found.merge(runs.groupby(BY).agg(statistics.paired_t).rename("p_runs"), on=BY)
    for p, q in (("p", "q"), ("p_runs", "q_runs")):
        found[q] = found.groupby("heads")[p].transform(benjamini_hochberg)
    return found


def _instead(score: pd.DataFrame, values: pd.Series, panel: str) -> pd.DataFrame:
    """Replace the mean in the rows of `score` by another number of each model, without an
    interval. Rows of models without such a number are dropped."""
    rows = score.assign(
        panel=panel,
        value=score["model"].map(values),
        low=np.nan,
        high=np.nan,
        each="",
        interval=NONE,
    )
    return rows.dropna(subset="value")


def printed(published: Mapping, tasks: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Yield the paper's scores and gains, from counts of right answers where its decimals
    determine these."""
    paper, entry = published.get("paper", {}), published.get("figure2", {})
    for final, row in entry.get("rows", {}).items():
        if final not in tasks:
            continue
        cells = pd.DataFrame({"final": final, "intermediate": entry["columns"], "value": row})
        cells["score"], facts = entry["metrics"][final], entry
        if counts := entry["exact_correct"].get(final):
            facts = entry | {"provenance": entry["exact_correct"]["provenance"]}
            share, n = np.array(counts["correct"]) / counts["n"], counts["n"]
            cells = cells.assign(value=share, se=np.sqrt(share * (1 - share) / n), n=n)
        cells = cells[cells["intermediate"].isin(tasks)].replace({"intermediate": {final: ""}})
        direct = cells["intermediate"] == ""
        gains = cells.assign(value=cells["value"] - cells.loc[direct, "value"].item(), se=np.nan)[
            ~direct
        ]
        yield numbers.published(facts, paper, panel="score", **cells.to_dict("list"))
        yield numbers.published(facts, paper, panel="gain", **gains.to_dict("list"))


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw a matrix of final x intermediate tasks for each kind of head; the paper's numbers are
    grey."""
    table = tidy(inputs, published)
    heads = [name for name in TITLES if name in set(table["heads"])]
    tasks = list(table.loc[table["panel"] == "majority", "final"])
    size = (
        max(style.TEXT_WIDTH, LABELS + CELL * len(tasks)),
        len(heads) * (HEADER + ROW * len(tasks)),
    )
    figure = Figure(size, layout="constrained")
    for axes, name in zip(figure.subplots(len(heads), 1, squeeze=False)[:, 0], heads):
        matrix(axes, table[table["heads"].isin(["", name])], tasks)
        axes.set_title(TITLES[name], fontweight="bold", pad=24)
    best = (
        ""
        if (table["panel"] == "best_of_two").any()
        else "The better of two runs needs two seeds."
    )
    return style.captioned(figure, table, best, numbers.cited(published, "figure2", table, EXACT))


def matrix(axes: Axes, table: pd.DataFrame, tasks: Sequence[str]) -> None:
    """Draw one kind of head: rows are final tasks, columns intermediate tasks, the diagonal is
    direct fine-tuning."""
    gains = table[(table["source"] == "ours") & (table["panel"] == "gain")]
    fills = (
        gains.groupby(["final", "intermediate"])["value"]
        .last()
        .unstack()
        .reindex(tasks, columns=tasks)
    )
    names = [labelling.WORDS.get(task, task) for task in tasks]
    majorities = table[table["panel"] == "majority"].itertuples()
    down = [
        f"{name}\n{labelling.SCORES.get(row.score, row.score)}\nmajority {number(row.value)}"
        for name, row in zip(names, majorities)
    ]
    look = {"cmap": grids.LOSS_TO_GAIN, "vmin": -SATURATES, "vmax": SATURATES}
    grids.coloured_table(axes, fills.to_numpy(), names, down, **look)
    for (final, first), rows in table.groupby(["final", "intermediate"]):
        x, y = tasks.index(first or final), tasks.index(final)
        lines = list(lines_of({(row.source, row.panel): row for row in rows.itertuples()}))
        grids.write(
            axes, x, y, lines, [LINE * (line - (len(lines) - 1) / 2) for line in range(len(lines))]
        )
        if x == y:
            axes.add_patch(
                Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, linewidth=1.6, zorder=3)
            )
    axes.tick_params(axis="y", labelsize=7)
    axes.xaxis.set_label_position("top")
    axes.set(xlabel="intermediate task", ylabel="final task")


def lines_of(cell: Mapping) -> Iterator[tuple[str, dict]]:
    """Yield each line of text in a cell and its look, from the cell's rows by source and panel."""
    score, grey = cell["ours", "score"], {"color": "#404040"}
    text = numbers.with_spread(score, number)
    yield text, {"fontsize": 8 if " " in text else 8.5}
    if gain := cell.get(("ours", "gain")):
        marks = "*" * (gain.q <= RATE) + "†" * (gain.q_runs <= RATE)
        yield f"Δ {number(gain.value, signed=True)} {marks}".rstrip(), {}
    if best := cell.get(("ours", "best_of_two")):
        yield f"best of 2: {number(best.value)}", {}
    if score := cell.get(("published", "score")):
        error = f" ± {number(score.se)}" if np.isfinite(score.se) else ""
        yield f"paper {number(score.value)}{error}", grey
    if gain := cell.get(("published", "gain")):
        yield f"paper Δ {number(gain.value, signed=True)}", grey


def number(value: float, signed: bool = False) -> str:
    """Write a number with three decimals and a true minus sign; zero has no sign."""
    value = round(value, 3) + 0.0
    return f"{value:{'+' if signed and value else ''}.3f}".replace("-", "−")
