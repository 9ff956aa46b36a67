"""Scores of fine-tunings that freeze or drop layers: Figures 3 and 4 of Merchant et al. 2020."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bertshift.errors import UserError
from bertshift.figures import layers, numbers, style
from bertshift.replicates import EMBEDDINGS_ONLY, NOTHING_FROZEN
from bertshift.rows import labelling, ranges, statistics
from bertshift.rows.blocks import JACKKNIFE_COLUMNS

KEYS = ["panel", "series", "metric", "position", "layers"]
COLUMNS = [*KEYS, *numbers.VALUES]
RUN = ["series", "init", "seed"]
BESIDE = 0.4  # of a layer: the paper's scores stand beside ours, not on them
OF_UNFROZEN, OF_GAIN = "percent of unfrozen", "percent of gain"
MIDWAY = -0.5  # where the axis shows frozen embeddings: more than nothing, less than a layer
SHARE = 0.95


def scores(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Stack every run's headline score, in points; `series` is the model that each table varies,
    itself one of its rows.

    A frozen or shortened model at the level of the majority class is a result, and counts. A
    replicate whose complete run failed to train has nothing to compare with: it is left out,
    unless all of a model's did. `dropped` is how many of the model's replicates are left out.
    """
    kept = [
        rows.assign(series=min(rows["model"], key=len), table=path)
        for path, rows in inputs.items()
        if len(rows)
    ]
    if not kept:
        raise UserError(f"{', '.join(inputs)} hold no run; delete them and run their rules again.")
    rows = pd.concat(kept, ignore_index=True)
    rows = statistics.in_points(rows[rows["headline"]])
    bad = statistics.failed_wholes(rows, RUN)
    left_out = bad & ~bad.groupby(rows["series"]).transform("all")
    counts = rows[left_out].drop_duplicates(RUN).groupby("series").size()
    rows = rows.assign(dropped=rows["series"].map(counts).fillna(0).astype(int))
    return rows[~left_out].reset_index(drop=True)


