"""Numbers in sentences and tables of text."""

import pandas as pd

from bertshift.rows import statistics


def spell(value: float) -> str:
    """Write a number in four digits, and 0 for what is rounding."""
    return f"{0 if abs(value) <= statistics.EQUAL else value:.4g}"


def with_interval(row: pd.Series, column: str = "value") -> str:
    """Write the number in a row's `column` with the interval in `low` and `high`, if it has
    one."""
    value = spell(row[column])
    if pd.isna(row["low"]):
        return value
    return f"{value} [{spell(row['low'])}, {spell(row['high'])}]"
