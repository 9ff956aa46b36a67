"""The range of every measure, and how far its intervals reach inside it.

A standard error goes over to a scale without ends by the delta method (Casella and Berger 2002,
section 5.5.4): the logit of a number's place in its range, or the logarithm of its distance from
the only end. There the interval is symmetric, and its ends are carried back. For a range from -1
to 1 twice Fisher's z is this logit.

Examples that are all right, or all wrong, do not vary, so the jackknife of their share has an
error of 0. With n examples the error is 2 / (n + 4) instead: two errors from the share lies the
limit of Wilson's interval (1927), n / (n + z^2) with z = 2.
"""

import os
from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.special import expit

from bertshift import measures
from bertshift.errors import UserError
from bertshift.measures import ANY, CORRELATION, POSITIVE, SHARE, Range

ENDS = ["floor", "ceiling"]  # in memory, columns of a table with the range of its column `value`
# In memory, a column with the number of examples that `value` is a share of, or NaN.
SHARE_OF = "share_of"
Z = 2  # of Wilson's interval of 95 %
# A share of the range's width, or a number where it has none: nearer to an end is at the end.
AT_END = 1e-12
# Two replicates, one of them at an end, have an error as large as their distance from it.
BEYOND = 1 + 1e-9
# Columns that tell measures of one name apart, in the order in which they are looked for.
KINDS = ["variant", "measure", "quantity", "score"]

SCORES: Mapping[str, Range] = {
    **dict.fromkeys(
        [
            "accuracy",
            "f1",
            "macro_f1",
            "exact_match",
            "uas",
            "las_ud",
            "las_full",
            "las_nopunct",
            "las_wordpiece",
            "label_accuracy_gold_heads",
        ],
        SHARE,
    ),
    **{
        f"{part}_{score}": SHARE
        for part in ("no_answer", "has_answer", "best")
        for score in ("f1", "exact_match")
    },
    **dict.fromkeys(
        ["best_f1_threshold", "best_exact_match_threshold"], ANY
    ),  # differences of logits
    **dict.fromkeys(["mcc", "pearson", "spearman"], CORRELATION),
}
# Metrics with a column `score`.
SCORED = [
    "frozen",
    "ablation",
    "ablation_split_half",
    "restored_score",
]
# By the column `metric`, or this and a word of one of KINDS: every metric that a table may have.
# Those of metrics of two models stand in their records.
RANGES: Mapping[str, Range] = {
    **measures.RANGES,
    **SCORES,
    **{f"{metric} {score}": bounds for metric in SCORED for score, bounds in SCORES.items()},
    "edge_probe": SHARE,
    "edge_probe_delta": ANY,
    "forgetting": ANY,  # `forgotten` is a difference
    "forgetting model": POSITIVE,
    "forgetting parent": POSITIVE,
    "grounding": ANY,  # has no interval
    "loss": POSITIVE,
    "mdl": POSITIVE,
    "mdl f1": SHARE,
    **dict.fromkeys(["pattern_confusion", "pattern_f1", "pattern_map", "pattern_share"], SHARE),
    **dict.fromkeys(["relation_heads", "relation_map"], SHARE),
    "restored": SHARE,
    "steps": POSITIVE,
    "structural_probe": SHARE,
    "structural_probe spearman": CORRELATION,
    "weights_moved": POSITIVE,
}

# Shares of examples, named as in RANGES. Words of a sentence and maps of an input are not
# independent: their number is that of the examples.
COUNTED_SCORES = ["accuracy", "exact_match", "uas", "las_ud", "las_full"]
COUNTED = {
    *COUNTED_SCORES,
    *(f"{metric} {score}" for metric in SCORED for score in COUNTED_SCORES),
    "pattern_share",
    "structural_probe root_accuracy",
}


def check_declared(table: pd.DataFrame, path: str | os.PathLike) -> None:
    """Raise UserError for a metric of the `table`, which `path` shall hold, that has no range in
    RANGES."""
    missing = table[_looked_up(table, RANGES).isna()]
    if len(missing) and "metric" in missing:
        row = missing.iloc[0]
        words = "".join(f", {kind} {row[kind]}" for kind in KINDS if kind in row)
        raise UserError(
            f"{path}: the metric {row['metric']!r}{words} has no range; write one under `ranges`"
            f" in measures/{row['metric']}.py, or in RANGES of rows/ranges.py if it is not of two"
            " models. A number without ends has the range ANY."
        )


def of(table: pd.DataFrame) -> np.ndarray:
    """Look up the ends of the range of each row's `value`, [rows, 2], infinite where a table of
    another version has a metric without one."""
    found = _looked_up(table, RANGES)
    return np.array([bounds if isinstance(bounds, tuple) else ANY for bounds in found]).reshape(
        -1, 2
    )


