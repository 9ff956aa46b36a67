"""Scores of fine-tunings that freeze or drop layers: Figures 3 and 4 of Merchant et al. 2020."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bertshift.errors import UserError
from bertshift.figures import grids, layers, numbers, style
from bertshift.replicates import EMBEDDINGS_ONLY, NOTHING_FROZEN
from bertshift.rows import labelling, ranges, statistics
from bertshift.rows.table import Table, concat

KEYS = ["panel", "series", "metric", "position", "layers"]
COLUMNS = [*KEYS, *numbers.VALUES]
RUN = ["series", "init", "seed"]
BESIDE = 0.4  # of a layer: the paper's scores are drawn beside ours, not on them
OF_UNFROZEN, OF_GAIN = "percent of unfrozen", "percent of gain"
GAIN, NEEDED = "gain", "layers_to_95pct"
MIDWAY = -0.5  # where the axis shows frozen embeddings: more than nothing, less than a layer
SHARE = 0.95


def scores(inputs: Mapping[str, Table]) -> Table:
    """Stack every run's headline score, in points; `series` is the model that each table varies,
    itself one of its rows.

    A frozen or shortened model at the level of the majority class is a result, and counts. A
    replicate whose complete run failed to train has nothing to compare with: it is left out,
    unless all of a model's did. `dropped` is how many of the model's replicates are left out.
    """
    parts = [
        table.assign(series=min(table["model"], key=len), table=path)
        for path, table in inputs.items()
        if len(table)
    ]
    if not parts:
        raise UserError(f"{', '.join(inputs)} hold no run; delete them and run their rules again.")
    measured = concat(parts)
    measured = measured.where(measured["headline"]).in_points()
    rows = measured.rows
    failed = statistics.failed_wholes(rows, RUN)
    left_out = failed & ~failed.groupby(rows["series"]).transform("all")
    dropped = rows[left_out].drop_duplicates(RUN).groupby("series").size()
    dropped = rows["series"].map(dropped).fillna(0).astype(int)
    return measured.assign(dropped=dropped).where(~left_out)


def at(measured: Table, is_end: pd.Series, end: str) -> pd.DataFrame:
    """Find for each of the `scores` the numbers of the same model and replicate at one end of the
    sweep: the rows `is_end` (a mask), which an error calls `end`. UserError where there are none.
    """
    runs = pd.MultiIndex.from_frame(measured.rows[RUN])
    at_end = measured.where(is_end).averages(RUN).reindex(runs).set_index(measured.rows.index)
    is_missing = at_end["value"].isna()
    if is_missing.any():
        run = measured.rows.loc[is_missing, RUN].iloc[0].to_dict()
        raise UserError(
            f"the sweep of {run} lacks its {end} end; delete its table and run its rule again."
        )
    return at_end


def shares(measured: Table, panel: str, parts: pd.DataFrame, wholes: pd.DataFrame) -> pd.DataFrame:
    """Average `parts` in percent of `wholes`, numbers for each of the rows, as rows of panel
    `panel`. A replicate without a whole above 0 has no share."""
    percent = 100 * parts / wholes.where(wholes > 0)
    return means(measured.with_numbers(percent).within(ranges.ANY), panel)


def gains_surely(gain: pd.DataFrame) -> pd.Series:
    """Mark the mean gains whose interval over replicates lies above 0: of others nothing is a
    share. A single run's interval knows of no other run."""
    return (gain["low"] > 0) & (gain["replicates"] > 1)


