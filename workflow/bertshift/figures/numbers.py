"""From metric TSVs to the tidy table of a figure: every number drawn is one of its rows."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from bertshift.errors import UserError
from bertshift.models.source import BERT
from bertshift.rows import labelling, statistics
from bertshift.rows.provenance import ORIGIN, distinct
from bertshift.rows.table import Table, concat

VALUES = [
    "value",
    "low",
    "high",
    "each",
    "replicates",
    "unit",
    "interval",
    "trained",
    "failed",
    "source",
    "provenance",
    "citation",
    *ORIGIN,
    "table",
]
# Columns of a figure over layers and heads.
COLUMNS = ["panel", "series", "stimuli", "variant", "layer", "head", *VALUES]
WHOLE = {
    "layer",
    "ref_layer",
    "head",
    "replicates",
    "trained",
    "failed",
    "rank",
    "position",
    "layers",
    "step",
}
NUMBERS = {
    "value",
    "low",
    "high",
    "p",
    "p_holm",
    "n",
    "k_model",
    "k_reference",
    "examples",
    "portion",
    "sd_probe",
    "sd_finetuning",
    "sd_pretraining",
    "sd",
    "least",
    "most",
    "constant",
    "runs",
    "q",
    "p_runs",
    "q_runs",
    "se",
    "share",
    "changed",
}


def of_measure(inputs: Mapping[str, Table], name: str) -> dict[str, Table]:
    """Select the tables that lie below `results/<name>`."""
    return {path: table for path, table in inputs.items() if path.startswith(f"results/{name}/")}


def stack(
    tables: Mapping[str, Table],
    metric: str,
    variants: Iterable[str],
    stimuli: Iterable[str] = (),
) -> Table:
    """Stack all rows of one metric, these variants and these stimuli (none given: the first that
    each table lists).

    They keep the order of `tables`. Raises UserError where a table has none.
    """
    variants, stimuli = list(variants), list(stimuli)
    parts = []
    for path, table in tables.items():
        for column in ("metric", "variant", "stimuli"):
            if column not in table:
                raise UserError(
                    f"{path} has no column '{column}'; let its metric give each row one, or delete"
                    " it and call the same command again."
                )
        part = table.where((table["metric"] == metric) & table["variant"].isin(variants))
        part = part.assign(table=path)
        part = part.where(part["stimuli"].isin(stimuli or part["stimuli"].head(1)))
        if not len(part):
            inputs = f", inputs {' or '.join(stimuli)}" if stimuli else ""
            raise UserError(
                f"{path} has no rows of metric '{metric}', variant"
                f" {' or '.join(variants)}{inputs}; delete it and run its rule again."
            )
        parts.append(part)
    if not parts:
        raise UserError(
            f"a figure of '{metric}' has no models; list some under its key in 'figures'."
        )
    return concat(parts)


def stack_layers(
    inputs: Mapping[str, Table],
    metric: str,
    variants: Iterable[str],
    stimuli: Iterable[str] = (),
) -> Table:
    """Stack the rows over layers, means over heads, of the tables of one metric, as `stack`
    does."""
    measured = stack(of_measure(inputs, metric), metric, variants, stimuli)
    return measured.where(measured["head"] == 0)


def rows_of(tables: Mapping[str, Table], metric: str) -> Table:
    """Stack all rows of one metric in the order of `tables`, `series` naming the model's role;
    UserError if there are none."""
    parts = []
    for path, table in tables.items():
        rows_of_metric = table.rows[table["metric"] == metric]
        for model, rows in rows_of_metric.groupby("model", sort=False):
            role = labelling.role_of(model, rows["seed"])
            parts.append(table.keep(rows.assign(table=path, series=role)))
    if not parts:
        paths = ", ".join(tables)
        raise UserError(
            f"no rows of metric '{metric}' in {paths}; delete them and run their rules again."
        )
    return concat(parts)


def first_run(measured: Table, by: str = "panel") -> Table:
    """Select for each `by` the replicates of one pretraining run: the first with a fine-tuning
    that did not fail, or else the first. A mean over runs of one head's number would mix different
    heads."""
    rows = measured.rows
    is_trained = ~statistics.failures(rows) & (rows["seed"] > 0)
    first = rows.groupby(by)["init"].min()
    first_trained = rows[is_trained].groupby(by)["init"].min()
    selected = first_trained.combine_first(first)
    return measured.where(rows["init"] == rows[by].map(selected))


def trained(measured: Table, group_by: list[str]) -> Table:
    """Select the rows that `means` averages: without those of runs that failed, unless all of a
    group of `group_by` did."""
    failed = statistics.failures(measured.rows)
    all_failed = failed.groupby([measured[key] for key in group_by]).transform("all")
    return measured.where(~failed | all_failed)


def means(measured: Table, by: list[str], group_by: list[str]) -> pd.DataFrame:
    """Average over replicates by `by`, with the sources of each mean. Runs may differ between
    groups of `group_by`, which are among `by`. Runs that failed to train are counted (`runs_of`,
    by `group_by`) and left out, unless all failed."""
    measured = _sort_groups(measured, group_by)
    averages = trained(measured, group_by).averaged(by, group_by)
    return _add_sources(averages, measured.rows, group_by, group_by)


def means_of_all(measured: Table, by: list[str], group_by: list[str]) -> pd.DataFrame:
    """Average scores over all runs by `by`, those that failed to train among them: for a score,
    failure is a result. Runs are counted by `by`."""
    measured = _sort_groups(measured, group_by)
    return _add_sources(measured.averaged(by, group_by), measured.rows, group_by, by)


def _sort_groups(measured: Table, group_by: list[str]) -> Table:
    """Sort the rows so that one group of `group_by` follows the other."""
    rows = measured.rows.dropna(subset=group_by)
    order = rows.groupby(group_by, sort=False).ngroup().to_numpy()
    return measured.keep(rows.iloc[np.argsort(order, kind="stable")])


def _add_sources(
    averages: pd.DataFrame, rows: pd.DataFrame, group_by: list[str], counted_by: list[str]
) -> pd.DataFrame:
    """Add the sources of each group of `group_by`, and the counts of runs of each group of
    `counted_by`."""
    groups = rows.groupby(group_by, sort=False)
    sources = groups[ORIGIN].agg(distinct)
    sources["table"] = groups["table"].agg(each_once)
    averages = averages.join(sources, on=group_by).join(runs_of(rows, counted_by), on=counted_by)
    return averages.assign(source="ours", provenance="measured", citation="")


def runs_of(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Count how many of the runs that each group `by` is about learned their task (`trained`) and
    did not (`failed`); 0 and 0 where the rows do not say."""
    failed = statistics.failures(rows)
    is_known = rows["failed"].notna() if "failed" in rows else False
    runs = rows.assign(failed=failed, trained=is_known & ~failed)
    run = [key for key in statistics.RUN if key in rows]
    runs = runs.drop_duplicates([*by, *run])
    return runs.groupby(by)[["trained", "failed"]].sum()


