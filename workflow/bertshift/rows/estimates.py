"""Uncertainty of a mean over replicates: one interval for every number.

A number is measured on R replicates (pretraining runs, or fine-tuning seeds of one), each on the
same B blocks of inputs: y_rb = mu + replicate_r + block_b + rest_rb. Seeds are averaged within a
pretraining run. Variance components by the method of moments (Searle, Casella and McCulloch 1992,
chapter 4):

    V         = MS / (R B), of replicates, blocks or the rest
    Var(mean) = V_replicates + V_blocks - V_rest, at least the larger of the first two
    t         = (V_replicates t(R - 1) + V_blocks t(B - 1)) / (V_replicates + V_blocks)
    interval  = mean +- t sqrt(Var)

A number that all replicates share, such as the mean of the baselines that each is compared with,
adds its variance with its degrees of freedom in the same way: the replicates do not show it.

The interval of a number that has a range is taken on a scale without ends, and never leaves the
range (`ranges`).

The weighted t is Cochran and Cox's (1950). It is meant for 95 %: of small p-values that are
corrected for their number it finds too many, as the spread of three runs may be small by chance.
There the squares of t are weighed, sqrt(sum V t^2 / sum V): then no p-value is too small
(Banerjee 1961), and the interval is somewhat wider. Satterthwaite's degrees of freedom are too
many where R is 2 or 3, and percentiles of a bootstrap over so few runs are far too narrow:
benchmarks/coverage.py. Numbers that are no means over inputs have pseudo-values in the place of
y_rb: B theta_r - (B - 1) theta_r(-b) of the delete-a-block jackknife. Replicates that are pairs of
runs share these, so that they have pseudo-values of the runs: R theta - (R - 1) theta(-r).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats as distributions
from scipy.optimize import brentq

from bertshift.errors import UserError
from bertshift.rows import ranges
from bertshift.rows.blocks import LEVEL
from bertshift.rows.replicate import Replicate

EQUAL, TINY = 1e-9, 1e-300  # probabilities
# Kinds of intervals.
NONE = "none"
REPLICATES = "95% t over replicates"
INPUTS = "95% t over inputs"
BOTH = "95% t over replicates and inputs"


@dataclass(frozen=True)
class Estimate:
    """A mean over `replicates`, its standard error, and an interval of one of the kinds above. The
    numbers are arrays where replicates are arrays, and NaN where there is no interval.
    `variance_components` are (share of the variance, degrees of freedom), `bounds` those of the
    number's range."""

    mean: float | np.ndarray
    error: float | np.ndarray
    variance_components: tuple[tuple[float | np.ndarray, int], ...]
    replicates: int
    interval: str
    bounds: ranges.Range | tuple[np.ndarray, np.ndarray] = ranges.ANY
    # of the mean of t over components: 1 weighs t (Cochran and Cox), 2 its square (Banerjee)
    order: int = 1

    @property
    def low(self) -> float | np.ndarray:
        errors = self._errors((1 - LEVEL) / 2)
        return ranges.reached(self.mean, self.error, -errors, self.bounds)

    @property
    def high(self) -> float | np.ndarray:
        errors = self._errors((1 - LEVEL) / 2)
        return ranges.reached(self.mean, self.error, errors, self.bounds)

    def _errors(self, tail: float) -> float | np.ndarray:
        """Find how many standard errors from the mean a share `tail` of the distribution
        begins."""
        powers = [
            weight * distributions.t.isf(tail, freedom) ** self.order
            for weight, freedom in self.variance_components
        ]
        return sum(powers) ** (1 / self.order)

    def below(self, value: float) -> float:
        """Calculate the probability that the true value lies below `value`, for a single number
        whose error is not 0; NaN without an interval."""
        if np.isnan(self.error):
            return np.nan
        errors = float(ranges.distance(self.mean, self.error, value, self.bounds))
        tails = [
            distributions.t.sf(abs(errors), freedom) for _, freedom in self.variance_components
        ]
        low = min(tails)
        high = max(tails)
        if high - low > EQUAL:  # else there is one component, or the value is far away
            start = max(low, TINY) * (1 - EQUAL)
            end = high * (1 + EQUAL)
            low = brentq(lambda tail: self._errors(tail) - abs(errors), start, end)
        return float(low if errors < 0 else 1 - low)


class Shared(NamedTuple):
    """The variance of a number that all replicates share, and its degrees of freedom."""

    variance: float | np.ndarray
    freedom: int | np.ndarray


def estimate(
    values,
    replicates: Sequence[Replicate] | None = None,
    left_out=None,
    bounds=ranges.ANY,
    examples=np.nan,
    shared: Shared | None = None,
) -> Estimate:
    """Estimate the mean of `values` [R, ...] over replicates, in a range with these `bounds`. The
    other axes may be, say, the steps of a curve.

    `replicates` [R] are units, of which pairs may share runs; none given, they are independent.
    `left_out` [R, B, ...] are the values without each block of inputs, if known. `examples` are
    how many the values are shares of, if they are (`ranges.least_error`), `shared` what all values
    have in common. UserError for no value at all or for a value that is not finite.
    """
    values = np.asarray(values, dtype=np.float64)
    if values.size == 0 or not np.isfinite(values).all():
        raise UserError(
            f"a mean needs finite numbers, got {values.tolist()}; look for a failed run in the"
            " TSV."
        )
    mean = values.mean(0)
    runs = _pseudo_values_of_runs(values, replicates)
    if left_out is None:
        return _combine(mean, len(values), runs, None, bounds=bounds, shared=shared)
    blocks = pseudo_values(values, np.asarray(left_out, np.float64))
    rest = _rest_variance(blocks) if runs is values else 0.0
    least = ranges.least_error(mean, examples, bounds)
    return _combine(mean, len(values), runs, blocks.mean(0), rest, bounds, least, shared)


