"""The range of every measure, and how far its intervals reach inside it.

A standard error goes over to a scale without ends by the delta method (Casella and Berger 2002,
section 5.5.4): the logit of a number's place in its range, or the logarithm of its distance from
the only end. There the interval is symmetric, and its ends are carried back. For a range from -1
to 1 twice Fisher's z is this logit.

Examples that are all right, or all wrong, do not vary, so the jackknife of their share has an
error of 0. With n examples the error is 2 / (n + 4) instead, so that the limit of Wilson's
interval (1927), n / (n + z^2) with z = 2, lies two errors from the share.
"""

import os
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import expit

from bertshift.errors import UserError
from bertshift.measures import ANY, MEASURES, Range

Z = 2  # of Wilson's interval of 95 %
# A share of the range's width, or a number where it has none: nearer to an end is at the end.
AT_END = 1e-12
# Two replicates, one of them at an end, have an error as large as their distance from it.
BEYOND = 1 + 1e-9
# Columns that distinguish measures of one name, in the order in which they are looked up.
KINDS = ["variant", "measure", "quantity", "score"]

# Every metric that a table may have, by the column `metric`, or this and a word of one of KINDS.
RANGES: Mapping[str, Range] = {
    name: bounds for measure in MEASURES.values() for name, bounds in measure.ranges.items()
}
# Those that are shares of examples.
COUNTED = dict.fromkeys((name for measure in MEASURES.values() for name in measure.counted), True)


def check_declared(table: pd.DataFrame, path: str | os.PathLike) -> None:
    """Raise UserError for a metric of the `table`, which `path` shall hold, that has no range in
    RANGES."""
    missing = table[_look_up(table, RANGES).isna()]
    if len(missing) and "metric" in missing:
        row = missing.iloc[0]
        words = "".join(f", {kind} {row[kind]}" for kind in KINDS if kind in row)
        raise UserError(
            f"{path}: the metric {row['metric']!r}{words} has no range; write one under `ranges`"
            " in the record of its measure, in measures/. A number without ends has the range"
            " ANY."
        )


def of(table: pd.DataFrame) -> np.ndarray:
    """Look up the ends of the range of each row's `value`, [rows, 2], infinite where a table of
    another version has a metric without one."""
    bounds = [pair if isinstance(pair, tuple) else ANY for pair in _look_up(table, RANGES)]
    return np.array(bounds).reshape(-1, 2)


def examples(table: pd.DataFrame) -> np.ndarray:
    """Look up how many examples each row's `value` is a share of, [rows]: column `n`, in tables of
    scores `dev`. NaN where the value is not such a share (COUNTED)."""
    counts = table.get("n", table.get("dev", np.nan))
    is_share = _look_up(table, COUNTED).notna()
    return np.where(is_share, counts, np.nan)


def _look_up(table: pd.DataFrame, values_by_name: Mapping) -> pd.Series:
    """Look up each row's measure: by the column `metric`, or this and a word of one of KINDS; NaN
    where it is not there."""
    metric = table["metric"].astype(str) if "metric" in table else pd.Series("", table.index)
    values = metric.map(values_by_name)
    for kind in reversed(KINDS):
        if kind in table:
            name = metric + " " + table[kind].astype(str)
            values = name.map(values_by_name).where(name.isin(values_by_name), values)
    return values


def check(rows: pd.DataFrame, bounds: np.ndarray) -> None:
    """Raise UserError where a value lies outside its row's range, [rows, 2]: the table is damaged
    or holds other numbers."""
    value = rows["value"].to_numpy(np.float64)
    slack = 1e-6 * np.maximum(1, np.abs(value))
    low, high = bounds.T
    outside = (value < low - slack) | (value > high + slack)
    if outside.any():
        row = rows[outside].iloc[0]
        floor, ceiling = bounds[outside][0]
        path = row.get("table", "a table")
        metric = row.get("metric", "a measure")
        raise UserError(
            f"{path}: {metric} is {row['value']:g}, which lies outside its range from"
            f" {floor:g} to {ceiling:g}; delete the table and run its rule again."
        )


def reached(value, error, errors, bounds: Range | tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Find the end of an interval, at `errors` (signed) times the standard error `error` from
    `value`. The end never leaves the range.

    At an end of the range no scale has a place for the number, and within one standard error of it
    the delta method has no straight line to follow: no mean is so near unless the jackknife
    jumped. There the step is that of the number's own scale, cut where the range ends. A number
    that does not vary, such as the similarity of a layer that did not change, has an error of 0
    and stays what it is.
    """
    value, errors, error, low, high = _broadcast(value, errors, error, *bounds)
    below = value - low
    above = high - value
    step = errors * error
    has_low = np.isfinite(low)
    has_high = np.isfinite(high)
    with np.errstate(all="ignore"):
        # The step on the scale without ends; 1 / inf is 0.
        scaled_step = step * (1 / below + 1 / above)
        linear = value + step
        clipped = np.clip(linear, np.minimum(low, value), np.maximum(high, value))
        logit = np.log(below) - np.log(above)
        by_logit = low + (high - low) * expit(logit + scaled_step)
        by_log_above_low = low + below * np.exp(scaled_step)
        by_log_below_high = high - above * np.exp(-scaled_step)
    end = np.select(
        [_is_at_end(value, error, low, high), has_low & has_high, has_low, has_high],
        [clipped, by_logit, by_log_above_low, by_log_below_high],
        linear,
    )
    return end[()]


def distance(value, error, other, bounds: Range) -> np.ndarray:
    """Count the standard errors (signed) from `value` to `other`, as `reached` takes them;
    infinite to an end of the range and beyond, unless `value` lies at an end or within one
    standard error of it."""
    value, other, error, low, high = _broadcast(value, other, error, *bounds)
    below = value - low
    above = high - value
    has_no_end = np.isinf(low) & np.isinf(high)
    is_linear = _is_at_end(value, error, low, high) | has_no_end
    with np.errstate(all="ignore"):
        from_low = np.log(np.maximum(other - low, 0) / below)
        from_high = np.log(np.maximum(high - other, 0) / above)
        scaled_step = np.where(np.isfinite(low), from_low, 0.0)
        scaled_step = scaled_step - np.where(np.isfinite(high), from_high, 0.0)
        step = scaled_step / (1 / below + 1 / above)
        return np.where(is_linear, other - value, step) / error


def least_error(value, examples, bounds: Range | tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Compute the least standard error of a share of `examples`, in the unit of `value`: the error
    of Wilson's limit where all or none of them count, else 0. It is 0 where their number is
    NaN."""
    value, low, high = _broadcast(value, *bounds)
    width = high - low
    nearest = np.minimum(value - low, high - value)
    at_end = nearest <= AT_END * width
    has_limit = at_end & np.isfinite(width) & np.isfinite(examples)
    error = Z * width / (np.asarray(examples) + Z**2)
    return np.where(has_limit, error, 0.0)


def _broadcast(*values) -> Sequence[np.ndarray]:
    """Broadcast numbers and arrays to float64 arrays of one shape."""
    return np.broadcast_arrays(*(np.asarray(value, np.float64) for value in values))


def _is_at_end(value, error, low, high) -> np.ndarray:
    """Test whether a value lies at an end of its range, or within one standard error of it."""
    width = np.where(np.isfinite(high - low), high - low, 1.0)
    nearest = np.minimum(value - low, high - value)
    return (nearest <= AT_END * width) | (error > nearest * BEYOND)
