"""From metric TSVs to the tidy table of a figure: every number drawn is one of its rows."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pandas as pd

from bertshift.errors import UserError
from bertshift.models.source import BERT
from bertshift.rows import labelling, statistics
from bertshift.rows.provenance import ORIGIN, distinct

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


def of_measure(inputs: Mapping[str, pd.DataFrame], name: str) -> dict[str, pd.DataFrame]:
    """Select the tables that lie below `results/<name>`."""
    return {path: table for path, table in inputs.items() if path.startswith(f"results/{name}/")}


def stack(
    tables: Mapping[str, pd.DataFrame],
    metric: str,
    variants: Iterable[str],
    stimuli: Iterable[str] = (),
) -> pd.DataFrame:
    """Stack all rows of one metric, these variants and these stimuli (none given: the first that
    each table lists).

    They keep the order of `tables`. Raises UserError where a table has none.
    """
    kept = []
    for path, table in tables.items():
        if lacks := [name for name in ("metric", "variant", "stimuli") if name not in table]:
            raise UserError(
                f"{path} has no column '{lacks[0]}'; let its metric give each row one, or delete"
                " it and call the same command again."
            )
        rows = table[(table["metric"] == metric) & table["variant"].isin(list(variants))].assign(
            table=path
        )
        rows = rows[rows["stimuli"].isin(list(stimuli) or rows["stimuli"].head(1))]
        if rows.empty:
            raise UserError(
                f"{path} has no rows of metric '{metric}', variant"
                f" {' or '.join(variants)}{', inputs ' + ' or '.join(stimuli) if stimuli else ''};"
                " delete it and run its rule again."
            )
        kept.append(rows)
    if not kept:
        raise UserError(
            f"a figure of '{metric}' has no models; list some under its key in 'figures'."
        )
    return pd.concat(kept, ignore_index=True)


def rows_of(tables: Mapping[str, pd.DataFrame], metric: str) -> pd.DataFrame:
    """Stack all rows of one metric in the order of `tables`, `series` naming the model's role;
    UserError if there are none."""
    kept = []
    for path, table in tables.items():
        for model, rows in table[table["metric"] == metric].groupby("model", sort=False):
            kept.append(rows.assign(table=path, series=labelling.role_of(model, rows["seed"])))
    if not kept:
        paths = ", ".join(tables)
        raise UserError(
            f"no rows of metric '{metric}' in {paths}; delete them and run their rules again."
        )
    return pd.concat(kept, ignore_index=True)


def first_run(rows: pd.DataFrame, by: str = "panel") -> pd.DataFrame:
    """Select for each `by` the replicates of one pretraining run: the first with a fine-tuning
    that did not fail, or else the first. A mean over heads of several runs would be one of
    different heads."""
    trained = rows[~statistics.failures(rows) & (rows["seed"] > 0)].groupby(by)["init"].min()
    first = rows.groupby(by)["init"].min()
    return rows[rows["init"] == rows[by].map(trained.combine_first(first))]


def trained(rows: pd.DataFrame, group_by: list[str]) -> pd.DataFrame:
    """Select the rows of which `means` are taken: without those of runs that failed, unless all of
    a group of `group_by` did."""
    bad = statistics.failures(rows)
    return rows[~bad | bad.groupby([rows[key] for key in group_by]).transform("all")]


def means(rows: pd.DataFrame, by: list[str], group_by: list[str]) -> pd.DataFrame:
    """Average over replicates by `by`, with the sources of each mean. Runs may differ between
    groups of `group_by`, which are among `by`. Runs that failed to train are counted (`runs_of`,
    by `group_by`) and left out, unless all failed."""
    rows = _in_groups(rows, group_by)
    return _with_sources(
        statistics.summarise(trained(rows, group_by), by, group_by), rows, group_by, group_by
    )


def means_of_all(rows: pd.DataFrame, by: list[str], group_by: list[str]) -> pd.DataFrame:
    """Average scores over all runs by `by`, those that failed to train among them: for a score,
    failure is a result. Runs are counted by `by`."""
    rows = _in_groups(rows, group_by)
    return _with_sources(statistics.summarise(rows, by, group_by), rows, group_by, by)


def _in_groups(rows: pd.DataFrame, group_by: list[str]) -> pd.DataFrame:
    """Sort the rows so that one group of `group_by` follows the other."""
    rows = rows.dropna(subset=group_by)
    order = rows.groupby(group_by, sort=False).ngroup().to_numpy()
    return rows.iloc[np.argsort(order, kind="stable")]


def _with_sources(
    found: pd.DataFrame, rows: pd.DataFrame, group_by: list[str], of: list[str]
) -> pd.DataFrame:
    """Add to the means `found` what each group of `group_by` was made from, and the runs of each
    group `of`."""
    groups = rows.groupby(group_by, sort=False)
    facts = groups[ORIGIN].agg(distinct)
    facts["table"] = groups["table"].agg(each_once)
    found = found.join(facts, on=group_by).join(runs_of(rows, of), on=of)
    return found.assign(source="ours", provenance="measured", citation="")


def runs_of(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Count how many of the runs that each group `by` is about learned their task (`trained`) and
    did not (`failed`); 0 and 0 where the rows do not say."""
    told = rows["failed"].notna() if "failed" in rows else False
    failed = statistics.failures(rows)
    runs = rows.assign(failed=failed, trained=told & ~failed)
    runs = runs.drop_duplicates([*by, *(key for key in statistics.RUN if key in rows)])
    return runs.groupby(by)[["trained", "failed"]].sum()


