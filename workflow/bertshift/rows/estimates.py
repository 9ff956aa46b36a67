"""How sure a mean over replicates is: one interval for every number.

A number is measured on R replicates (pretraining runs, or fine-tuning seeds of one), each on the
same B blocks of inputs: y_rb = mu + replicate_r + block_b + rest_rb. Seeds are averaged within a
pretraining run. Variance components by the method of moments (Searle, Casella and McCulloch 1992,
chapter 4):

    V         = MS / (R B), of replicates, blocks or the rest
    Var(mean) = V_replicates + V_blocks - V_rest, at least the larger of the first two
    t         = (V_replicates t(R - 1) + V_blocks t(B - 1)) / (V_replicates + V_blocks)
    interval  = mean +- t sqrt(Var)

The interval of a number that has a range is taken on a scale without ends, and never leaves the
range (`ranges`).

The weighted t is Cochran and Cox's (1950). Satterthwaite's degrees of freedom are too many where R
is 2 or 3, and percentiles of a bootstrap over so few runs are far too narrow:
benchmarks/coverage.py. Numbers that are no means over inputs have pseudo-values in the place of
y_rb: B theta_r - (B - 1) theta_r(-b) of the delete-a-block jackknife. Replicates that are pairs of
runs share these, so that they have pseudo-values of the runs: R theta - (R - 1) theta(-r).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats as distributions
from scipy.optimize import brentq

from bertshift.errors import UserError
from bertshift.rows import ranges
from bertshift.rows.blocks import LEVEL

EQUAL, TINY = 1e-9, 1e-300  # probabilities
NONE, REPLICATES, INPUTS, BOTH = (
    "none",
    "95% t over replicates",
    "95% t over inputs",
    "95% t over replicates and inputs",
)


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

    @property
    def low(self) -> float | np.ndarray:
        return ranges.reached(self.mean, self.error, -self._errors((1 - LEVEL) / 2), self.bounds)

    @property
    def high(self) -> float | np.ndarray:
        return ranges.reached(self.mean, self.error, self._errors((1 - LEVEL) / 2), self.bounds)

    def probability(self, low: float, high: float) -> float:
        """Calculate the probability that the true value lies between `low` and `high`; NaN without
        an interval. It is for a single number."""
        if not self.error > 0:
            return np.nan if np.isnan(self.error) else float(low <= self.mean <= high)
        return self._below(high) - self._below(low)

    def _errors(self, tail: float) -> float | np.ndarray:
        """Find how many standard errors from the mean a share `tail` of the distribution
        begins."""
        return sum(
            weight * distributions.t.isf(tail, freedom)
            for weight, freedom in self.variance_components
        )

    def _below(self, value: float) -> float:
        errors = float(ranges.distance(self.mean, self.error, value, self.bounds))
        tails = [
            distributions.t.sf(abs(errors), freedom) for _, freedom in self.variance_components
        ]
        low, high = min(tails), max(tails)
        if high - low > EQUAL:  # else there is one part, or the value is far away
            bounds = max(low, TINY) * (1 - EQUAL), high * (1 + EQUAL)
            low = brentq(lambda tail: self._errors(tail) - abs(errors), *bounds)
        return float(low if errors < 0 else 1 - low)


def estimate(
    values, names: Sequence[str] | None = None, left_out=None, bounds=ranges.ANY, examples=np.nan
) -> Estimate:
    """Estimate the mean of `values` [R, ...] over replicates, in a range with these `bounds`. The
    other axes may be, say, the steps of a curve.

    `names` of replicates are `statistics.with_replicates`'s: "init1-2" is a pair of two runs; none
    given, they are independent. `left_out` [R, B, ...] are the values without each block of
    inputs, if known. `examples` are how many the values are shares of, if they are
    (`ranges.least_error`). UserError for no value at all or for a value that is not finite.
    """
    values = np.asarray(values, dtype=np.float64)
    if values.size == 0 or not np.isfinite(values).all():
        raise UserError(
            f"a mean needs finite numbers, got {values.tolist()}; look for a failed run in the"
            " TSV."
        )
    runs = _pseudo_values_of_runs(values, names)
    blocks = None if left_out is None else pseudo_values(values, np.asarray(left_out, np.float64))
    both = blocks is not None and runs is values
    mean = values.mean(0)
    return _combined(
        mean,
        len(values),
        runs,
        None if blocks is None else blocks.mean(0),
        _rest(blocks) if both else 0.0,
        bounds,
        ranges.least_error(mean, examples, bounds),
    )


def estimate_of_all(
    value: float,
    without_run: Sequence[float],
    left_out: Sequence[float] | None = None,
    bounds=ranges.ANY,
) -> Estimate:
    """Estimate a number that is calculated once, from all replicates, in a range with these
    `bounds`. Given are its values without each replicate, and without each block of inputs."""
    runs, blocks = (
        (
            None
            if left is None or not len(left)
            else len(left) * value - (len(left) - 1) * np.asarray(left, np.float64)
        )
        for left in (without_run, left_out)
    )
    return _combined(np.float64(value), len(without_run), runs, blocks, bounds=bounds)


def _combined(
    mean: np.ndarray,
    replicates: int,
    runs: np.ndarray | None,
    blocks: np.ndarray | None,
    rest: float | np.ndarray = 0.0,
    bounds=ranges.ANY,
    least: float | np.ndarray = 0.0,
) -> Estimate:
    """Combine pseudo-values of runs [R, ...] and of blocks [B, ...] into one estimate. `rest` is
    the part of the variance that both have, `least` the least standard error that the blocks have.
    """
    between, across = _variance(runs), _variance(blocks)
    if across is not None:
        across = np.maximum(across[0], least**2), across[1]
    known = [part for part in (between, across) if part is not None]
    if not known:
        return Estimate(mean, np.nan * mean, (), replicates, NONE, bounds)
    variances = [variance for variance, _ in known]
    whole = sum(variances)
    error = np.sqrt(np.maximum(whole - rest * (len(known) == 2), np.maximum.reduce(variances)))
    shares = (
        np.divide(v, whole, out=np.full_like(whole, 1 / len(known)), where=whole > 0)
        for v in variances
    )
    kind = BOTH if len(known) == 2 else INPUTS if between is None else REPLICATES
    parts = tuple(zip(shares, (freedom for _, freedom in known), strict=True))
    return Estimate(mean, error, parts, replicates, kind, bounds)


def pseudo_values(values: np.ndarray, left_out: np.ndarray) -> np.ndarray:
    """Calculate pseudo-values [R, B, ...] of the delete-a-block jackknife, from `values` [R, ...]
    and those without each block [R, B, ...]."""
    blocks = left_out.shape[1]
    return blocks * values[:, None] - (blocks - 1) * left_out


def _pseudo_values_of_runs(values: np.ndarray, names: Sequence[str] | None) -> np.ndarray:
    """Calculate one value for each run: the values where each replicate is a run of its own, else
    pseudo-values of the delete-a-run jackknife, [runs, ...]. A single pair, or pairs that all
    share a run, give their mean alone."""
    runs = [re.findall(r"\d+", name) for name in names or ()]
    if all(len(own) == 1 for own in runs):
        return values
    every = sorted({run for own in runs for run in own})
    left = [[run not in own for own in runs] for run in every]
    if not all(map(any, left)):
        return values.mean(0, keepdims=True)
    without = np.stack([values[kept].mean(0) for kept in left])
    return len(every) * values.mean(0) - (len(every) - 1) * without


def _variance(parts: np.ndarray | None) -> tuple[np.ndarray, int] | None:
    """Estimate the variance of the mean of independent `parts` [n, ...], with its degrees of
    freedom; None where there are not two."""
    if parts is None or len(parts) < 2:
        return None
    return np.asarray(parts.var(0, ddof=1) / len(parts)), len(parts) - 1


def _rest(blocks: np.ndarray) -> np.ndarray:
    """Compute MS_rest / (R B) of pseudo-values [R, B, ...]; 0 where R or B is below two."""
    runs, count = blocks.shape[:2]
    rest = blocks - blocks.mean(0) - blocks.mean(1, keepdims=True) + blocks.mean((0, 1))
    return (rest**2).sum((0, 1)) / max((runs - 1) * (count - 1), 1) / (runs * count)
