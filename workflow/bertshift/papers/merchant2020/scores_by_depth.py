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
BESIDE = 0.4  # of a layer: the paper's scores are drawn beside ours, not on them
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
    parts = [
        rows.assign(series=min(rows["model"], key=len), table=path)
        for path, rows in inputs.items()
        if len(rows)
    ]
    if not parts:
        raise UserError(f"{', '.join(inputs)} hold no run; delete them and run their rules again.")
    rows = pd.concat(parts, ignore_index=True)
    rows = statistics.in_points(rows[rows["headline"]])
    failed = statistics.failed_wholes(rows, RUN)
    left_out = failed & ~failed.groupby(rows["series"]).transform("all")
    dropped = rows[left_out].drop_duplicates(RUN).groupby("series").size()
    rows = rows.assign(dropped=rows["series"].map(dropped).fillna(0).astype(int))
    return rows[~left_out].reset_index(drop=True)


def numbers_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Select the value of rows, and their values without each block of examples if they have
    them."""
    return rows[[name for name in ("value", *JACKKNIFE_COLUMNS) if name in rows]]


def at(rows: pd.DataFrame, is_end: pd.Series, end: str) -> pd.DataFrame:
    """Find for each of the `scores` the numbers of the same model and replicate at one end of the
    sweep: the rows `is_end` (a mask), which an error calls `end`. UserError where there are none.
    """
    names = list(numbers_of(rows))
    at_end = rows.loc[is_end, [*RUN, *names]]
    merged = rows[RUN].merge(at_end, on=RUN, how="left")
    is_missing = merged["value"].isna()
    if is_missing.any():
        run = merged.loc[is_missing, RUN].iloc[0].to_dict()
        raise UserError(
            f"the sweep of {run} lacks its {end} end; delete its table and run its rule again."
        )
    return merged[names]


def tidy(
    rows: pd.DataFrame, published: Mapping, relative: str, complete: pd.Series, end: str, empty=0
) -> pd.DataFrame:
    """Tabulate the `scores`, the paper's, and in panel `relative` ours in percent of the gain from
    `empty` to complete runs.

    `complete` (a mask) selects the complete runs, at this `end` of the sweep. `empty` are numbers
    for each row.
    """
    gain = at(rows, complete, end) - empty
    percent = 100 * (numbers_of(rows) - empty) / gain.where(gain > 0)
    scores = numbers_of(rows).join(rows.reindex(columns=[ranges.SHARE_OF]))
    bounds = rows.reindex(columns=ranges.ENDS).to_numpy().T
    return numbers.join(
        means(rows, "score", scores, bounds),
        printed(published, rows[complete]),
        means(rows, relative, percent),
        columns=COLUMNS,
    )


def means(rows: pd.DataFrame, panel: str, values: pd.DataFrame, bounds=ranges.ANY) -> pd.DataFrame:
    """Average `values`, for each of `rows` or NaN, over the replicates that have them, as rows of
    panel `panel`. `failed` counts also the replicates that are left out."""
    rows = statistics.with_value(rows, np.nan, bounds).assign(panel=panel, **values)
    rows = rows.dropna(subset="value")
    if rows.empty:
        return rows
    averages = numbers.means_of_all(rows, KEYS, ["series"])
    dropped = rows.drop_duplicates("series").set_index("series")["dropped"]
    return averages.assign(failed=averages["failed"] + averages["series"].map(dropped))


def printed(published: Mapping, complete: pd.DataFrame) -> pd.DataFrame:
    """Read the paper's scores of complete fine-tuning, at the positions of our complete runs: the
    score of a task belongs to its first model."""
    entry = published["training"]
    facts = pd.DataFrame(entry["tasks"]).T.rename_axis("task").reset_index()
    ours = complete.drop_duplicates("task")[["task", "series", "position", "layers"]]
    scores = ours.merge(facts, on="task")
    scores["low"] = scores["value"] - scores["plus_minus"]
    scores["high"] = scores["value"] + scores["plus_minus"]
    columns = ["series", "metric", "position", "layers", "value", "low", "high"]
    rows = scores[columns].to_dict("list")
    return numbers.published(entry, published["paper"], panel="score", **rows)


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
            score = labelling.SCORES.get(metric, metric)
            mark = style.mark_of(complete[complete["series"] == model])
            label = f"{labelling.label_of(model)} ({score}){mark}"
            layers.curve(axes, rows, label, style.look_of(labelling.task_of(model)), "position")
        for point in shown[shown["source"] == "published"].itertuples():
            offset = -BESIDE if point.position < 0 else BESIDE
            layers.star(axes, point.position + offset, point)
    black = {"linestyle": "", "marker": "*", "markersize": 7, "color": "black"}
    star = Line2D([], [], label="paper, nothing ablated", **black)
    layers.legend_over(figure, *layers.handles_of([left]), star)
    return figure, left, right


def left_out(
    table: pd.DataFrame, relative: str, complete: pd.DataFrame, end: str, why: str
) -> str:
    """Say which replicates are left out: those whose `complete` run (as in `panels`), called
    `end`, failed to train, and those that `relative` lacks. Empty if there are none."""
    sentences = []
    if failed := style.failures(complete):
        sentences.append(f"{failed} A replicate fails with its {end} run alone.")
    ours = table[table["source"] == "ours"]
    replicates = ours.groupby(["panel", "series"])["replicates"].max().groupby("panel").sum()
    missing = replicates["score"] - replicates.get(relative, 0)
    if missing:
        total = replicates["score"]
        sentences.append(f"Right: without {missing} of {total} replicates, {why}.")
    return " ".join(sentences)


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
    table = numbers.join(table, _layers_needed(rows, is_complete), columns=COLUMNS)
    complete = table.query("source == 'ours' and panel == 'score' and position == layers")
    figure, left, right = panels(table, OF_GAIN, "gain from none to all", complete)
    for axes in (left, right):
        axes.set(xticks=range(table["layers"].max() + 1), xlabel="layers kept (0 = embeddings)")
    right.axhline(100 * SHARE, color="#666666", linewidth=0.8, linestyle="--")
    needed = table[table["panel"] == "layers_to_95pct"].set_index("series")["value"]
    for model, count in needed.items():
        right.axvline(count, color=layers.task_colour(model), linewidth=0.9, linestyle=":")
    counts = [f"{labelling.label_of(model)} {count:.3g}" for model, count in needed.items()]
    counts = ", ".join(counts) or "no task gains"
    note = f"Layers to 95 % of the gain, mean over replicates: {counts}."
    why = "in which more layers gain nothing"
    return style.captioned(
        figure, table, note, left_out(table, OF_GAIN, complete, "complete", why)
    )


def _layers_needed(rows: pd.DataFrame, is_complete: pd.Series) -> pd.DataFrame:
    """Average the number of layers to SHARE of the gain over replicates, as rows of panel
    `layers_to_95pct`."""
    curves = rows.set_index("position").groupby(RUN, sort=False)["value"]
    counts = curves.agg(lambda curve: statistics.layers_to(curve.to_dict(), SHARE))
    runs = rows[is_complete]
    # No blocks: the jackknife of a number of layers, which jumps, is too wide.
    values = counts[pd.MultiIndex.from_frame(runs[RUN])].set_axis(runs.index)
    return means(runs, "layers_to_95pct", values.to_frame("value"), (0, runs["layers"]))
