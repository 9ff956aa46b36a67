"""Scores of fine-tunings that freeze or drop layers, shared by Figures 3 and 4 of Merchant et al. 2020."""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bertshift.errors import UserError
from bertshift.figures import layers, numbers, style
from bertshift.rows import statistics

COLUMNS = ["panel", "series", "metric", "position", "layers", *numbers.VALUES]
RUN = ["series", "init", "seed"]
BESIDE = 0.4  # of a layer: the paper's scores stand beside ours, not on them


def scores(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Every run's headline score, in points; `series` is the model that each table varies, itself one of its rows.

    A frozen or shortened model at the level of the majority class is a result, not a failure. A replicate whose complete
    run failed to train has nothing to compare with: it is left out, unless all of a model's did (`failed`); `dropped` is
    how many are, of the model.
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
    all_bad = bad.groupby(rows["series"]).transform("all")
    left_out = bad & ~all_bad
    counts = rows[left_out].drop_duplicates(RUN).groupby("series").size()
    rows = rows.assign(failed=all_bad, dropped=rows["series"].map(counts).fillna(0).astype(int))
    return rows[~left_out].reset_index(drop=True)


def with_score(rows: pd.DataFrame, there: pd.Series, name: str) -> pd.DataFrame:
    """`rows` with, in column `name`, the score of the same model and replicate in that row which is `there` (a mask)."""
    there = rows.loc[there, [*RUN, "value"]].rename(columns={"value": name})
    joined = rows.merge(there, on=RUN, how="left")
    if joined[name].isna().any():
        run = joined.loc[joined[name].isna(), RUN].iloc[0].to_dict()
        raise UserError(f"the sweep of {run} lacks its {name} end; delete its table and run its rule again.")
    return joined


def means(rows: pd.DataFrame, panel: str, value: Sequence[float]) -> pd.DataFrame:
    """`value`, one per row of `rows`, averaged over replicates, as rows of panel `panel`."""
    if rows.empty:
        return rows
    found = numbers.means(rows.assign(panel=panel, value=value), COLUMNS[:5], ["series"])
    dropped = rows.drop_duplicates("series").set_index("series")["dropped"]
    return found.assign(failed=found["failed"] + found["series"].map(dropped))


def printed(published: Mapping, complete: pd.DataFrame) -> pd.DataFrame:
    """The paper's scores of complete fine-tuning, where ours stand, the rows of `complete`: the first model of a task."""
    entry, paper = published.get("training", {}), published.get("paper", {})
    ends = complete.drop_duplicates("task")
    ends = ends[ends["task"].isin(entry.get("tasks", {}))]
    if ends.empty:
        return pd.DataFrame()
    facts = [entry["tasks"][task] for task in ends["task"]]
    value, spread = (pd.Series([fact[key] for fact in facts]) for key in ("value", "plus_minus"))
    return numbers.published(
        entry, paper, panel="score", series=ends["series"].tolist(), metric=[fact["metric"] for fact in facts],
        position=ends["position"].tolist(), layers=ends["layers"].tolist(), value=value.tolist(),
        low=(value - spread).tolist(), high=(value + spread).tolist(),
    )  # fmt: skip


def curves(axes: Axes, table: pd.DataFrame, panel: str) -> None:
    """A line per model over `position`, and the paper's scores as stars beyond its end."""
    table = table[table["panel"] == panel]
    for model, rows in table[table["source"] == "ours"].groupby("series", sort=False):
        metric = rows["metric"].iloc[0]
        label = f"{style.label_of(model)} ({style.SCORES.get(metric, metric)}){style.mark_of(rows)}"
        layers.curve(axes, rows, label, style.look_of(style.task_of(model)), "position")
    for point in table[table["source"] == "published"].itertuples():
        outside = -BESIDE if point.position < 0 else BESIDE
        layers.star(
            axes, point.position + outside, point, style.look_of(style.task_of(point.series))["color"]
        )


def legend(figure: Figure, axes: Axes) -> None:
    """One legend above the panels, for the lines of `axes` and for the stars."""
    lines = axes.get_legend_handles_labels()[0]
    lines.append(
        Line2D([], [], linestyle="", marker="*", markersize=7, color="black", label="paper, nothing ablated")
    )
    figure.legend(handles=lines, loc="outside upper center", ncols=len(lines))


def failures(table: pd.DataFrame, complete: str) -> str:
    """A sentence on the replicates whose `complete` run failed to train, empty if none did."""
    said = style.failures(table[table["panel"] == "score"])
    return f"{said} A replicate fails with its {complete} run alone." if said else ""


def left_out(table: pd.DataFrame, panel: str, why: str) -> str:
    """A sentence on the replicates that `panel` lacks beside the scores, empty if it has them all."""
    ours = table[table["source"] == "ours"]
    counts = ours.groupby(["panel", "series"])["replicates"].max().groupby("panel").sum()
    missing = counts["score"] - counts.get(panel, 0)
    return f"Right: without {missing} of {counts['score']} replicates, {why}." if missing else ""
