"""Uncertainty of a number as a measure of the text, from the same number without each of up to 20
blocks of examples.

Blocks are runs of whole examples, as tokens of a sentence are not independent; the same for all
models and layers. The delete-a-block jackknife (Efron and Tibshirani 1993, chapter 11), theta_(-b)
the number without block b:

    se^2 = (B - 1) / B  sum_b (theta_(-b) - mean of theta_(-b))^2

For a mean over blocks of equal size it is the classical standard error. In memory, a table has a
column for each block; on disk these columns are a float64 file beside the TSV, because they would
be most of it.
"""

import os
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy import stats as distributions

from bertshift.errors import UserError
from bertshift.files import BLOCKS, atomic, blocks_beside, damaged, read_tsv, write_tsv
from bertshift.rows import ranges
from bertshift.version import stamped

JACKKNIFE_COLUMNS = [f"without{block}" for block in range(1, BLOCKS + 1)]
IN_MEMORY = [*JACKKNIFE_COLUMNS, *ranges.ENDS, ranges.SHARE_OF]
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


def in_columns(rows: Sequence[Sequence[float]]) -> pd.DataFrame:
    """Build the columns JACKKNIFE_COLUMNS from the values without each block, at most 20 of them
    in each row."""
    padded = np.full((len(rows), len(JACKKNIFE_COLUMNS)), np.nan)
    for number, row in enumerate(rows):
        padded[number, : len(row)] = row
    return pd.DataFrame(padded, columns=JACKKNIFE_COLUMNS)


def check(table: pd.DataFrame) -> None:
    """Raise ValueError where values without blocks lie far from their value: one of them was
    changed without the other.

    Without one of fewer than CHECKED blocks, a value may lie anywhere. Where blocks are alike, as
    of one sentence many times, the values without them do not spread. They differ from their value
    by the bias of the jackknife alone, which no spread bounds.
    """
    if not set(JACKKNIFE_COLUMNS) <= set(table):
        return
    without = table[JACKKNIFE_COLUMNS].to_numpy(np.float64)
    has_enough = np.isfinite(without).sum(axis=1) >= CHECKED
    without = without[has_enough]
    value = table["value"].to_numpy(np.float64)[has_enough]
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


def write_with_blocks(path: str | os.PathLike, table: pd.DataFrame, of: str = "value") -> None:
    """Write a table with the columns JACKKNIFE_COLUMNS (absent ones are NaN) as a TSV that has
    `low` and `high` after the number that they are `of` instead, and the columns as a file of
    float64 [rows, BLOCKS]. The same table gives the same bytes."""
    without = table.reindex(columns=JACKKNIFE_COLUMNS).to_numpy(np.float64)
    table = table.drop(columns=[*IN_MEMORY, "low", "high"], errors="ignore")
    bounds = ranges.ANY
    examples = np.nan
    if of == "value":
        ranges.check_declared(table, path)
        bounds = ranges.of(table).T
        examples = ranges.examples(table)
    low, high = interval(table[of].to_numpy(np.float64), without, bounds, examples)
    position = table.columns.get_loc(of)
    table.insert(position + 1, "low", low)
    table.insert(position + 2, "high", high)
    _write(path, stamped(table), without)


def write_measures(path: str | os.PathLike, table: pd.DataFrame) -> None:
    """Write a table of measures that have no blocks as a TSV."""
    ranges.check_declared(table, path)
    write_tsv(path, stamped(table))


def _write(path: str | os.PathLike, table: pd.DataFrame, without: np.ndarray) -> None:
    with atomic(blocks_beside(str(path))) as temporary, open(temporary, "wb") as file:
        np.save(file, np.ascontiguousarray(without))
    write_tsv(path, table)


def read_with_blocks(path: str | os.PathLike) -> pd.DataFrame:
    """Read a table with its columns IN_MEMORY; JACKKNIFE_COLUMNS are NaN where the table has no
    file of blocks. Raises UserError where the blocks are of another table."""
    table = read_tsv(path)
    blocks_path = blocks_beside(str(path))
    shape = len(table), BLOCKS
    if os.path.exists(blocks_path):
        without = _read_blocks(blocks_path)
    else:
        without = np.full(shape, np.nan)
    if without.shape != shape:
        raise UserError(
            f"{blocks_path} holds blocks of {len(without)} rows, {path} has {len(table)}: delete"
            " both and run their rule again."
        )
    blocks = pd.DataFrame(without, columns=JACKKNIFE_COLUMNS)
    bounds = pd.DataFrame(ranges.of(table), columns=ranges.ENDS)
    examples = pd.Series(ranges.examples(table), name=ranges.SHARE_OF)
    return pd.concat([table, blocks, bounds, examples], axis=1)


def _read_blocks(path: str) -> np.ndarray:
    try:
        with open(path, "rb") as file:
            blocks = np.lib.format.read_array(file)  # refuses pickles
    except (ValueError, EOFError) as error:
        raise damaged(path, error) from error
    if blocks.dtype != np.float64 or blocks.ndim != 2:
        raise damaged(path, f"an array {list(blocks.shape)} of {blocks.dtype}")
    return blocks


def concatenate(path: str | os.PathLike, tables: Sequence[str]) -> None:
    """Concatenate tables with blocks, one below the other, at `path`. Each row keeps the version
    that made it."""
    table = pd.concat(map(read_with_blocks, tables), ignore_index=True)
    without = table[JACKKNIFE_COLUMNS].to_numpy(np.float64)
    _write(path, table.drop(columns=IN_MEMORY), without)