def each_once(names: Iterable[str]) -> str:
    """Join names of tables by `; `, each name once; each of `names` may be several so joined."""
    return "; ".join(dict.fromkeys("; ".join(map(str, names)).split("; ")))


def ours(measured: Table, panel: str, series: str) -> pd.DataFrame:
    """Average over replicates, as rows of a figure's table; `panel` and `series` name columns of
    the rows."""
    measured = measured.assign(panel=measured[panel], series=measured[series])
    return means(measured, [*COLUMNS[:6], "model"], ["series", "model", "stimuli"])[COLUMNS]


def published(entry: Mapping, paper: Mapping, **columns) -> pd.DataFrame:
    """Make rows of published numbers: `columns` give panel, series, layer, head, value and so on,
    as scalars or lists."""
    has_lists = any(isinstance(values, list) for values in columns.values())
    return pd.DataFrame(columns, index=None if has_lists else [0]).assign(
        source="published",
        provenance=entry["provenance"],
        citation=f"{paper['short']}, {entry['place']}",
        scale="published",
        checkpoint=paper["checkpoint"],
        family=BERT,
    )


def spread(row, number: Callable[[float], str]) -> str:
    """Write the text below a mean: the interval where replicates are enough for one, or else the
    value of each of several; empty for a single one, and for an interval without a width."""
    if row.high - row.low < statistics.EQUAL:
        return ""
    if np.isfinite(row.low) and row.replicates >= statistics.BANDED:
        return f"[{number(row.low)}, {number(row.high)}]"
    return " / ".join(map(number, statistics.each_of(row.each)))


def with_spread(row, number: Callable[[float], str]) -> str:
    """Write a mean and its `spread` in one line."""
    text = spread(row, number)
    if " / " in text:
        text = f"({text})"
    return f"{number(row.value)} {text}".rstrip()


def reach(values: pd.Series, form: str = ".2f") -> str:
    """Write the least and the largest of values: `0.80`, or `0.75 to 0.80`."""
    least, most = f"{values.min():{form}}", f"{values.max():{form}}"
    return least if least == most else f"{least} to {most}"


def cells(matrix) -> dict[str, list]:
    """Turn a [layers, heads] matrix into columns layer, head and value, layers and heads counted
    from 1."""
    matrix = np.asarray(matrix)
    layer, head = (axis.ravel() + 1 for axis in np.indices(matrix.shape))
    return {"layer": layer.tolist(), "head": head.tolist(), "value": matrix.ravel().tolist()}


def cited(published_file: Mapping, item: str, table: pd.DataFrame, more: str = "") -> str:
    """Write a sentence on the published numbers of figure `item`, ending with `more`; empty if
    `table` has none."""
    if not (table["source"] == "published").any():
        return ""
    paper, entry = published_file["paper"], published_file[item]
    tolerance = f" (±{entry['tolerance']})" if "tolerance" in entry else ""
    return (
        f"Paper: {paper['short']}, {entry['place']}, {paper['checkpoint']},"
        f" {entry['provenance']}{tolerance}{more}."
    )


def join(*parts: pd.DataFrame, columns: list[str] = COLUMNS) -> pd.DataFrame:
    """Join parts into one table of `columns`. Columns that are neither WHOLE nor NUMBERS keep the
    numbers that they have; else they are texts, empty rather than missing, so that it reads back
    alike."""
    table = pd.concat([part for part in parts if len(part)], ignore_index=True)
    table = table.reindex(columns=columns)
    for column in table:
        if column in WHOLE:
            table[column] = table[column].fillna(0).astype(int)
        elif column in NUMBERS:
            table[column] = table[column].astype(float)
        elif not (is_numeric_dtype(table[column]) and table[column].notna().any()):
            table[column] = table[column].astype(object).where(table[column].notna(), "")
    return table