def examples(table: pd.DataFrame) -> np.ndarray:
    """Look up how many examples each row's `value` is a share of, [rows]: column `n`, in tables of
    scores `dev`. NaN where the value is no such share (COUNTED)."""
    known = next((table[column] for column in ("n", "dev") if column in table), np.nan)
    counted = _looked_up(table, dict.fromkeys(COUNTED, True)).notna()
    return np.where(counted, known, np.nan)


def _looked_up(table: pd.DataFrame, known: Mapping) -> pd.Series:
    """Look up each row's measure in `known`: by the column `metric`, or this and a word of one of
    KINDS; NaN where it is not there."""
    metric = table["metric"].astype(str) if "metric" in table else pd.Series("", table.index)
    found = metric.map(known)
    for kind in reversed([kind for kind in KINDS if kind in table]):
        words = metric + " " + table[kind].astype(str)
        found = words.map(known).where(words.isin(known), found)
    return found


def within(table: pd.DataFrame, bounds) -> pd.DataFrame:
    """Set a table's columns ENDS to the `bounds` of its values' range: one pair, or (floors,
    ceilings) row by row."""
    return table.assign(**dict(zip(ENDS, bounds, strict=True)))


def within_measures(table: pd.DataFrame) -> pd.DataFrame:
    """Set a table's columns ENDS to the ends of its measures' ranges."""
    return within(table, of(table).T)


def check(table: pd.DataFrame) -> None:
    """Raise UserError where a value lies outside the range beside it: the table is damaged or
    holds other numbers."""
    if {*ENDS} <= {*table}:
        value, (low, high) = (
            table["value"].to_numpy(np.float64),
            table[ENDS].to_numpy(np.float64).T,
        )
        slack = 1e-6 * np.maximum(1, np.abs(value))
        outside = (value < low - slack) | (value > high + slack)
        if outside.any():
            row = table[outside].iloc[0]
            path, metric = row.get("table", "a table"), row.get("metric", "a measure")
            raise UserError(
                f"{path}: {metric} is {row['value']:g}, which lies outside its range from"
                f" {row[ENDS[0]]:g} to {row[ENDS[1]]:g}; delete the table and run its rule again."
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
    value, errors, error, low, high, below, above, at_end = _placed(value, errors, error, bounds)
    step = errors * error
    with np.errstate(all="ignore"):
        moved = step * (1 / below + 1 / above)  # on the scale without ends; 1 / inf is 0
        found = np.select(
            [at_end, np.isfinite(low) & np.isfinite(high), np.isfinite(low), np.isfinite(high)],
            [
                np.clip(value + step, np.minimum(low, value), np.maximum(high, value)),
                low + (high - low) * expit(np.log(below) - np.log(above) + moved),
                low + below * np.exp(moved),
                high - above * np.exp(-moved),
            ],
            value + step,
        )
    return found[()]


def distance(value, error, other, bounds: Range) -> np.ndarray:
    """Count the standard errors (signed) from `value` to `other`, as `reached` takes them;
    infinite to an end of the range and beyond, unless `value` lies at an end or within one
    standard error of it."""
    value, other, error, low, high, below, above, at_end = _placed(value, other, error, bounds)
    linear = at_end | (np.isinf(low) & np.isinf(high))
    with np.errstate(all="ignore"):
        scale = np.where(np.isfinite(low), np.log(np.maximum(other - low, 0) / below), 0.0)
        scale = scale - np.where(
            np.isfinite(high), np.log(np.maximum(high - other, 0) / above), 0.0
        )
        return np.where(linear, other - value, scale / (1 / below + 1 / above)) / error


def least_error(value, examples, bounds: Range | tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Compute the least standard error of shares of so many `examples`, in the unit of `value`:
    that of Wilson's limit where all or none of them count, else 0. It is 0 where the number is
    NaN."""
    value, low, high = np.broadcast_arrays(
        *(np.asarray(part, np.float64) for part in (value, *bounds))
    )
    width = high - low
    at_end = np.minimum(value - low, high - value) <= AT_END * width
    known = at_end & np.isfinite(width) & np.isfinite(examples)
    return np.where(known, Z * width / (np.asarray(examples) + Z**2), 0.0)


def _placed(value, other, error, bounds) -> tuple[np.ndarray, ...]:
    """Broadcast value, other, error, low and high to one shape. Add the distances of the value
    from both ends, and whether it is too near to one of them."""
    value, other, error, low, high = np.broadcast_arrays(
        *(np.asarray(part, np.float64) for part in (value, other, error, *bounds))
    )
    below, above = value - low, high - value
    width, nearest = np.where(np.isfinite(high - low), high - low, 1.0), np.minimum(below, above)
    return (
        value,
        other,
        error,
        low,
        high,
        below,
        above,
        (nearest <= AT_END * width) | (error > nearest * BEYOND),
    )