def numbers_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Select the value of rows, and what it is without each block of examples where that is
    known."""
    return rows[[name for name in ("value", *JACKKNIFE_COLUMNS) if name in rows]]


def at(rows: pd.DataFrame, there: pd.Series, end: str) -> pd.DataFrame:
    """Find for each of the `scores` the numbers of the same model and replicate `there` (a mask),
    at this `end` of the sweep. UserError where there are none."""
    names = list(numbers_of(rows))
    found = rows[RUN].merge(rows.loc[there, [*RUN, *names]], on=RUN, how="left")
    if found["value"].isna().any():
        run = found.loc[found["value"].isna(), RUN].iloc[0].to_dict()
        raise UserError(
            f"the sweep of {run} lacks its {end} end; delete its table and run its rule again."
        )
    return found[names]


def tidy(
    rows: pd.DataFrame, published: Mapping, relative: str, complete: pd.Series, end: str, empty=0
) -> pd.DataFrame:
    """Tabulate the `scores`, the paper's, and in panel `relative` ours in percent of the gain from
    `empty` to complete runs.

    `complete` (a mask) says which rows are of complete runs, at this `end` of the sweep. `empty`
    are numbers for each row.
    """
    gain = at(rows, complete, end) - empty
    percent = 100 * (numbers_of(rows) - empty) / gain.where(gain > 0)
    scores = numbers_of(rows).join(rows.reindex(columns=[ranges.SHARE_OF]))
    return numbers.join(
        means(rows, "score", scores, rows.reindex(columns=ranges.ENDS).to_numpy().T),
        printed(published, rows[complete]),
        means(rows, relative, percent),
        columns=COLUMNS,
    )


def means(rows: pd.DataFrame, panel: str, found: pd.DataFrame, bounds=ranges.ANY) -> pd.DataFrame:
    """Average numbers, for each of `rows` or NaN, over the replicates that have them, as rows of
    panel `panel`. `failed` counts also the replicates that are left out."""
    rows = (
        statistics.with_value(rows, np.nan, bounds)
        .assign(panel=panel, **found)
        .dropna(subset="value")
    )
    if rows.empty:
        return rows
    found = numbers.means_of_all(rows, KEYS, ["series"])
    dropped = rows.drop_duplicates("series").set_index("series")["dropped"]
    return found.assign(failed=found["failed"] + found["series"].map(dropped))


def printed(published: Mapping, complete: pd.DataFrame) -> pd.DataFrame:
    """Read the paper's scores of complete fine-tuning, where ours stand, the rows of `complete`:
    the first model of a task."""
    entry = published["training"]
    facts = pd.DataFrame(entry["tasks"]).T.rename_axis("task").reset_index()
    bounds = complete.drop_duplicates("task")[["task", "series", "position", "layers"]].merge(
        facts, on="task"
    )
    low, high = (bounds["value"] + sign * bounds["plus_minus"] for sign in (-1, 1))
    columns = bounds[["series", "metric", "position", "layers", "value"]].assign(
        low=low, high=high
    )
    return numbers.published(entry, published["paper"], panel="score", **columns.to_dict("list"))


def panels(
    table: pd.DataFrame, relative: str, in_percent_of: str, complete: pd.DataFrame
) -> tuple[Figure, Axes, Axes]:
    """Draw the scores, and beside them the panel `relative`: a line per model over `position`, the
    paper's scores as stars.

    `complete` are the scores of complete runs: a model failed to train if all of these did.
    """
    figure, [[left, right]] = style.grid(2.6, columns=2)
    left.set_ylabel("score (points)")
    right.set_ylabel(f"% of the {in_percent_of}")
    for axes, panel in ((left, "score"), (right, relative)):
        shown = table[table["panel"] == panel]
        for model, rows in shown[shown["source"] == "ours"].groupby("series", sort=False):
            metric = rows["metric"].iloc[0]
            mark = style.mark_of(complete[complete["series"] == model])
            label = f"{labelling.label_of(model)} ({labelling.SCORES.get(metric, metric)}){mark}"
            layers.curve(axes, rows, label, style.look_of(labelling.task_of(model)), "position")
        for point in shown[shown["source"] == "published"].itertuples():
            layers.star(axes, point.position + (-BESIDE if point.position < 0 else BESIDE), point)
    star = {"linestyle": "", "marker": "*", "markersize": 7, "color": "black"}
    layers.legend_over(
        figure, *layers.handles_of([left]), Line2D([], [], label="paper, nothing ablated", **star)
    )
    return figure, left, right


def left_out(
    table: pd.DataFrame, relative: str, complete: pd.DataFrame, end: str, why: str
) -> str:
    """Say which replicates are left out: those whose `complete` run (as in `panels`), called
    `end`, failed to train, and those that `relative` lacks. Empty if there are none."""
    failed = style.failures(complete)
    ours = table[table["source"] == "ours"]
    counts = ours.groupby(["panel", "series"])["replicates"].max().groupby("panel").sum()
    missing = counts["score"] - counts.get(relative, 0)
    said = [
        f"{failed} A replicate fails with its {end} run alone." if failed else "",
        f"Right: without {missing} of {counts['score']} replicates, {why}." if missing else "",
    ]
    return " ".join(filter(None, said))


def figure3(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw scores by frozen layer. The axis is the paper's: -1 with nothing frozen, then the last
    frozen layer from 0; a hollow marker for embeddings alone."""
    rows = scores(inputs)
    table = tidy(rows, published, OF_UNFROZEN, rows["position"] == NOTHING_FROZEN, "unfrozen")
    embeddings = table["position"] == EMBEDDINGS_ONLY
    complete = table.query(
        f"source == 'ours' and panel == 'score' and position == {NOTHING_FROZEN}"
    )
    figure, left, right = panels(
        table[~embeddings], OF_UNFROZEN, "score with nothing frozen", complete
    )
    ticks = range(-1, int(table["layers"].max()))
    for axes, panel in ((left, "score"), (right, OF_UNFROZEN)):
        for point in table[embeddings & (table["panel"] == panel)].itertuples():
            look = style.look_of(labelling.task_of(point.series))
            axes.plot(MIDWAY, point.value, **look, markerfacecolor="white")
        axes.set(xlim=(-1.7, ticks[-1] + 0.4), xticks=ticks)
        axes.set_xlabel("last frozen layer, from 0 (−1 = nothing)")
    why = "which score 0 with nothing frozen"
    return style.captioned(figure, table, left_out(table, OF_UNFROZEN, complete, "unfrozen", why))


def figure4(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw scores by number of layers kept, and how much of the gain from no layer to all of them
    is reached; layers to 95 % of it, by replicate."""
    rows = scores(inputs)
    is_complete = rows["position"] == rows["layers"]
    empty = at(rows, rows["position"] == 0, "empty")
    table = tidy(rows, published, OF_GAIN, is_complete, "complete", empty)
    curves = rows.set_index("position").groupby(RUN, sort=False)["value"]
    enough = curves.agg(lambda curve: statistics.layers_to(curve.to_dict(), SHARE))
    runs = rows[is_complete]
    # No blocks: the jackknife of a number of layers, which jumps, is too wide.
    counts = enough[pd.MultiIndex.from_frame(runs[RUN])].set_axis(runs.index).to_frame("value")
    counted = means(runs, "layers_to_95pct", counts, (0, runs["layers"]))
    table = numbers.join(table, counted, columns=COLUMNS)
    complete = table.query("source == 'ours' and panel == 'score' and position == layers")
    figure, left, right = panels(table, OF_GAIN, "gain from none to all", complete)
    for axes in (left, right):
        axes.set(xticks=range(table["layers"].max() + 1), xlabel="layers kept (0 = embeddings)")
    right.axhline(100 * SHARE, color="#666666", linewidth=0.8, linestyle="--")
    reached = table[table["panel"] == "layers_to_95pct"].set_index("series")["value"]
    for model, kept in reached.items():
        colour = style.look_of(labelling.task_of(model))["color"]
        right.axvline(kept, color=colour, linewidth=0.9, linestyle=":")
    words = ", ".join(f"{labelling.label_of(model)} {kept:.3g}" for model, kept in reached.items())
    enough = f"Layers to 95 % of the gain, mean over replicates: {words or 'no task gains'}."
    why = "in which more layers gain nothing"
    return style.captioned(
        figure, table, enough, left_out(table, OF_GAIN, complete, "complete", why)
    )
