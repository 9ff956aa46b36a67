"""A claim's number on all replicates, and without each block of inputs.

Some numbers are those of one of several candidates: the largest gain of 72 heads. Picked and
measured on the same data, such a number is too large, by chance alone. So it is picked on other
data (`chosen`). With y_rbc the pseudo-value of the jackknife of replicate r, block b of the inputs
and candidate c:

    c     is picked by the mean of y_rbc over the first half of the replicates and of the blocks
    Y_rb  = y_rbc of the other replicates and blocks, a number as any other (`rows.estimates`)

Given the candidate, the expectation of Y is the candidate's own. Both halves take turns in
cross-validation; here they do not, as the two means would not be independent (Bengio and
Grandvalet 2004), and their interval would be too narrow.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from bertshift.rows import ranges
from bertshift.rows.estimates import Estimate, Shared, estimate, estimate_of_all, pseudo_values
from bertshift.rows.replicate import Replicate
from bertshift.verdicts.evidence import NotTestableError
from bertshift.verdicts.testing import count_independent

# From candidates' numbers, by their labels, to the weights of those that are picked.
Pick = Callable[[pd.Series], np.ndarray]
BANERJEE = 2  # the order of `Estimate`


class Baselines(NamedTuple):
    """What all seeds have in common: the change of the number on each replicate, [replicates,
    ...], where baselines are lower by a standard error of their mean, and its degrees of
    freedom."""

    changes: np.ndarray
    freedom: int


class Replicates(NamedTuple):
    """Numbers of `units`: `values` [replicates, ...], and `left_out` [replicates,
    blocks, ...] without each block of inputs, None where these are not known. Numbers of
    candidates have a last axis for them, with `labels`."""

    units: Sequence[Replicate]
    values: np.ndarray
    left_out: np.ndarray | None
    baselines: Baselines | None = None
    labels: Sequence = ()

    @property
    def count(self) -> int:
        return len(self.units)

    def estimate(self, bounds: ranges.Range) -> Estimate:
        """Estimate the mean of a single number, with p-values to correct for their number."""
        shared = None
        if self.baselines is not None:
            variance = float(np.mean(self.baselines.changes)) ** 2
            shared = Shared(variance, self.baselines.freedom)
        mean = estimate(self.values, self.units, self.left_out, bounds, shared=shared)
        return replace(mean, order=BANERJEE)

    def candidate(self, weights: np.ndarray) -> "Replicates":
        """Average the candidates' numbers with these weights, [candidates]."""
        left_out = None if self.left_out is None else self.left_out @ weights
        baselines = self.baselines
        if baselines is not None:
            baselines = baselines._replace(changes=baselines.changes @ weights)
        return Replicates(self.units, self.values @ weights, left_out, baselines)

    def chosen(self, pick: Pick, by: "Replicates") -> "Replicates":
        """Measure the candidate that `pick` picks by the numbers `by`, on other replicates and
        other inputs. NotTestableError for fewer than three replicates, and for pairs that share
        runs."""
        choosing, measuring = _halves(len(self.units))
        if len(measuring) < 2 or count_independent(self.units) < len(self.units):
            raise NotTestableError("there are no three replicates without a run in common")
        weights = by._some(choosing, half=0).picked(pick)
        return self._some(measuring, half=1).candidate(weights)

    def picked(self, pick: Pick) -> np.ndarray:
        """Weigh the candidates by their means over replicates, [candidates]."""
        return pick(pd.Series(self.values.mean(axis=0), self.labels))

    def _some(self, rows: np.ndarray, half: int) -> "Replicates":
        """Select replicates, and one half of the blocks where these are known."""
        units = [self.units[row] for row in rows]
        values, left_out, baselines = self.values[rows], None, self.baselines
        if self.left_out is not None:
            values, left_out = _of_half(values, self.left_out[rows], half)
        if baselines is not None:
            baselines = baselines._replace(changes=baselines.changes[rows])
        return Replicates(units, values, left_out, baselines, self.labels)

    def minus(self, other: "Replicates") -> "Replicates":
        """Subtract the numbers of the same replicates, on as many blocks as both have.
        NotTestableError where they share fewer than two, or have other candidates."""
        if self.labels != other.labels:
            raise NotTestableError("these are other heads or layers")
        units = [unit for unit in self.units if unit in other.units]
        if len(units) < 2:
            raise NotTestableError("there are no two replicates of both")
        ours, theirs = self._of(units), other._of(units)
        left_out = None
        if ours.left_out is not None and theirs.left_out is not None:
            blocks = min(ours.left_out.shape[1], theirs.left_out.shape[1])
            left_out = ours.left_out[:, :blocks] - theirs.left_out[:, :blocks]
        return Replicates(units, ours.values - theirs.values, left_out, None, self.labels)

    def times(self, factor: int) -> "Replicates":
        """Imagine `factor` times as many replicates of the same mean and variance, on the same
        inputs. NotTestableError for pairs of runs, which are more than their runs."""
        if count_independent(self.units) < self.count:
            raise NotTestableError("its replicates are pairs of runs")
        more = factor * self.count
        # Of repeated numbers the variance would be too small, as fewer are free.
        stretch = np.sqrt((more - 1) / (factor * (self.count - 1)))
        mean = self.values.mean(axis=0)
        values = np.concatenate([mean + stretch * (self.values - mean)] * factor)
        left_out, baselines = None, self.baselines
        if self.left_out is not None:
            without = self.left_out - self.values[:, None]
            left_out = values[:, None] + np.concatenate([without] * factor)
        if baselines is not None:
            changes = np.concatenate([baselines.changes] * factor)
            baselines = baselines._replace(changes=changes)
        units = [Replicate(None, number) for number in range(1, more + 1)]
        return Replicates(units, values, left_out, baselines, self.labels)

    def _of(self, units: Sequence[Replicate]) -> "Replicates":
        rows = [self.units.index(unit) for unit in units]
        left_out = None if self.left_out is None else self.left_out[rows]
        return Replicates(units, self.values[rows], left_out)