def each_once(names: Iterable[str]) -> str:
    """Join names of tables by `; `, each name once; each of `names` may be several so joined."""
    return "; ".join(dict.fromkeys("; ".join(map(str, names)).split("; ")))


def ours(rows: pd.DataFrame, panel: str, series: str) -> pd.DataFrame:
    """Average over replicates, as rows of a figure's table; `panel` and `series` name columns of
    `rows`."""
    rows = rows.assign(panel=rows[panel], series=rows[series])
    return means(rows, [*COLUMNS[:6], "model"], ["series", "model", "stimuli"])[COLUMNS]


def published(entry: Mapping, paper: Mapping, **columns) -> pd.DataFrame:
    """Make rows of published numbers: `columns` give panel, series, layer, head, value and so on,
    as scalars or lists."""
    one_row = not any(isinstance(values, list) for values in columns.values())
    return pd.DataFrame(columns, index=[0] if one_row else None).assign(
        source="published",
        provenance=entry["provenance"],
        citation=f"{paper['short']}, {entry['place']}",
        scale="published",
        checkpoint=paper["checkpoint"],
        family=BERT,
    )


def spread(row, number: Callable[[float], str]) -> str:
    """Write the text below a mean: the interval where replicates are enough for one, or else what
    each of several has; empty for a single one."""
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
    return " to ".join(dict.fromkeys(f"{value:{form}}" for value in (values.min(), values.max())))


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
    said = (
        f"{paper['short']}, {entry['place']}, {paper['checkpoint']},"
        f" {entry['provenance']}{tolerance}"
    )
    return f"Paper: {said}{more}."


def join(*parts: pd.DataFrame, columns: list[str] = COLUMNS) -> pd.DataFrame:
    """Join parts into one table of `columns`; text columns are empty rather than missing, so that
    it reads back alike."""
    table = pd.concat([part for part in parts if len(part)], ignore_index=True).reindex(
        columns=columns
    )
    for column in table:
        if column in WHOLE:
            table[column] = table[column].fillna(0).astype(int)
        elif column in NUMBERS:
            table[column] = table[column].astype(float)
        else:
            table[column] = table[column].astype(object).where(table[column].notna(), "")
    return table
