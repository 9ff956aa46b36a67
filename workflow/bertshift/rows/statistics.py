"""Replicates of a table, and means over them, in float64."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from bertshift.errors import UserError
from bertshift.rows import blocks, ranges
from bertshift.rows.blocks import JACKKNIFE_COLUMNS
from bertshift.rows.estimates import estimate

POINTS = 100  # of a score from 0 to 1, in which papers print accuracy, F1, attachment scores
# The beginning of a replicate's name, and the unit that it is.
UNITS = {
    "init": "pretraining run",
    "seed": "seed",
}
# Which replicate of a model, and of what it is compared with.
RUN = [
    "init",
    "seed",
    "ref_init",
    "ref_seed",
]
SPREADS = ["sd_probe", "sd_finetuning", "sd_pretraining"]
PROBED = ["model", "task", "init"]  # what the probes of several seeds are trained on
PAIRED = " pair"  # a unit that is two of UNITS
EQUAL = 1e-9  # tables carry ten digits
COMPARABLE = 5  # replicates, from which on one of them can be told to lie far from the others
FAR = 0.01  # how often one of normal replicates does so by chance
BANDED = 3  # replicates, from which on figures draw an interval; fewer are drawn themselves


def correlation(values, others) -> float:
    """Compute Pearson's r; NaN where either side is constant, for which r is undefined."""
    pair = [np.asarray(part, dtype=np.float64).ravel() for part in (values, others)]
    if min(np.ptp(part) for part in pair) < EQUAL:
        return np.nan
    return float(np.corrcoef(*pair)[0, 1])


def paired_t(differences) -> float:
    """Compute the two-sided p of "the mean difference is 0" over replicates (Student's t); NaN for
    fewer than two.

    NaN also for equal differences other than 0: scores are counts, so that two replicates agree by
    chance.
    """
    differences = np.asarray(differences, dtype=np.float64)
    if differences.size < 2:
        return np.nan
    if differences.std() == 0:
        return 1.0 if differences.mean() == 0 else np.nan
    return float(stats.ttest_1samp(differences, 0).pvalue)


def is_far_off(values) -> bool:
    """Test whether one replicate lies far from the others (Grubbs 1969, two-sided, at FAR). False
    for fewer than COMPARABLE: the largest distance from their mean is bounded."""
    values = np.asarray(values, dtype=np.float64)
    n = values.size
    if n < COMPARABLE:
        return False
    t = stats.t.isf(FAR / (2 * n), n - 2)
    critical = (n - 1) / np.sqrt(n) * t / np.sqrt(n - 2 + t**2)
    return bool(np.abs(values - values.mean()).max() > critical * values.std(ddof=1) + EQUAL)