class Whole(NamedTuple):
    """A number that is calculated once, over `count` replicates: `value` [...], the same without
    each run, [runs, ...], and without each block of inputs, [blocks, ...]; None where these are
    not known. Numbers of candidates have a last axis for them, with `labels`."""

    value: np.ndarray
    without_run: np.ndarray | None
    left_out: np.ndarray | None
    count: int
    labels: Sequence = ()

    @property
    def values(self) -> np.ndarray:
        return np.asarray(self.value)[None]

    def estimate(self, bounds: ranges.Range) -> Estimate:
        """Estimate a single number, with p-values to correct for their number."""
        without_run = [] if self.without_run is None else self.without_run
        mean = estimate_of_all(float(self.value), without_run, self.left_out, bounds)
        return replace(mean, order=BANERJEE)

    def candidate(self, weights: np.ndarray) -> "Whole":
        """Average the candidates' numbers with these weights, [candidates]."""
        without_run = None if self.without_run is None else self.without_run @ weights
        left_out = None if self.left_out is None else self.left_out @ weights
        return Whole(self.value @ weights, without_run, left_out, self.count)

    def chosen(self, pick: Pick, by: "Whole") -> "Whole":
        """Measure the candidate that `pick` picks by the numbers `by`, on the other half of the
        inputs. Its blocks must be known."""
        [picking], _ = _of_half(by.values, by.left_out[None], 0)
        [measured], [left_out] = _of_half(self.values, self.left_out[None], 1)
        half = Whole(measured, self.without_run, left_out, self.count)
        return half.candidate(pick(pd.Series(picking, by.labels)))

    def picked(self, pick: Pick) -> np.ndarray:
        """Weigh the candidates by their numbers, [candidates]."""
        return pick(pd.Series(self.value, self.labels))


def _of_half(values: np.ndarray, left_out: np.ndarray, half: int) -> tuple[np.ndarray, np.ndarray]:
    """Calculate values [replicates, ...] of one half of the blocks (0, 1), and these without each
    of its blocks [replicates, blocks, ...], by pseudo-values whose mean over all is the value."""
    pseudo = pseudo_values(values, left_out)
    pseudo = pseudo - pseudo.mean(axis=1, keepdims=True) + values[:, None]
    numbers = pseudo[:, _halves(pseudo.shape[1])[half]]
    total = numbers.sum(axis=1, keepdims=True)
    return numbers.mean(axis=1), (total - numbers) / (numbers.shape[1] - 1)


def _halves(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Cut the numbers from 0 into two halves; the first has no more than the second."""
    first, second = np.split(np.arange(number), [number // 2])
    return first, second
