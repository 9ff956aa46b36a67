"""The numbers of a figure that has no curves, as a list: ours, or those of several archives,
beside the published ones."""

from collections.abc import Sequence

import pandas as pd

from bertshift.figures import numbers
from bertshift.page.charts import DIMENSIONS, in_words, shown

ARCHIVE = "archive"
# Columns about a number; the other columns say which number it is.
SAID = {
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
    """List the numbers of each of `archives`, with the paper's: `heads` name the cells that say
    which number it is; a row is [cells, [value, low, high] of each archive or None, published
    value or None]. None for examples and for steps of a training."""
    if SINGLE & {*rows}:
        return None
    rows = rows[rows["value"].notna()]
    keys = [key for key in rows if key not in SAID and rows[key].nunique(dropna=False) > 1]
    found: dict[tuple, list] = {}
    for row in rows.to_dict("records"):
        cells = tuple("" if pd.isna(row[key]) else row[key] for key in keys)
        number = found.setdefault(cells, [None] * (len(archives) + 1))
        if row["source"] == "ours":
            number[archives.index(row[ARCHIVE])] = [
                shown(row[key]) for key in ("value", "low", "high")
            ]
        else:
            number[-1] = shown(row["value"])
    return {
        "heads": [DIMENSIONS.get(key, key.replace("_", " ").capitalize()) for key in keys],
        "rows": [
            [
                [cell if isinstance(cell, str) and not cell else in_words(cell) for cell in cells],
                number[:-1],
                number[-1],
            ]
            for cells, number in found.items()
        ],
    }
