"""A table of measured numbers, and what is known of each number beside it.

Rows are a DataFrame, whose column `value` is the number. Its values without each block of inputs,
its range, and the like are not columns: they are arrays of the table, and go with the rows.
On disk the values without each block are a float64 file beside the TSV, as they would be most of
it; the range and the number of examples follow from the measure.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Self

import numpy as np
import pandas as pd

from bertshift.errors import UserError
from bertshift.files import BLOCKS, atomic, blocks_beside, damaged, read_tsv, write_tsv
from bertshift.rows import blocks, ranges, statistics
from bertshift.rows.estimates import Shared, estimate
from bertshift.rows.replicate import Replicate
from bertshift.version import stamped

ALONE = (0.0, 1.0)  # the variance that a number shares with none, and its degrees of freedom


@dataclass(frozen=True, eq=False)
class Table:
    """Rows with unique labels, by which others of their kind are found (pandas' joins keep them,
    its merges do not), and for each of them, in their order:

    left_out: [rows, BLOCKS], `value` without each block of inputs, NaN where there is none
    bounds: [rows, 2], the ends of the range of `value`
    examples: [rows], how many examples `value` is a share of, NaN where it is none
    shared: [rows, 2], the variance of `value` that all seeds of a pretraining run have in common,
        and its degrees of freedom

    ValueError where one of them has another shape.
    """

    rows: pd.DataFrame
    left_out: np.ndarray
    bounds: np.ndarray
    examples: np.ndarray
    shared: np.ndarray

    def __post_init__(self) -> None:
        count = len(self.rows)
        shapes = {
            "left_out": (count, BLOCKS),
            "bounds": (count, 2),
            "examples": (count,),
            "shared": (count, 2),
        }
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} is {getattr(self, name).shape} of {count} rows")
        if not self.rows.index.is_unique:
            raise ValueError("two rows have one label")

    @classmethod
    def of(cls, rows: pd.DataFrame, left_out: np.ndarray | None = None) -> Self:
        """Make the table of these rows, each in the range of its measure."""
        if left_out is None:
            left_out = np.full((len(rows), BLOCKS), np.nan)
        shared = np.tile(ALONE, (len(rows), 1))
        return cls(rows, left_out, ranges.of(rows), ranges.examples(rows), shared)

    @classmethod
    def of_records(cls, records: Iterable[Mapping]) -> Self:
        """Make the table of what a measure gives, a record a row: its columns, and under
        `jackknife` its values without each block, at most BLOCKS, if it has any."""
        columns = [dict(record) for record in records]
        left_out = blocks.padded([row.pop("jackknife", ()) for row in columns])
        return cls.of(pd.DataFrame(columns), left_out)

    @classmethod
    def read(cls, path: str | os.PathLike) -> Self:
        """Read a table and the file of blocks beside it, if there is one. UserError where the
        blocks are of another table."""
        rows = read_tsv(path)
        blocks_path = blocks_beside(str(path))
        if not os.path.exists(blocks_path):
            return cls.of(rows)
        left_out = _read_blocks(blocks_path)
        if left_out.shape != (len(rows), BLOCKS):
            raise UserError(
                f"{blocks_path} holds blocks of {len(left_out)} rows, {path} has {len(rows)}:"
                " delete both and run their rule again."
            )
        return cls.of(rows, left_out)

    def write(self, path: str | os.PathLike, of: str = "value") -> None:
        """Write the rows as a TSV that has `low` and `high` after the number that they are `of`,
        and the values without blocks, which are of the same number, as a file of float64
        [rows, BLOCKS]. Intervals of `value` lie in the range of its measure. The same table gives
        the same bytes."""
        rows = self.rows.drop(columns=["low", "high"], errors="ignore")
        bounds, examples = ranges.ANY, np.nan
        if of == "value":
            ranges.check_declared(rows, path)
            bounds, examples = ranges.of(rows).T, ranges.examples(rows)
        low, high = blocks.interval(rows[of].to_numpy(np.float64), self.left_out, bounds, examples)
        position = rows.columns.get_loc(of)
        rows.insert(position + 1, "low", low)
        rows.insert(position + 2, "high", high)
        _write(path, stamped(rows), self.left_out)

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, column: str) -> bool:
        return column in self.rows

    def __getitem__(self, column: str) -> pd.Series:
        return self.rows[column]

    def keep(self, rows: pd.DataFrame) -> Self:
        """Keep some of its rows, found by their labels, in this order and with these columns."""
        positions = self.rows.index.get_indexer(rows.index)
        if (positions < 0).any():
            raise ValueError("these are rows of another table")
        return Table(
            rows,
            self.left_out[positions],
            self.bounds[positions],
            self.examples[positions],
            self.shared[positions],
        )

    def where(self, mask: pd.Series | np.ndarray) -> Self:
        """Keep the rows that a mask, [rows], marks."""
        return self.keep(self.rows[mask])

    def query(self, expression: str) -> Self:
        """Keep the rows of which an expression of pandas is true."""
        return self.keep(self.rows.query(expression))

    def assign(self, **columns) -> Self:
        """Set columns of the rows, and leave what is known of `value` as it is."""
        return replace(self, rows=self.rows.assign(**columns))

    def rename(self, **columns: str) -> Self:
        """Give columns other names."""
        return replace(self, rows=self.rows.rename(columns=columns))

    def drop(self, *columns: str) -> Self:
        """Drop columns, if the rows have them."""
        return replace(self, rows=self.rows.drop(columns=[*columns], errors="ignore"))

    def within(self, bounds) -> Self:
        """Set the range of values: one pair of ends, or (floors, ceilings) row by row."""
        ends = [np.broadcast_to(np.asarray(end, np.float64), len(self)) for end in bounds]
        return replace(self, bounds=np.stack(ends, axis=1))

    @property
    def numbers(self) -> pd.DataFrame:
        """`value` and, from 1, the values without each block: a frame [rows, 1 + BLOCKS]."""
        numbers = np.column_stack([self.rows["value"].to_numpy(np.float64), self.left_out])
        return pd.DataFrame(numbers, self.rows.index, ["value", *range(1, BLOCKS + 1)])

    def with_numbers(self, numbers: pd.DataFrame | np.ndarray) -> Self:
        """Replace `numbers`, in the order of the rows."""
        numbers = np.asarray(numbers, np.float64)
        rows = self.rows.assign(value=numbers[:, 0])
        return replace(self, rows=rows, left_out=numbers[:, 1:])

    def with_value(self, values, bounds=ranges.ANY) -> Self:
        """Replace the values by others, in a range with these `bounds`, that have no values
        without a block, and no interval."""
        table = self.drop("low", "high").assign(value=values).within(bounds)
        nothing = np.full_like(self.left_out, np.nan)
        return replace(table, left_out=nothing, examples=nothing[:, 0])

    def mapped(self, function: Callable, *more: str) -> Self:
        """Apply a monotone function to the values, to those without each block, to the range and
        to the columns `more`, as far as the rows have them."""
        columns = {name: function(self.rows[name]) for name in more if name in self.rows}
        with np.errstate(divide="ignore"):  # the logarithm of an end at 0
            bounds = pd.DataFrame(self.bounds, self.rows.index).apply(function)
        table = self.with_numbers(self.numbers.apply(function)).assign(**columns)
        return replace(table, bounds=np.sort(bounds.to_numpy(), axis=1))

    def in_points(self) -> Self:
        """Scale scores from 0 to 1 to `statistics.POINTS`."""
        return self.mapped(lambda score: score * statistics.POINTS, *statistics.SCORES)

    def averages(self, keys: list[str]) -> pd.DataFrame:
        """Average `numbers` by the columns `keys`, two or more, in order of appearance: a frame
        [groups, 1 + BLOCKS]."""
        return self.numbers.groupby([self.rows[key] for key in keys], sort=False).mean()

    def mean_of(self, keys: list[str]) -> Self:
        """Keep the first row of each `keys`, with the mean of their numbers."""
        groups = self.rows.groupby(keys, sort=False, dropna=False).ngroup()
        means = self.numbers.groupby(groups).mean()
        return self.keep(self.rows[~groups.duplicated()]).with_numbers(means)

    def minus(self, averages: pd.DataFrame, keys: list[str]) -> Self:
        """Subtract the `averages` of other rows with the same `keys`; NaN where there are none."""
        others = averages.reindex(pd.MultiIndex.from_frame(self.rows[keys]))
        return self.with_numbers(self.numbers.to_numpy() - others.to_numpy()).within(ranges.ANY)

    def minus_parents(self, parents: "Table", by: list[str]) -> Self:
        """Subtract the numbers of `parents` for the same `by` and pretraining run `init`: the mean
        over the seed's own probes (`statistics.is_own_probe`). UserError where there are none."""
        keys = [*by, "init"]
        seeds = self.rows["seed"].unique()
        means = {}
        for seed in seeds:
            own = statistics.of_own_probes(parents.rows, seed, seeds.max())
            means[seed] = parents.keep(own).averages(keys)
        differences = self.minus(pd.concat(means, names=["seed"]), ["seed", *keys])
        is_missing = differences["value"].isna() & self.rows["value"].notna()
        if is_missing.any():
            row = self.rows[is_missing].iloc[0]
            raise UserError(
                f"{row['model']} has {', '.join(f'{key} {row[key]}' for key in keys)} and its"
                " pretrained model has not; delete the latter's table and run its rule again."
            )
        return differences

    def averaged(self, by: list[str], group_by: Sequence[str] = ()) -> pd.DataFrame:
        """Average the rows of each `by`, in order of appearance: value (mean), low, high, each
        (the values of several replicates), replicates, unit (of replication), interval (see
        `estimates`). Replicates are those of the same `group_by`, which are among `by`.

        A replicate's value is the mean of its rows, and so are its values without each block. The
        interval lies in the range of the first row. UserError for a value that is not finite or
        lies outside its range.
        """
        rows = statistics.with_replicates(self.rows, group_by).dropna(subset=by)
        rows["cell"] = rows.groupby(by, sort=False).ngroup()
        table = self.keep(rows)
        blocks.check(rows["value"].to_numpy(np.float64), table.left_out)
        ranges.check(rows, table.bounds)
        means = table.averages(["cell", "replicate"])
        is_finite = np.isfinite(means["value"])
        if not is_finite.all():
            estimate(means.loc[~is_finite, "value"])  # raises UserError
        first = table.keep(rows.drop_duplicates("cell"))
        units = first["replicate"].map(lambda name: Replicate.parse(name).unit)
        cells = first.rows[by].assign(unit=units).reset_index(drop=True)
        averages = _estimate_cells(first, means, statistics.by_seed(units).to_numpy())
        columns = [*by, "value", "low", "high", "each", "replicates", "unit", "interval"]
        return cells.join(averages)[columns]