def best_of_two(values) -> float:
    """Estimate what the better of two runs scores on average, from all pairs (unbiased); NaN for
    fewer than two."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = ordered.size
    # The i-th smallest of n, counted from 0, is the larger one of i pairs.
    return float(ordered @ np.arange(n) / (n * (n - 1) / 2)) if n > 1 else np.nan


def with_replicates(table: pd.DataFrame, group_by: Sequence[str] = ()) -> pd.DataFrame:
    """Add a column `replicate` to metric rows: the independent unit that a row belongs to, among
    those of the same `group_by`.

    Several pretraining runs, or no fine-tuning at all: the run, since seeds on one checkpoint are
    not independent of each other, or the pair of runs where two are compared ("init1-2"). One
    pretraining run: the fine-tuning seed, or the pair of seeds ("seed1-2").
    """
    init, seed = _numbers(table, "init"), _numbers(table, "seed")
    group = [table[key] for key in group_by] or np.zeros(len(table))
    one_run = table["init"].groupby(group).transform("nunique") == 1
    by_seed = (
        one_run & (table["seed"] != 0).groupby(group).transform("any") & ~init.str.contains("-")
    )
    return table.assign(replicate=("init" + init).where(~by_seed, "seed" + seed))


def _numbers(table: pd.DataFrame, key: str) -> pd.Series:
    """Name what a row has as `key`, joined with the same of what the row is compared with where
    that differs."""
    own = table[key].astype(str)
    if f"ref_{key}" not in table:
        return own
    other = table[f"ref_{key}"].fillna(0).astype(int)  # metrics of one model have none
    return own.where(other.isin([0]) | (other == table[key]), own + "-" + other.astype(str))


def unit_of(replicate: str) -> str:
    """Tell the unit of a replicate from its name in `with_replicates`: one of UNITS, or a pair of
    them."""
    return UNITS[replicate[:4]] + PAIRED * ("-" in replicate)


def failures(table: pd.DataFrame) -> pd.Series:
    """Mark rows that are about a run, or compare it with one, that failed to train; none where a
    table does not say."""
    return (
        table[[column for column in ("failed", "ref_failed") if column in table]]
        .eq(True)
        .any(axis=1)
    )


def failed_wholes(rows: pd.DataFrame, by: list[str]) -> pd.Series:
    """Mark the rows of sweeps that freeze or drop layers and whose complete run, to which they are
    compared, failed to train; columns `by` name a replicate. A frozen or shortened model at the
    majority class is a result, no failure."""
    cut = rows["model"].str.contains(r"\.(?:freeze|keep)")
    runs = [rows[key] for key in by]
    failed = (failures(rows) & ~cut).groupby(runs).transform("any")
    return failed & cut.groupby(runs).transform("any")


def summarise(table: pd.DataFrame, by: list[str], group_by: Sequence[str] = ()) -> pd.DataFrame:
    """Average the rows of each `by`, in order of appearance: value (mean), low, high, each (what
    several replicates have), replicates, unit (of replication), interval (see `estimates`).
    Replicates are those of the same `group_by`, which are among `by`.

    A replicate's value is the mean of its rows, and so are its values without each block
    (`blocks.JACKKNIFE_COLUMNS`), if the table has them. The interval lies in the range that the
    columns `ranges.ENDS` name, if there are any; the column `ranges.SHARE_OF` has the number of
    examples that the value is a share of.
    """
    columns = [*by, "value", "low", "high", "each", "replicates", "unit", "interval"]
    rows = with_replicates(table, group_by).dropna(subset=by)
    blocks.check(rows)
    ranges.check(rows)
    rows["cell"] = rows.groupby(by, sort=False).ngroup()
    wanted = ["value", *(name for name in JACKKNIFE_COLUMNS if name in rows)]
    each = rows.groupby(["cell", "replicate"], sort=False)[wanted].mean()
    if not np.isfinite(each["value"]).all():
        estimate(each.loc[~np.isfinite(each["value"]), "value"])  # says so
    first = rows.drop_duplicates("cell").set_index("cell")
    found = first.assign(unit=first["replicate"].map(unit_of), each="", interval="", replicates=0)
    bounds = found.reindex(columns=ranges.ENDS).fillna(
        dict(zip(ranges.ENDS, ranges.ANY, strict=True))
    )
    examples = found.get(ranges.SHARE_OF, pd.Series(np.nan, found.index))
    wide = each.unstack()
    # Cells with the same replicates and blocks at once: a figure may have thousands of cells.
    for _, cells in wide.groupby(
        [known.tobytes() for known in wide.notna().to_numpy()], sort=False
    ):
        part = cells.dropna(axis="columns")
        values = part["value"]
        known = [name for name in wanted[1:] if name in part and part[name].shape == values.shape]
        left_out = np.stack([part[name].to_numpy().T for name in known], axis=1) if known else None
        within, counted = bounds.loc[cells.index].to_numpy().T, examples[cells.index].to_numpy()
        one = estimate(values.to_numpy().T, list(values), left_out, within, counted)
        found.loc[cells.index, ["value", "low", "high"]] = np.column_stack(
            [one.mean, one.low, one.high]
        )
        found.loc[cells.index, ["replicates", "interval"]] = one.replicates, one.interval
        if one.replicates > 1:
            found.loc[cells.index, "each"] = [joined(row) for row in values.to_numpy()]
    return found[columns].reset_index(drop=True)


def joined(values) -> str:
    """Join the replicates' values into the text that the column `each` holds."""
    return "; ".join(f"{value:.10g}" for value in values)


def each_of(text: str) -> list[float]:
    """Split a text of `joined` into the replicates' values; none where the column `each` is
    empty."""
    return [float(value) for value in text.split("; ")] if text else []


def banded(rows: pd.DataFrame) -> pd.Series:
    """Tell for which rows figures draw the interval: those with one, and with replicates enough
    for it."""
    return rows["low"].notna() & (rows["replicates"] >= BANDED)


def too_few(rows: pd.DataFrame) -> pd.Series:
    """List, row by row, the replicates' values where they are several and too few for an interval;
    else nothing."""
    return rows["each"].where(rows["replicates"] < BANDED, "").map(each_of)


def mapped(table: pd.DataFrame, function: Callable, *more: str) -> pd.DataFrame:
    """Apply the monotone `function` to a table's `value`, values without each block, range and
    columns `more`."""
    names = [name for name in ("value", *JACKKNIFE_COLUMNS, *more) if name in table]
    found = table.assign(**{name: function(table[name]) for name in names})
    if {*ranges.ENDS} <= {*table}:
        with np.errstate(divide="ignore"):  # the logarithm of an end at 0
            bounds = np.sort([function(table[name]) for name in ranges.ENDS], axis=0)
        found[ranges.ENDS] = bounds.T
    return found


