"""BERT Goes to College 2020, Figure 2: scores after an intermediate task, beside those of direct
fine-tuning."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from bertshift.figures import grids, numbers, style
from bertshift.rows import labelling, ranges, statistics
from bertshift.rows.estimates import NONE
from bertshift.rows.significance import benjamini_hochberg, of_least_certain
from bertshift.rows.table import Table, concat

BY = ["model", "final", "intermediate", "heads", "score"]
COLUMNS = ["panel", *BY[1:], "p", "q", "p_runs", "q_runs", "changed", "n", "se", *numbers.VALUES]
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
LINE = 0.178  # shares of a row


def tidy(inputs: Mapping[str, Table], published: Mapping) -> pd.DataFrame:
    """Tabulate the panels `score`, `gain` (over direct fine-tuning), `best_of_two` (where two
    seeds share a pretraining run) and `majority`; `intermediate` is empty for direct fine-tuning.

    p: over examples, of the least certain replicate; p_runs: over replicates; q and q_runs:
    Benjamini-Hochberg over all chains with the same `heads`. `se` of a published accuracy:
    binomial, over the examples.
    """
    measured = scores(inputs, published["figure2"]["metrics"])
    rows = measured.rows
    is_direct = rows["intermediate"] == ""
    chained = measured.where(~is_direct).drop(*REFERENCE)
    gain = numbers.means_of_all(chained.assign(value=chained["delta"]), BY, ["model"])
    gain = gain.merge(tests(chained.rows), on=BY).assign(panel="gain")
    score = numbers.means_of_all(score_blocks(measured), BY, ["model"]).assign(panel="score")
    by_run = rows.groupby(["model", "init"])["value"].agg(statistics.best_of_two)
    best = by_run.groupby("model").mean()
    best = _replace_mean(score, best, "best_of_two")
    majority = rows.groupby("model")["majority"].first()
    majority = _replace_mean(score.query("intermediate == ''"), majority, "majority")
    majority = majority.assign(trained=0, failed=0)
    paper = read_published(published, list(rows.loc[is_direct, "final"]))
    return numbers.join(score, gain, best, majority, *paper, columns=COLUMNS)


def scores(inputs: Mapping[str, Table], metrics: Mapping[str, str]) -> Table:
    """Select one row for each replicate of every model, alone or a chain. It has the score that
    `metrics` names for the model's task, or else the headline, and the run to which a chain is
    compared. A run at the level of the majority class is a result here, and counts."""
    parts = []
    for path, table in inputs.items():
        table = table.assign(table=path)
        if "delta" not in table:
            table = table.rename(metric="score")
        task = table["task"].iloc[0]
        selected = table["score"] == metrics.get(task)
        if not selected.any():
            selected = table["headline"]
        parts.append(table.where(selected))
    measured = concat(parts)
    intermediate, heads = zip(*map(labelling.intermediate_of, measured["model"]))
    return measured.assign(final=measured["task"], intermediate=intermediate, heads=heads)


def score_blocks(measured: Table) -> Table:
    """Give each row of `scores` the values of its score without each block. A chain's table has
    those of its gain over a run of the model alone; the values of that run are added to them."""
    rows = measured.rows
    is_direct = rows["intermediate"] == ""
    direct = measured.where(is_direct).averages(["final", "init", "seed"])
    reference = pd.MultiIndex.from_frame(rows[["final", *REFERENCE]])
    before = direct.drop(columns="value").reindex(reference).to_numpy()
    left_out = measured.left_out + np.where(is_direct.to_numpy()[:, None], 0, before)
    of_scores = replace(measured, left_out=left_out)
    bounds = ranges.of(rows.assign(metric=rows["score"])).T
    return of_scores.within(bounds).drop(*REFERENCE, "ref_failed")


def tests(chained: pd.DataFrame) -> pd.DataFrame:
    """Combine each chain's tests over examples, test its gain over replicates, and correct
    both."""
    by_chain = chained.groupby(BY, as_index=False)
    results = of_least_certain(by_chain, "delta").merge(by_chain["changed"].mean(), on=BY)
    replicates = statistics.with_replicates(chained).groupby([*BY, "replicate"])["delta"].mean()
    p_runs = replicates.groupby(BY).agg(statistics.paired_t).rename("p_runs")
    results = results.merge(p_runs, on=BY)
    by_heads = results.groupby("heads")
    return results.assign(
        q=by_heads["p"].transform(benjamini_hochberg),
        q_runs=by_heads["p_runs"].transform(benjamini_hochberg),
    )


def _replace_mean(score: pd.DataFrame, values: pd.Series, panel: str) -> pd.DataFrame:
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


def read_published(published: Mapping, tasks: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Yield the paper's scores and gains, from counts of right answers if its decimals determine
    them."""
    paper, entry = published["paper"], published["figure2"]
    for final, row in entry["rows"].items():
        if final not in tasks:
            continue
        facts = entry
        cells = pd.DataFrame({"final": final, "intermediate": entry["columns"], "value": row})
        cells["score"] = entry["metrics"][final]
        counts = entry["exact_correct"].get(final)
        if counts:
            facts = entry | {"provenance": entry["exact_correct"]["provenance"]}
            n = counts["n"]
            share = np.array(counts["correct"]) / n
            error = np.sqrt(share * (1 - share) / n)
            cells = cells.assign(value=share, se=error, n=n)
        cells = cells[cells["intermediate"].isin(tasks)]
        cells = cells.replace({"intermediate": {final: ""}})
        is_direct = cells["intermediate"] == ""
        direct = cells.loc[is_direct, "value"].item()
        gains = cells[~is_direct].assign(se=np.nan)
        gains["value"] -= direct
        yield numbers.published(facts, paper, panel="score", **cells.to_dict("list"))
        yield numbers.published(facts, paper, panel="gain", **gains.to_dict("list"))


