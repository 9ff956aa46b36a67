"""Means and intervals over replicates, in float64."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats as distributions

from bertshift.errors import UserError

POINTS = 100  # of a score from 0 to 1, the unit in which papers print accuracy, F1 and attachment scores
UNITS = {"init": "pretraining run", "seed": "seed"}  # what a replicate's name begins with, and what it is
RUN = ["init", "seed", "ref_init", "ref_seed"]  # which replicate of a model, and of what it is compared with
SPREADS = ["sd_probe", "sd_finetuning", "sd_pretraining"]
PAIRED = " pair"  # a unit that is two of UNITS
EQUAL = 1e-9  # tables carry ten digits
BOOTSTRAP = "95% over inputs"  # what `low` and `high` of a metric's own table are


@dataclass(frozen=True)
class Estimate:
    """A mean over `replicates` and an interval; `interval` says which kind it is. Arrays for replicates of arrays."""

    mean: float | np.ndarray
    low: float | np.ndarray
    high: float | np.ndarray
    replicates: int
    interval: str


def estimate(values, level: float = 0.95, independent: bool = True) -> Estimate:
    """Mean and interval over replicates, the first axis of `values`; the rest may be, say, the steps of a curve.

    Three or more replicates: the two-sided t interval of the mean, or their range where they are not independent.
    Two: their range, because a t interval with one degree of freedom is 12.7 standard errors wide and would hide the
    figure. One: no interval (NaN).
    Raises UserError for no value at all or for a value that is not finite.
    """
    values = np.asarray(values, dtype=np.float64)
    if values.size == 0 or not np.isfinite(values).all():
        raise UserError(
            f"a mean needs finite numbers, got {values.tolist()}; look for a failed run in the TSV."
        )
    n, mean = len(values), values.mean(0)
    if n == 1:
        return Estimate(mean, np.nan * mean, np.nan * mean, 1, "none")
    if n == 2 or not independent:
        return Estimate(mean, values.min(0), values.max(0), n, "min-max")
    half = distributions.t.ppf((1 + level) / 2, n - 1) * values.std(0, ddof=1) / np.sqrt(n)
    return Estimate(mean, mean - half, mean + half, n, f"{level:.0%} t")


def correlation(values, others) -> float:
    """Pearson's r; NaN where either has one value alone, of which there is none."""
    pair = [np.asarray(part, dtype=np.float64).ravel() for part in (values, others)]
    if min(np.ptp(part) for part in pair) < EQUAL:
        return np.nan
    return float(np.corrcoef(*pair)[0, 1])


def paired_t(differences) -> float:
    """Two-sided p of "the mean difference is 0" over replicates (Student's t); NaN for fewer than two.

    NaN also for equal differences other than 0: scores are counts, so that two replicates agree by chance.
    """
    differences = np.asarray(differences, dtype=np.float64)
    n, mean = differences.size, differences.mean()
    if n < 2:
        return np.nan
    error = differences.std(ddof=1) / np.sqrt(n)
    if error == 0:
        return 1.0 if mean == 0 else np.nan
    return float(2 * distributions.t.sf(abs(mean) / error, n - 1))


