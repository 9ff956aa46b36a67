"""The tests that decide a claim, each with an error of ERROR on either side.

Every test has two p-values: that of "the claim does not hold" and that of "it does not fail". It
decides where one of them is below ERROR.

    interval     the whole 95 % interval of the mean lies within the claim's range, or all of it
                 outside (two one-sided tests where the range has two ends; Berger 1982)
    sign test    the claim holds of the numbers of k of n independent runs by themselves:
                 p = P(Binomial(n, 1/2) >= k)
    permutation  rank correlation of two profiles over layers: p is the share of permutations of
                 the layers whose correlation is as large

A mean on a grid, such as that of layers of a peak, is not normal, and all runs may share a number.
So such numbers have the sign test, and so has every number whose interval has no width. Six runs
are the fewest that decide: 2^-6 = .016. Pairs of runs that share a run are not independent. Of
these, n is the number of pairs that share none, and each pair that speaks against a verdict is
taken off k: whichever n pairs without a shared run one takes, no fewer than k of them speak for
it.

Seeds of one model have one profile over layers in common. An interval over seeds says how sure the
correlation is in these layers, and nothing of whether two unrelated profiles would have it. So a
correlation has the permutation test as well (Fisher 1935): by all permutations of up to ENUMERATED
layers, else by DRAWS random ones and the observed order (Phipson and Smyth 2010).
"""

from collections.abc import Collection, Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np
from scipy.stats import binom, rankdata

from bertshift.rows import statistics
from bertshift.rows.estimates import Estimate
from bertshift.rows.replicate import Replicate

ERROR = 0.025  # how often a verdict is wrong where the truth lies at the bound
ENUMERATED, DRAWS, SEED = 8, 9_999, 1


class PValues(NamedTuple):
    """The p-values of the tests that show that a claim holds, and that it fails."""

    holds: float
    fails: float


UNKNOWN = PValues(np.nan, np.nan)


def has_width(mean: Estimate) -> bool:
    """Test whether an interval is wider than the digits of a table."""
    return bool(mean.error > statistics.EQUAL)


def p_of_interval(mean: Estimate, low: float, high: float) -> PValues:
    """Test whether the true value lies between `low` and `high`, one of which may be infinite."""
    below = mean.below(low) if np.isfinite(low) else 0.0
    above = 1 - mean.below(high) if np.isfinite(high) else 0.0
    outside = max(below, above)
    return PValues(outside, 1 - outside)


def p_of_signs(holding: Sequence[bool], replicates: Sequence[Replicate]) -> PValues:
    """Test whether a claim holds of most runs, given whether it does so of each of these
    `replicates`."""
    n = count_independent(replicates)
    missing = len(holding) - sum(holding)
    return PValues(_binomial_tail(n - missing, n), _binomial_tail(n - sum(holding), n))


def count_independent(replicates: Sequence[Replicate]) -> int:
    """Count replicates that share no run: one after the other, those that have no run of an
    earlier one."""
    used: set[int] = set()
    count = 0
    for replicate in replicates:
        if used.isdisjoint(replicate.runs):
            used.update(replicate.runs)
            count += 1
    return count


def _binomial_tail(k: int, n: int) -> float:
    """Calculate the probability of k or more heads of n."""
    return float(binom.sf(k - 1, n, 0.5))


def p_of_permutations(values: Sequence[float], others: Sequence[float]) -> PValues:
    """Test whether two profiles over layers rise together (`holds`), or one as the other falls
    (`fails`). Both p-values are one-sided; 1 where a profile is constant."""
    values, others = (_standardised_ranks(profile) for profile in (values, others))
    if not (values.any() and others.any()):
        return PValues(1.0, 1.0)
    correlations = _permutations(others) @ values
    observed = others @ values
    return PValues(
        float(np.mean(correlations >= observed - statistics.EQUAL)),
        float(np.mean(correlations <= observed + statistics.EQUAL)),
    )


def _standardised_ranks(profile: Sequence[float]) -> np.ndarray:
    """Rank a profile, [layers], so that products with another are rank correlations; zeros where
    it is constant."""
    digits = np.round(np.asarray(profile, np.float64), 12)
    ranks = rankdata(digits)
    centred = ranks - ranks.mean()
    return centred / max(np.linalg.norm(centred), statistics.EQUAL)


def _permutations(values: np.ndarray) -> np.ndarray:
    """List permutations of values [layers] and the values themselves, [permutations, layers]."""
    if len(values) <= ENUMERATED:
        return np.array([*permutations(values)])
    rng = np.random.default_rng(SEED)
    draws = rng.permuted(np.tile(values, (DRAWS, 1)), axis=1)
    return np.vstack([values, draws])


def of_all(p: Collection[float]) -> float:
    """Return the p-value of "true of all cases" from those of the cases: the largest
    (intersection-union test, Berger 1982). NaN where one is."""
    return float(np.max([*p]))


def of_some(p: Collection[float]) -> float:
    """Return the p-value of "true of some case" from those of the cases: Bonferroni's. NaN where
    one is."""
    return float(np.minimum(1.0, len(p) * np.min([*p])))
