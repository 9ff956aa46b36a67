"""Means and intervals over replicates, in float64."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats as distributions

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
        raise UserError(
            f"a mean needs finite numbers, got {values.tolist()}; look for a failed run in the TSV."
        )
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
        names = ("seed" + seed).where(
            table["ref_seed"].isin([0]) | (seed == other), "seed" + seed + "-" + other
        )
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