def concat(tables: Iterable[Table]) -> Table:
    """Stack tables, with labels from 0."""
    tables = list(tables)
    rows = pd.concat([table.rows for table in tables], ignore_index=True)
    arrays = [
        np.concatenate([getattr(table, name) for table in tables])
        for name in ("left_out", "bounds", "examples", "shared")
    ]
    return Table(rows, *arrays)


def concatenate(path: str | os.PathLike, paths: Sequence[str]) -> None:
    """Write tables one below the other at `path`. Each row keeps the version that made it."""
    table = concat(map(Table.read, paths))
    _write(path, table.rows, table.left_out)


def _write(path: str | os.PathLike, rows: pd.DataFrame, left_out: np.ndarray) -> None:
    with atomic(blocks_beside(str(path))) as temporary, open(temporary, "wb") as file:
        np.save(file, np.ascontiguousarray(left_out))
    write_tsv(path, rows)


def _read_blocks(path: str) -> np.ndarray:
    try:
        with open(path, "rb") as file:
            blocks = np.lib.format.read_array(file)  # refuses pickles
    except (ValueError, EOFError) as error:
        raise damaged(path, error) from error
    if blocks.dtype != np.float64 or blocks.ndim != 2:
        raise damaged(path, f"an array {list(blocks.shape)} of {blocks.dtype}")
    return blocks


