"""From metric TSVs to the tidy table of a figure: every number drawn is one of its rows."""

from collections.abc import Iterable, Mapping

import pandas as pd

from bertshift import stats
from bertshift.errors import UserError

COLUMNS = [
    "panel", "series", "stimuli", "variant", "layer", "head", "value", "low", "high", "replicates", "unit",
    "interval", "source", "provenance", "citation", "scale", "checkpoint", "data",
]  # fmt: skip


def stack(
    tables: Mapping[str, pd.DataFrame],
    metric: str,
    variants: Iterable[str],
    stimuli: Iterable[str] | None = None,
) -> pd.DataFrame:
    """All rows of one metric, these variants and these stimuli (None: the first that each table lists).

    They keep the order of `tables`. Raises UserError where a table has none.
    """
    kept = []
    for path, table in tables.items():
        rows = table[(table["metric"] == metric) & table["variant"].isin(list(variants))]
        rows = rows[rows["stimuli"].isin(rows["stimuli"].head(1) if stimuli is None else list(stimuli))]
        if rows.empty:
            raise UserError(f"{path} has no rows of metric '{metric}', variant {' or '.join(variants)}"
                            f"{', inputs ' + ' or '.join(stimuli) if stimuli else ''}; delete it and run its rule again.")  # fmt: skip
        kept.append(rows)
    if not kept:
        raise UserError(f"a figure of '{metric}' has no models; list some under its key in 'figures'.")
    return pd.concat(kept, ignore_index=True)


def ours(rows: pd.DataFrame, panel: str, series: str) -> pd.DataFrame:
    """Means over replicates as rows of a figure's table; `panel` and `series` name columns of `rows`."""
    by = list(dict.fromkeys([panel, series, "model", "stimuli", "variant", "layer", "head"]))
    parts = []
    for _, group in rows.groupby(
        ["model", "stimuli"], sort=False
    ):  # which runs there are, and where they come from
        part = stats.summarise(group, by)
        for column in ("scale", "checkpoint", "data"):
            part[column] = "; ".join(map(str, group[column].unique()))
        parts.append(part)
    table = pd.concat(parts, ignore_index=True).rename(columns={panel: "panel"})
    table["series"] = table["panel"] if series == panel else table[series]
    return table.assign(source="ours", provenance="measured", citation="")[COLUMNS]


def published(entry: Mapping, paper: Mapping, **columns) -> pd.DataFrame:
    """Rows of published numbers: `columns` give panel, series, layer, head, value and so on, as scalars or lists."""
    frame = pd.DataFrame(
        columns if any(isinstance(v, list) for v in columns.values()) else columns | {"source": [""]}
    )
    frame = frame.assign(
        source="published",
        provenance=entry["provenance"],
        citation=f"{paper['short']}, {entry['place']}",
        scale="published",
        checkpoint=paper["checkpoint"],
    )
    return frame.reindex(columns=COLUMNS)


def join(*parts: pd.DataFrame) -> pd.DataFrame:
    """One table with every column of COLUMNS; text columns empty rather than missing, so that it reads back alike."""
    table = pd.concat([part for part in parts if len(part)], ignore_index=True)[COLUMNS]
    text = ["panel", "series", "stimuli", "variant", "unit", "interval", "source", "provenance", "citation", "scale",
            "checkpoint", "data"]  # fmt: skip
    table[text] = table[text].astype(object).where(table[text].notna(), "")
    for column in ("layer", "head", "replicates"):
        table[column] = table[column].fillna(0).astype(int)
    for column in ("value", "low", "high"):
        table[column] = table[column].astype(float)
    return table