def estimate_of_all(
    value: float,
    without_run: Sequence[float],
    left_out: Sequence[float] | None = None,
    bounds=ranges.ANY,
) -> Estimate:
    """Estimate a number that is calculated once, from all replicates, in a range with these
    `bounds`. Given are its values without each replicate, and without each block of inputs."""
    runs = _pseudo_values_of_number(value, without_run)
    blocks = _pseudo_values_of_number(value, left_out)
    return _combine(np.float64(value), len(without_run), runs, blocks, bounds=bounds)


def _combine(
    mean: np.ndarray,
    replicates: int,
    runs: np.ndarray | None,
    blocks: np.ndarray | None,
    rest: float | np.ndarray = 0.0,
    bounds=ranges.ANY,
    least: float | np.ndarray = 0.0,
    shared: Shared | None = None,
) -> Estimate:
    """Combine pseudo-values of runs [R, ...] and of blocks [B, ...] into one estimate. `rest` is
    the part of the variance that both have, `least` the least standard error that the blocks have,
    `shared` what is in all of them.
    """
    has_runs = runs is not None and len(runs) > 1
    has_blocks = blocks is not None and len(blocks) > 1
    variances, freedoms = [], []
    if has_runs:
        variances.append(_variance_of_mean(runs))
        freedoms.append(len(runs) - 1)
    if has_blocks:
        variances.append(np.maximum(_variance_of_mean(blocks), least**2))
        freedoms.append(len(blocks) - 1)
    if not variances:
        return Estimate(mean, np.nan * mean, (), replicates, NONE, bounds)
    if shared is not None:
        variances.append(np.broadcast_to(shared.variance, np.shape(mean)))
        freedoms.append(shared.freedom)
    total = sum(variances)
    if has_runs and has_blocks:
        interval = BOTH
        variance_of_mean = np.maximum(total - rest, np.max(variances, axis=0))
    else:
        interval = REPLICATES if has_runs else INPUTS
        variance_of_mean = total
    components = []
    for variance, freedom in zip(variances, freedoms, strict=True):
        share = np.full_like(total, 1 / len(variances))
        np.divide(variance, total, out=share, where=total > 0)
        components.append((share, freedom))
    error = np.sqrt(variance_of_mean)
    return Estimate(mean, error, tuple(components), replicates, interval, bounds)


def pseudo_values(values: np.ndarray, left_out: np.ndarray) -> np.ndarray:
    """Calculate pseudo-values [R, B, ...] of the delete-a-block jackknife, from `values` [R, ...]
    and those without each block [R, B, ...]."""
    blocks = left_out.shape[1]
    return blocks * values[:, None] - (blocks - 1) * left_out


def _pseudo_values_of_number(value: float, left_out: Sequence[float] | None) -> np.ndarray | None:
    """Calculate pseudo-values of one number; None where nothing was left out."""
    if left_out is None or not len(left_out):
        return None
    return pseudo_values(np.array([value]), np.asarray([left_out], np.float64))[0]


def _pseudo_values_of_runs(
    values: np.ndarray, replicates: Sequence[Replicate] | None
) -> np.ndarray:
    """Calculate one value for each run: the values where each replicate is a run of its own, else
    pseudo-values of the delete-a-run jackknife, [runs, ...]. A single pair, or pairs that all
    share a run, give their mean alone."""
    runs_of_replicates = [replicate.runs for replicate in replicates or ()]
    if all(len(pair) == 1 for pair in runs_of_replicates):
        return values
    runs = sorted({run for pair in runs_of_replicates for run in pair})
    without_run = []
    for run in runs:
        rest = [run not in pair for pair in runs_of_replicates]
        if not any(rest):
            return values.mean(0, keepdims=True)
        without_run.append(values[rest].mean(0))
    return pseudo_values(values.mean(0, keepdims=True), np.stack(without_run)[None])[0]


def _variance_of_mean(values: np.ndarray) -> np.ndarray:
    """Estimate the variance of the mean of independent `values` [n, ...]."""
    return np.asarray(values.var(0, ddof=1) / len(values))


def _rest_variance(blocks: np.ndarray) -> np.ndarray:
    """Compute MS_rest / (R B) of pseudo-values [R, B, ...]; 0 where R or B is below two."""
    runs, count = blocks.shape[:2]
    rest = blocks - blocks.mean(0)
    rest = rest - blocks.mean(1, keepdims=True) + blocks.mean((0, 1))
    freedom = max((runs - 1) * (count - 1), 1)
    return (rest**2).sum((0, 1)) / freedom / (runs * count)
