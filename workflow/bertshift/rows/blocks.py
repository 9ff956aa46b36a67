"""Uncertainty of a number as a measure of the text, from the same number without each of up to 20
blocks of examples.

Blocks are runs of whole examples, as tokens of a sentence are not independent; the same for all
models and layers. The delete-a-block jackknife (Efron and Tibshirani 1993, chapter 11), theta_(-b)
the number without block b:

    se^2 = (B - 1) / B  sum_b (theta_(-b) - mean of theta_(-b))^2

For a mean over blocks of equal size it is the classical standard error. A `table.Table` keeps the
values without each block beside its rows.
"""

import os
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy import stats as distributions

from bertshift.files import BLOCKS, write_tsv
from bertshift.rows import ranges
from bertshift.version import stamped

LEVEL = 0.95
ALIKE = 1e-3  # of what counts as rounding: values that differ by less do not spread
CHECKED = 10  # from this many blocks on, values without a block must lie near their value


def block_of(examples: int, blocks: int | None = None) -> np.ndarray:
    """Assign each example its block, [examples], from 0. The `blocks` (20) are as equal as can be.
    Where examples are fewer than blocks, each is a block of its own."""
    count = min(blocks or BLOCKS, examples)
    return np.arange(examples) * count // max(examples, 1)


def outside(examples: int) -> list[np.ndarray]:
    """List, for each block, the positions of the examples outside it. A single block has no such
    list, as nothing is left."""
    block = block_of(examples)
    rests = [np.flatnonzero(block != number) for number in np.unique(block)]
    return [rest for rest in rests if len(rest)]


def left_out(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Average without each block, [..., B], from each block's sum and count [..., B]; NaN where
    nothing is left."""
    sums = np.asarray(sums, np.float64)
    counts = np.asarray(counts, np.float64)
    rest_sums = sums.sum(axis=-1, keepdims=True) - sums
    rest_counts = counts.sum(axis=-1, keepdims=True) - counts
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(rest_counts > 0, rest_sums / rest_counts, np.nan)


def slices(block: np.ndarray, blocks: int) -> list[slice]:
    """Find where each block's rows are, given each row's block [n] in rising order; some slices
    may be empty."""
    bounds = np.searchsorted(block, np.arange(blocks + 1))
    return [slice(start, end) for start, end in pairwise(bounds)]


def padded(rows: Sequence[Sequence[float]]) -> np.ndarray:
    """Stack values without each block, at most BLOCKS of them in each row: [rows, BLOCKS], NaN
    where there are fewer blocks."""
    left_out = np.full((len(rows), BLOCKS), np.nan)
    for number, row in enumerate(rows):
        left_out[number, : len(row)] = row
    return left_out


def check(value: np.ndarray, without: np.ndarray) -> None:
    """Raise ValueError where values without blocks, [rows, B], lie far from their value, [rows]:
    one of them was changed without the other.

    Without one of fewer than CHECKED blocks, a value may lie anywhere. Where blocks are alike, as
    of one sentence many times, the values without them do not spread. They differ from their value
    by the bias of the jackknife alone, which no spread bounds.
    """
    has_enough = np.isfinite(without).sum(axis=1) >= CHECKED
    without = without[has_enough]
    value = value[has_enough]
    low = np.nanmin(without, axis=1)
    high = np.nanmax(without, axis=1)
    spread = high - low
    rounding = 1e-6 * np.abs(value) + 1e-9
    slack = np.where(spread > ALIKE * rounding, 20 * spread + rounding, np.inf)
    far = (value < low - slack) | (value > high + slack)
    if far.any():
        raise ValueError(f"{far.sum()} values are not those that the blocks were left out of")


def jackknife(without: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Calculate the standard error and the number of blocks [...] from values without each block
    [..., B], NaN where there is none; with fewer than two blocks the error is NaN."""
    finite = np.isfinite(without)
    blocks = finite.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(finite, without, 0.0).sum(axis=-1) / blocks
        deviations = np.where(finite, without - mean[..., None], 0.0)
        squares = (deviations**2).sum(axis=-1)
        variance = np.where(blocks > 1, (blocks - 1) / blocks * squares, np.nan)
    return np.sqrt(variance), blocks


def interval(
    value: np.ndarray, without: np.ndarray, bounds=ranges.ANY, examples=np.nan
) -> tuple[np.ndarray, np.ndarray]:
    """Calculate low and high [...], the two-sided 95 % t interval of `value` with B - 1 degrees of
    freedom, inside a range with these `bounds`. `examples` are how many the value is a share of,
    if it is one."""
    error, blocks = jackknife(without)
    error = np.maximum(error, ranges.least_error(value, examples, bounds))
    freedom = np.where(blocks > 1, blocks - 1, 1)
    t = distributions.t.ppf((1 + LEVEL) / 2, freedom)
    low = ranges.reached(value, error, -t, bounds)
    high = ranges.reached(value, error, t, bounds)
    return low, high


def write_measures(path: str | os.PathLike, table: pd.DataFrame) -> None:
    """Write a table of measures that have no blocks as a TSV."""
    ranges.check_declared(table, path)
    write_tsv(path, stamped(table))