def means(measured: Table, panel: str) -> pd.DataFrame:
    """Average numbers, of which some may be NaN, over the replicates that have them, as rows of
    panel `panel`. `failed` counts also the replicates that are left out."""
    measured = measured.assign(panel=panel).where(measured["value"].notna())
    if not len(measured):
        return measured.rows
    averages = numbers.means_of_all(measured, KEYS, ["series"])
    dropped = measured.rows.drop_duplicates("series").set_index("series")["dropped"]
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
    """Draw a line per model over `position`, with the paper's scores as stars: the scores, and the
    panel `relative` beside them.

    complete: the scores of complete runs; a model failed to train if all of these did
    """
    figure, [[left, right]] = style.grid(2.6, columns=2)
    left.set_ylabel("score (points)")
    right.set_ylabel(f"% of the {in_percent_of}")
    for axes, panel in ((left, "score"), (right, relative)):
        shown = table[table["panel"] == panel]
        for model, rows in shown[shown["source"] == "ours"].groupby("series", sort=False):
            metric = rows["metric"].iloc[0]
            score = labelling.SCORES.get(metric, metric)
            words = [score, *style.marks_of(complete[complete["series"] == model])]
            label = f"{labelling.label_of(model)} ({', '.join(words)})"
            layers.curve(axes, rows, label, style.look_of(labelling.task_of(model)), "position")
        for point in shown[shown["source"] == "published"].itertuples():
            offset = -BESIDE if point.position < 0 else BESIDE
            layers.star(axes, point.position + offset, point)
    black = {"linestyle": "", "marker": "*", "markersize": 7, "color": "black"}
    handles = layers.handles_of([left])
    if has_stars(table):
        handles.append(Line2D([], [], label="paper, nothing ablated", **black))
    layers.legend_over(figure, *handles)
    return figure, left, right


def has_stars(table: pd.DataFrame) -> bool:
    return bool((table["source"] == "published").any())


def star_note(table: pd.DataFrame, of: str) -> str:
    """Write a sentence on the paper's scores; empty if there are none."""
    if not has_stars(table):
        return ""
    tasks = table.loc[table["source"] == "published", "series"].map(labelling.task_of)
    no_standard = "; Dep's is not a standard LAS" if "dep" in set(tasks) else ""
    return f"Stars: the paper's scores {of}{no_standard}."


def no_share_note(gain: pd.DataFrame) -> str:
    """Name the models without shares of their gain, with what it is; empty if there are none."""
    parts = []
    for row in gain[~gains_surely(gain)].itertuples():
        number, *ends = (
            grids.number(value, signed=True) for value in (row.value, row.low, row.high)
        )
        spread = f"[{', '.join(ends)}]" if row.replicates > 1 else "from one run"
        parts.append(f"{labelling.label_of(row.series)} {number} {spread}")
    if not parts:
        return ""
    return (
        "No shares are drawn of a gain whose interval over replicates has 0 or is not known:"
        f" {', '.join(parts)} points."
    )


def left_out(
    table: pd.DataFrame, relative: str, complete: pd.DataFrame, end: str, why: str
) -> str:
    """Say which replicates are left out: those whose `complete` run (as in `panels`), called
    `end`, failed to train, and those that `relative` lacks. Empty if there are none."""
    sentences = []
    if failed := style.failures(complete):
        sentences.append(f"{failed} A replicate fails with its {end} run alone.")
    drawn = table.loc[table["panel"] == relative, "series"]
    ours = table[(table["source"] == "ours") & table["series"].isin(drawn)]
    replicates = ours.groupby(["panel", "series"])["replicates"].max().groupby("panel").sum()
    total = replicates.get("score", 0)
    missing = total - replicates.get(relative, 0)
    if missing:
        sentences.append(f"Right: without {missing} of {total} replicates, {why}.")
    return " ".join(sentences)