def _estimate_cells(first: Table, means: pd.DataFrame, is_by_seed: np.ndarray) -> pd.DataFrame:
    """Estimate each cell's mean from the `means` of its replicates, numbers by `cell` and
    `replicate`. `first` has a row of each cell, in their order; replicates of the cells
    `is_by_seed` share a variance."""
    variance, freedom = first.shared.T
    variance = np.where(is_by_seed, variance, 0.0)
    # In one array, as frames take many times as long: [cells, value and blocks, replicates].
    wide = means.unstack()
    replicates = list(map(Replicate.parse, wide["value"].columns))
    numbers = wide.to_numpy().reshape(len(wide), 1 + BLOCKS, len(replicates))
    found = {name: np.empty(len(wide)) for name in ("value", "low", "high")}
    found |= {name: np.empty(len(wide), object) for name in ("each", "interval")}
    found["replicates"] = np.empty(len(wide), int)
    # Cells with the same replicates and blocks at once: a figure may have thousands of cells.
    for cells in _same_presence(numbers):
        values, left_out, is_present = _without_missing(numbers[cells])
        group = estimate(
            values,
            replicates=list(compress(replicates, is_present)),
            left_out=left_out,
            bounds=first.bounds[cells].T,
            examples=first.examples[cells],
            shared=Shared(variance[cells], freedom[cells]),
        )
        found["value"][cells], found["low"][cells] = group.mean, group.low
        found["high"][cells], found["interval"][cells] = group.high, group.interval
        found["replicates"][cells] = group.replicates
        several = group.replicates > 1
        found["each"][cells] = [statistics.joined(each) if several else "" for each in values.T]
    return pd.DataFrame(found).astype({"each": str, "interval": str})


def _same_presence(numbers: np.ndarray) -> list[np.ndarray]:
    """List the positions of the cells that have the same replicates and blocks."""
    patterns = defaultdict(list)
    for position, is_present in enumerate(~np.isnan(numbers)):
        patterns[is_present.tobytes()].append(position)
    return [np.array(positions) for positions in patterns.values()]


def _without_missing(
    numbers: np.ndarray,
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Split the numbers of cells with the same replicates and blocks, [cells, 1 + B, R], into
    values [r, cells] and values without each block [r, b, cells]: of the replicates that there
    are, which come third, and of the blocks that all of them have."""
    is_there = ~np.isnan(numbers[0])
    is_present, of_blocks = is_there[0], is_there[1:]
    is_known = (of_blocks == is_present).all(axis=1)
    present = numbers[:, :, is_present].transpose(2, 1, 0)
    left_out = np.ascontiguousarray(present[:, 1:][:, is_known]) if is_known.any() else None
    return np.ascontiguousarray(present[:, 0]), left_out, is_present