def with_value(table: pd.DataFrame, values: pd.Series | float, bounds=ranges.ANY) -> pd.DataFrame:
    """Replace the values of a table by others, in a range with these `bounds`, that have no values
    without a block, and no interval."""
    columns = [*JACKKNIFE_COLUMNS, ranges.SHARE_OF, "low", "high"]
    return ranges.within(table.drop(columns=columns, errors="ignore").assign(value=values), bounds)


def in_points(table: pd.DataFrame) -> pd.DataFrame:
    """Scale a table of scores from 0 to 1 to POINTS."""
    return mapped(table, lambda score: score * POINTS, "control", "selectivity")


def is_own_probe(probe_seeds, probes, seed: int, seeds: int):
    """Tell which probes of a pretrained model are compared with fine-tuning seed `seed` of
    `seeds`.

    The pretrained model has the probes 1 to `probes` (a number, or one for each of `probe_seeds`).
    They are divided among its fine-tuning seeds. So each seed's difference contains the noise of
    other probes, and the spread of these differences contains the noise of the pretrained model's
    probes: the interval over seeds needs no other term for it. With fewer probes than seeds, some
    seeds share one. Seed 0, of a model that is not fine-tuned, is compared with all probes.
    """
    shares = np.minimum(probes, seeds if seed else 1)
    return probe_seeds % shares == seed % shares


def of_own_probes(parents: pd.DataFrame, seed: int, seeds: int) -> pd.DataFrame:
    """Select the rows of pretrained models that are compared with a fine-tuning seed
    (`is_own_probe`): all rows of a table without probes."""
    if "probe_seed" not in parents:
        return parents
    probe = parents["probe_seed"].fillna(1)
    probes = probe.groupby([parents[key] for key in PROBED if key in parents], dropna=False)
    return parents[is_own_probe(probe, probes.transform("max"), seed, seeds)]


def minus_parents(rows: pd.DataFrame, parents: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Subtract from `rows` what `parents` have for the same `by` and pretraining run `init`, in
    `value` and without each block of inputs: the mean over the seed's own probes (`is_own_probe`).
    Raises UserError where they have nothing."""
    keys = [*by, "init"]
    names = [name for name in ("value", *JACKKNIFE_COLUMNS) if name in rows]
    seeds = rows["seed"].unique()
    own = {seed: of_own_probes(parents, seed, seeds.max()) for seed in seeds}
    means = {seed: probes.groupby(keys)[names].mean() for seed, probes in own.items()}
    which = pd.MultiIndex.from_frame(rows[["seed", *keys]])
    less = pd.concat(means, names=["seed"]).reindex(which)
    missing = less["value"].isna().to_numpy()
    if missing.any():
        row = rows[missing].iloc[0]
        raise UserError(
            f"{row['model']} has {', '.join(f'{key} {row[key]}' for key in keys)} and its"
            " pretrained model has not; delete the latter's table and run its rule again."
        )
    less = rows.assign(**{name: rows[name] - less[name].to_numpy() for name in names})
    return ranges.within(less, ranges.ANY)


def spreads(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Make a row for each `by`: standard deviations of `value` between runs of one kind, pooled
    over all other runs.

    `sd_probe`: between probes on one model; `sd_finetuning`: between seeds on one checkpoint, of
    means over probes; `sd_pretraining`: between pretraining runs, of means over seeds. NaN where
    nothing was run twice.
    """
    found, within = [], [*by, "init", "seed", "probe_seed"]
    for kind in SPREADS:
        rows = rows.groupby(within, as_index=False)["value"].mean()
        within = within[:-1]
        variances = rows.groupby(within)["value"].var()
        found.append(np.sqrt(variances.groupby(by).mean()).rename(kind))
    return pd.concat(found, axis=1).reset_index()


def holm(p: pd.Series) -> pd.Series:
    """Apply Holm's step-down correction to p-values, for having made all of these tests (Holm
    1979)."""
    ordered = p.sort_values()
    steps = ordered * np.arange(len(ordered), 0, -1)
    return steps.cummax().clip(upper=1.0).reindex(p.index)


def layers_to(scores: Mapping[int, float], share: float = 0.95) -> float:
    """Find the fewest layers that gain `share` of the score between the fewest and the most; NaN
    if more layers gain nothing."""
    fewest, most = scores[min(scores)], scores[max(scores)]
    if most <= fewest:
        return np.nan
    enough = fewest + share * (most - fewest) - EQUAL
    return float(min(layers for layers, score in scores.items() if score >= enough))