def figure3(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw scores by frozen layer. The axis is the paper's: -1 with nothing frozen, then the last
    frozen layer from 0; a hollow marker for embeddings alone."""
    measured = scores(inputs)
    is_complete = measured["position"] == NOTHING_FROZEN
    ours = means(measured, "score")
    unfrozen = ours[ours["position"] == NOTHING_FROZEN]
    wholes = at(measured, is_complete, "unfrozen")
    percent = shares(measured, OF_UNFROZEN, measured.numbers, wholes)
    paper = printed(published, measured.rows[is_complete])
    table = numbers.join(ours, paper, percent, columns=COLUMNS)
    embeddings = table["position"] == EMBEDDINGS_ONLY
    in_percent_of = "score with nothing frozen"
    figure, left, right = panels(table[~embeddings], OF_UNFROZEN, in_percent_of, unfrozen)
    ticks = range(-1, int(table["layers"].max()))
    for axes, panel in ((left, "score"), (right, OF_UNFROZEN)):
        for point in table[embeddings & (table["panel"] == panel)].itertuples():
            look = style.look_of(labelling.task_of(point.series))
            axes.plot(MIDWAY, point.value, **look, markerfacecolor="white")
        axes.set(xlim=(-1.7, ticks[-1] + 0.4), xticks=ticks)
        axes.set_xlabel("last frozen layer, from 0 (−1 = nothing)")
    why = "which score 0 with nothing frozen"
    return style.captioned(
        figure,
        table,
        star_note(table, "with nothing frozen"),
        left_out(table, OF_UNFROZEN, unfrozen, "unfrozen", why),
    )


def figure4(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw scores by number of layers kept, and how much of the gain from no layer to all of them
    is reached; layers to 95 % of it, by replicate."""
    measured = scores(inputs)
    is_complete = measured["position"] == measured["layers"]
    empty = at(measured, measured["position"] == 0, "empty")
    gains = at(measured, is_complete, "complete") - empty
    gained = measured.with_numbers(gains).within(ranges.ANY)
    gain = means(gained.where(is_complete), GAIN)
    has_shares = measured["series"].isin(gain.loc[gains_surely(gain), "series"])
    parts = measured.numbers - empty
    shared = measured.where(has_shares)
    percent = shares(shared, OF_GAIN, parts[has_shares], gains[has_shares])
    needed = _layers_needed(shared)
    ours = means(measured, "score")
    paper = printed(published, measured.rows[is_complete])
    table = numbers.join(ours, paper, gain, percent, needed, columns=COLUMNS)
    complete = ours[ours["position"] == ours["layers"]]
    figure, left, right = panels(table, OF_GAIN, "gain from none to all", complete)
    for axes in (left, right):
        axes.set(xticks=range(table["layers"].max() + 1), xlabel="layers kept (0 = embeddings)")
    why = "in which more layers gain nothing"
    return style.captioned(
        figure,
        table,
        star_note(table, "of complete models"),
        _draw_needed(right, table[table["panel"] == NEEDED]),
        no_share_note(gain),
        left_out(table, OF_GAIN, complete, "complete", why),
    )


def _draw_needed(axes: Axes, needed: pd.DataFrame) -> str:
    """Mark the layers to SHARE of the gain on a line at that share, and write a sentence on them;
    nothing and an empty one where no model gains."""
    if needed.empty:
        return ""
    axes.axhline(100 * SHARE, color="#666666", linewidth=0.6)
    counts = []
    for row in needed.itertuples():
        look = {"color": layers.task_colour(row.series), "s": 100, "linewidth": 2}
        axes.scatter(row.value, 100 * SHARE, marker="|", **look)
        counts.append(f"{labelling.label_of(row.series)} {row.value:.3g}")
    return (
        f"Upright marks: layers to {100 * SHARE:.0f} % of the gain, mean over replicates:"
        f" {', '.join(counts)}."
    )


def _layers_needed(measured: Table) -> pd.DataFrame:
    """Average the number of layers to SHARE of the gain over replicates, as rows of panel
    NEEDED."""
    curves = measured.rows.set_index("position").groupby(RUN, sort=False)["value"]
    counts = curves.agg(lambda curve: statistics.layers_to(curve.to_dict(), SHARE))
    runs = measured.where(measured["position"] == measured["layers"])
    # No blocks: the jackknife of a number of layers, which jumps, is too wide.
    values = counts[pd.MultiIndex.from_frame(runs.rows[RUN])].to_numpy()
    return means(runs.with_value(values, (0, runs["layers"])), NEEDED)
