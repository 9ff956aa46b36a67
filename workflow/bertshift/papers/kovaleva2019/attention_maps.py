"""Whole attention maps, shared by Figures 1 and 10 of Kovaleva et al. 2019."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from bertshift.figures import numbers

COLUMNS = [
    "panel", "pattern", "layer", "head", "example", "length", "tokens", "special", "weights", *numbers.VALUES
]  # fmt: skip

LABELS = {
    "vertical": "Vertical", "diagonal": "Diagonal", "vertical_diagonal": "Vertical + diagonal", "block": "Block",
    "heterogeneous": "Heterogeneous"
}  # fmt: skip


def rows_of(inputs: Mapping[str, pd.DataFrame], variant: str) -> pd.DataFrame:
    """Every map of a variant, one row each; `panel` is its model."""
    rows = numbers.rows_of(inputs, "pattern_map")
    return rows[rows["variant"] == variant].assign(panel=lambda rows: rows["model"])


def drawn(rows: pd.DataFrame) -> pd.DataFrame:
    """The table of a figure of single maps: nothing is averaged."""
    by = [column for column in COLUMNS if column not in numbers.VALUES]
    one_by_one = numbers.means(rows, [*by, "init", "seed"], ["model"]).assign(unit="map")
    return numbers.join(one_by_one, columns=COLUMNS).astype({"length": int})


def matrix_of(row) -> np.ndarray:
    """[length, length] of a row of the table."""
    return np.array(row.weights.split(), float).reshape(row.length, row.length)