def draw(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw a matrix of final x intermediate tasks for each kind of head; the paper's numbers are
    grey."""
    table = tidy(inputs, published)
    heads = [name for name in TITLES if name in set(table["heads"])]
    tasks = list(table.query("panel == 'majority'")["final"])
    width = max(style.TEXT_WIDTH, LABELS + CELL * len(tasks))
    height = len(heads) * (HEADER + ROW * len(tasks))
    figure, grid = style.grid(height, len(heads), width=width)
    for axes, name in zip(grid[:, 0], heads):
        draw_matrix(axes, table[table["heads"].isin(["", name])], tasks)
        axes.set_title(TITLES[name], fontweight="bold", pad=24)
    note = ""
    if not (table["panel"] == "best_of_two").any():
        note = "The better of two runs needs two seeds."
    return style.captioned(figure, table, note, numbers.cited(published, "figure2", table, EXACT))


def draw_matrix(axes: Axes, table: pd.DataFrame, tasks: Sequence[str]) -> None:
    """Draw one kind of head: rows are final tasks, columns intermediate tasks, the diagonal is
    direct fine-tuning."""
    gains = table.query("source == 'ours' and panel == 'gain'")
    by_pair = gains.groupby(["final", "intermediate"])["value"].last()
    fills = by_pair.unstack().reindex(tasks, columns=tasks)
    names = [labelling.WORDS.get(task, task) for task in tasks]
    majorities = table.query("panel == 'majority'").itertuples()
    labels = [
        f"{name}\n{labelling.SCORES.get(row.score, row.score)}\nmajority {number(row.value)}"
        for name, row in zip(names, majorities)
    ]
    grids.coloured_table(
        axes,
        fills.to_numpy(),
        names,
        labels,
        cmap=grids.LOSS_TO_GAIN,
        vmin=-SATURATES,
        vmax=SATURATES,
    )
    for (final, first), rows in table.groupby(["final", "intermediate"]):
        x, y = tasks.index(first or final), tasks.index(final)
        cell = {(row.source, row.panel): row for row in rows.itertuples()}
        lines = list(write_lines(cell))
        middle = (len(lines) - 1) / 2
        heights = [LINE * (line - middle) for line in range(len(lines))]
        grids.write(axes, x, y, lines, heights)
        if x == y:
            corner = (x - 0.5, y - 0.5)
            axes.add_patch(Rectangle(corner, 1, 1, fill=False, linewidth=1.6, zorder=3))
    axes.tick_params(axis="y", labelsize=7)
    axes.xaxis.set_label_position("top")
    axes.set(xlabel="intermediate task", ylabel="final task")


def write_lines(cell: Mapping) -> Iterator[tuple[str, dict]]:
    """Yield each line of text in a cell and its look, from the cell's rows by source and panel."""
    grey = {"color": "#404040"}
    text = numbers.with_spread(cell["ours", "score"], number)
    yield text, {"fontsize": 8 if " " in text else 8.5}
    gain = cell.get(("ours", "gain"))
    if gain:
        over_examples = "*" if gain.q <= RATE else ""
        over_runs = "†" if gain.q_runs <= RATE else ""
        text = f"Δ {number(gain.value, signed=True)} {over_examples}{over_runs}"
        yield text.rstrip(), {}
    best = cell.get(("ours", "best_of_two"))
    if best:
        yield f"best of 2: {number(best.value)}", {}
    score = cell.get(("published", "score"))
    if score:
        error = f" ± {number(score.se)}" if np.isfinite(score.se) else ""
        yield f"paper {number(score.value)}{error}", grey
    gain = cell.get(("published", "gain"))
    if gain:
        yield f"paper Δ {number(gain.value, signed=True)}", grey


number = partial(grids.number, decimals=3)