def best_of_two(values) -> float:
    """What the better of two runs scores on average, from all pairs of runs (unbiased); NaN for fewer than two."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = ordered.size
    # The i-th smallest of n, counted from 0, is the larger one of i pairs.
    return float(ordered @ np.arange(n) / (n * (n - 1) / 2)) if n > 1 else np.nan


def with_replicates(table: pd.DataFrame) -> pd.DataFrame:
    """Metric rows with a column `replicate` that names the independent unit a row belongs to.

    Several pretraining runs, or no fine-tuning at all: the run, since seeds on one checkpoint are not independent of
    each other, or the pair of runs where two are compared ("init1-2"). One pretraining run: the fine-tuning seed, or
    the pair of seeds ("seed1-2").
    """
    init, seed = _numbers(table, "init"), _numbers(table, "seed")
    names = "init" + init
    if table["init"].nunique() == 1 and (table["seed"] != 0).any():
        names = names.where(init.str.contains("-"), "seed" + seed)
    return table.assign(replicate=names)


def _numbers(table: pd.DataFrame, key: str) -> pd.Series:
    """What of a row is called `key`, and that of what it is compared with where this is another one."""
    own = table[key].astype(str)
    if f"ref_{key}" not in table:
        return own
    other = table[f"ref_{key}"].fillna(0).astype(int)  # metrics of one model have none
    return own.where(other.isin([0]) | (other == table[key]), own + "-" + other.astype(str))


def unit_of(replicate: str) -> str:
    """What a name of `with_replicates` counts: one of UNITS, or a pair of them."""
    return UNITS[replicate[:4]] + PAIRED * ("-" in replicate)


def independent(replicates: Iterable[str]) -> bool:
    """Pairs share runs: three of them, named by `with_replicates`, are not three independent numbers."""
    return not any("-" in name for name in replicates)


def failures(table: pd.DataFrame) -> pd.Series:
    """Whether a row is about a run, or compares it with one, that failed to train; none where a table does not say."""
    return table[[column for column in ("failed", "ref_failed") if column in table]].eq(True).any(axis=1)


def failed_wholes(rows: pd.DataFrame, by: list[str]) -> pd.Series:
    """Of rows of sweeps, one replicate for each `by`: whether it freezes or drops layers, and its complete run, to which
    the others are compared, failed to train. A frozen or shortened model at the majority class is a result."""
    cut = rows["model"].str.contains(r"\.(?:freeze|keep)")
    runs = [rows[key] for key in by]
    failed = (failures(rows) & ~cut).groupby(runs).transform("any")
    return failed & cut.groupby(runs).transform("any")


def summarise(table: pd.DataFrame, by: list[str], level: float = 0.95) -> pd.DataFrame:
    """One row per `by`, in order of appearance: value (mean), low, high, replicates, unit (of replication), interval.

    A replicate's value is the mean of its rows. Where there is one row alone, its own `low` and `high` stand.
    """
    columns = [*by, "value", "low", "high", "replicates", "unit", "interval"]
    rows = with_replicates(table).dropna(subset=by)
    rows["cell"] = rows.groupby(by, sort=False).ngroup()
    each = rows.groupby(["cell", "replicate"], sort=False)["value"].mean()
    if not np.isfinite(each).all():
        estimate(each[~np.isfinite(each)])  # says so
    values, first = each.unstack(), rows.drop_duplicates("cell").set_index("cell")
    found = first.assign(unit=first["replicate"].map(unit_of), interval="", replicates=0)
    own = (rows.groupby("cell").size() == 1) & found.reindex(columns=["low", "high"]).notna().all(axis=1)
    own_interval = found.reindex(columns=["low", "high"])[own]
    # Cells with the same replicates at once: a figure may have thousands of cells.
    for there, cells in values.groupby(list(values.notna().T.to_numpy()), sort=False):
        names = values.columns[np.array(there)]
        one = estimate(cells[names].to_numpy().T, level, independent(names))
        found.loc[cells.index, ["value", "low", "high"]] = np.column_stack([one.mean, one.low, one.high])
        found.loc[cells.index, ["replicates", "interval"]] = one.replicates, one.interval
    found.loc[own, ["low", "high"]] = own_interval
    found.loc[own, "interval"] = BOOTSTRAP
    return found[columns].reset_index(drop=True)


def in_points(table: pd.DataFrame) -> pd.DataFrame:
    """A table of scores from 0 to 1 in POINTS."""
    scores = [column for column in ("value", "low", "high", "control", "selectivity") if column in table]
    return table.assign(**{column: table[column] * POINTS for column in scores})


def with_parents(rows: pd.DataFrame, parents: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """`rows` with `parent`: what `parents` have for the same `by` and pretraining run `init`, mean over probe seeds.

    Raises UserError where they have nothing.
    """
    keys = [*by, "init"]
    parent = parents.groupby(keys, as_index=False)["value"].mean().rename(columns={"value": "parent"})
    joined = rows.merge(parent, on=keys, how="left")
    if joined["parent"].isna().any():
        row = joined[joined["parent"].isna()].iloc[0]
        raise UserError(f"{row['model']} has {', '.join(f'{key} {row[key]}' for key in keys)} and its pretrained model "
                        "has not; delete the latter's table and run its rule again.")  # fmt: skip
    return joined


def spreads(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """One row per `by`: standard deviations of `value` between runs of one kind, pooled over all other runs.

    `sd_probe`: between probes on one model; `sd_finetuning`: between seeds on one checkpoint, of means over probes;
    `sd_pretraining`: between pretraining runs, of means over seeds. NaN where nothing was run twice.
    """
    found, within = [], [*by, "init", "seed", "probe_seed"]
    for kind in SPREADS:
        rows = rows.groupby(within, as_index=False)["value"].mean()
        within = within[:-1]
        variances = rows.groupby(within)["value"].var()
        found.append(np.sqrt(variances.groupby(by).mean()).rename(kind))
    return pd.concat(found, axis=1).reset_index()


def holm(p: pd.Series) -> pd.Series:
    """Holm's step-down correction of p-values for having made all of these tests (Holm 1979)."""
    ordered = p.sort_values()
    steps = ordered * np.arange(len(ordered), 0, -1)
    return steps.cummax().clip(upper=1.0).reindex(p.index)


def layers_to(scores: Mapping[int, float], share: float = 0.95) -> float:
    """Fewest layers that gain `share` of the score between the fewest and the most; NaN if more layers gain nothing."""
    fewest, most = scores[min(scores)], scores[max(scores)]
    if most <= fewest:
        return np.nan
    enough = fewest + share * (most - fewest) - EQUAL
    return float(min(layers for layers, score in scores.items() if score >= enough))
