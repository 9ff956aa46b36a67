"""The numbers of a figure without curves, as a list: ours, or those of several archives, next to
the published ones."""

from collections.abc import Sequence

import pandas as pd

from bertshift.figures import numbers
from bertshift.page.charts import DIMENSIONS, in_words, shown

ARCHIVE = "archive"
# Columns about a number; the other columns identify the number.
ATTRIBUTES = {
    *numbers.VALUES,
    *numbers.NUMBERS,
    ARCHIVE,
    "version",
    "significant",
    "sample",
    "layers",
    "pairs",
    "orders",
    "p_within",
    "orders_within",
} - {"portion", "share"}
# Columns of maps of examples, and of losses at each step: no numbers to list.
SINGLE = {
    "weights",
    "step",
}


def listed(rows: pd.DataFrame, archives: Sequence[str]) -> dict | None:
    """List the numbers of each of `archives`, with the paper's: `heads` name the cells that
    identify a number; a row is [cells, [value, low, high] of each archive or None, published
    value or None]. None for examples and for steps of a training."""
    if SINGLE & {*rows}:
        return None
    rows = rows[rows["value"].notna()]
    keys = [key for key in rows if key not in ATTRIBUTES and rows[key].nunique(dropna=False) > 1]
    measured: dict[tuple, list] = {}
    published: dict[tuple, float | None] = {}
    for row in rows.to_dict("records"):
        cells = tuple("" if pd.isna(row[key]) else row[key] for key in keys)
        numbers_by_archive = measured.setdefault(cells, [None] * len(archives))
        if row["source"] == "ours":
            number = [shown(row["value"]), shown(row["low"]), shown(row["high"])]
            numbers_by_archive[archives.index(row[ARCHIVE])] = number
        else:
            published[cells] = shown(row["value"])
    lines = []
    for cells, numbers_by_archive in measured.items():
        words = ["" if cell == "" else in_words(cell) for cell in cells]
        lines.append([words, numbers_by_archive, published.get(cells)])
    return {
        "heads": [DIMENSIONS.get(key, key.replace("_", " ").capitalize()) for key in keys],
        "rows": lines,
    }
