"""Means and intervals over replicates, in float64."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats as distributions
from scipy.integrate import quad

from bertshift.errors import UserError


UNITS = {"init": "pretraining run", "seed": "seed"}  # what a replicate's name begins with, and what it is


@dataclass(frozen=True)
class Estimate:
    """A mean over `replicates` and an interval; `interval` says which kind it is."""

    mean: float
    low: float
    high: float
    replicates: int
    interval: str


def estimate(values, level: float = 0.95) -> Estimate:
    """Mean and interval over replicates.

    Three or more replicates: the two-sided t interval of the mean. Two: their range, because a t interval
    with one degree of freedom is 12.7 standard errors wide and would hide the figure. One: no interval (NaN).
    Raises UserError for no value at all or for a value that is not finite.
    """
    values = np.asarray(values, dtype=np.float64)
    if values.size == 0 or not np.isfinite(values).all():
        raise UserError(f"a mean needs finite numbers, got {values.tolist()}; look for a failed run in the TSV.")
    n, mean = values.size, float(values.mean())
    if n == 1:
        return Estimate(mean, np.nan, np.nan, 1, "none")
    if n == 2:
        return Estimate(mean, float(values.min()), float(values.max()), 2, "min-max")
    half = distributions.t.ppf((1 + level) / 2, n - 1) * values.std(ddof=1) / np.sqrt(n)
    return Estimate(mean, mean - float(half), mean + float(half), n, f"{level:.0%} t")


def paired_difference(first: pd.Series, second: pd.Series, level: float = 0.95) -> Estimate:
    """`estimate` of first - second over the replicates (index) that both have; UserError if they share none."""
    shared = first.index.intersection(second.index)
    if shared.empty:
        raise UserError("a paired difference needs replicates that both models have; their TSVs share none.")
    return estimate(first.loc[shared].to_numpy() - second.loc[shared].to_numpy(), level)


def with_replicates(table: pd.DataFrame) -> pd.DataFrame:
    """Metric rows with a column `replicate` that names the independent unit a row belongs to.

    Several pretraining runs: the run, since seeds on one checkpoint are not independent of each other.
    One pretraining run: the fine-tuning seed, or the pair of seeds where two seeds are compared.
    """
    if table["init"].nunique() > 1:
        names = "init" + table["init"].astype(str)
    else:
        seed, other = table["seed"].astype(str), table["ref_seed"].astype(str)
        names = ("seed" + seed).where(table["ref_seed"].isin([0]) | (seed == other), "seed" + seed + "-" + other)
    return table.assign(replicate=names)


def replicate_means(table: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """One row per `by` x replicate: the mean `value` of the replicate's rows."""
    return (
        with_replicates(table)
        .groupby([*by, "replicate"], sort=False, as_index=False)["value"]
        .mean()
        .astype({"value": np.float64})
    )


def summarise(table: pd.DataFrame, by: list[str], level: float = 0.95) -> pd.DataFrame:
    """One row per `by`, in order of appearance: value (mean), low, high, replicates, unit (of replication), interval."""
    rows = []
    for keys, group in replicate_means(table, by).groupby(by, sort=False):
        one = estimate(group["value"], level)
        unit = UNITS[group["replicate"].iloc[0][:4]]
        rows.append((*keys, one.mean, one.low, one.high, one.replicates, unit, one.interval))
    return pd.DataFrame(rows, columns=[*by, "value", "low", "high", "replicates", "unit", "interval"])


def null_correlation(k_x: int, k_y: int, n: int) -> float:
    """Mean canonical correlation of two independent Gaussian samples, of ranks k_x and k_y, with n rows.

    The squared correlations follow Wachter's law (1980) with ratios a = k_x/(n-1), b = k_y/(n-1); their mean is
    max(a, b), which is d/(n-1) for k_x = k_y = d. The mean of their roots has no simple form and is integrated.
    1 minus the result is the largest SVCCA distance that unrelated representations would show.
    Raises UserError unless 1 <= k_x, k_y < n.
    """
    if not (1 <= min(k_x, k_y) and max(k_x, k_y) < n):
        raise UserError(f"independent CCA needs 1 <= ranks < rows, got ranks {k_x} and {k_y} with {n} rows.")
    a, b = sorted((k_x / (n - 1), k_y / (n - 1)))
    centre, spread = a * (1 - b) + b * (1 - a), 2 * np.sqrt(a * b * (1 - a) * (1 - b))
    certain = max(0.0, a + b - 1)  # more dimensions than rows allow: that many correlations are exactly 1

    def root(angle: float) -> float:
        # squared correlation = centre - spread cos(angle): removes the square-root edges of the density
        square = centre - spread * np.cos(angle)
        return (spread * np.sin(angle)) ** 2 / (2 * np.pi * np.sqrt(square) * (1 - square))

    return float((certain + quad(root, 0, np.pi)[0]) / a)
