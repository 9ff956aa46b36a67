"""Replicates of a table, and means over them, in float64."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress

import numpy as np
import pandas as pd
from scipy import stats

from bertshift.errors import UserError
from bertshift.rows import blocks, ranges
from bertshift.rows.blocks import JACKKNIFE_COLUMNS
from bertshift.rows.estimates import Shared, estimate
from bertshift.rows.replicate import UNITS, Replicate

POINTS = 100  # a score of 1 in points, in which papers print accuracy, F1, attachment scores
# The replicate of a model, and of what it is compared with.
RUN = ["init", "seed", "ref_init", "ref_seed"]
SPREADS = ["sd_probe", "sd_finetuning", "sd_pretraining"]
PROBED = ["model", "task", "init"]  # what the probes of several seeds are trained on
EQUAL = 1e-9  # tables carry ten digits
COMPARABLE = 5  # from this many replicates on, a test can find that one lies far from the others
FAR = 0.01  # how often it finds so by chance, for normal replicates
BANDED = 3  # from this many replicates on, figures draw an interval; fewer are drawn themselves


def correlation(values, others) -> float:
    """Compute Pearson's r; NaN where either side is constant, for which r is undefined."""
    x = np.asarray(values, dtype=np.float64).ravel()
    y = np.asarray(others, dtype=np.float64).ravel()
    if np.ptp(x) < EQUAL or np.ptp(y) < EQUAL:
        return np.nan
    return float(np.corrcoef(x, y)[0, 1])


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
    most = (n - 1) / np.sqrt(n)  # that the largest distance can be, in standard deviations
    critical = most * t / np.sqrt(n - 2 + t**2)
    largest = np.abs(values - values.mean()).max()
    return bool(largest > critical * values.std(ddof=1) + EQUAL)


def best_of_two(values) -> float:
    """Estimate what the better of two runs scores on average, from all pairs (unbiased); NaN for
    fewer than two."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = ordered.size
    if n < 2:
        return np.nan
    pairs = n * (n - 1) / 2
    # The i-th smallest of n, counted from 0, is the larger of i pairs.
    return float(ordered @ np.arange(n) / pairs)


def with_replicates(table: pd.DataFrame, group_by: Sequence[str] = ()) -> pd.DataFrame:
    """Add a column `replicate` to metric rows: the independent unit that a row belongs to, among
    those of the same `group_by`, as `Replicate` spells it.

    Several pretraining runs, or no fine-tuning at all: the run, since seeds on one checkpoint are
    not independent of each other, or the pair of runs where two are compared ("init1-2"). One
    pretraining run: the fine-tuning seed, or the pair of seeds ("seed1-2").
    """
    group = [table[key] for key in group_by] or np.zeros(len(table))
    one_run = table["init"].groupby(group).transform("nunique") == 1
    fine_tuned = (table["seed"] != 0).groupby(group).transform("any")
    units = [
        replicate.of_seed if is_of_seeds and not replicate.ref_init else replicate.of_init
        for replicate, is_of_seeds in zip(_replicates(table), one_run & fine_tuned)
    ]
    spelled = {unit: str(unit) for unit in set(units)}  # they are few, and rows are many
    return table.assign(replicate=pd.Series(map(spelled.get, units), table.index, str))


def _replicates(table: pd.DataFrame) -> Iterator[Replicate]:
    """Read the replicate of each row."""
    own = [table[key].tolist() for key in ("init", "seed")]
    references = [_references(table, key) for key in ("init", "seed")]
    return map(Replicate, *own, *references)


def _references(table: pd.DataFrame, key: str) -> list[int]:
    """Read the reference's `key` in each row; 0 where it is the model's, or there is none."""
    references = table.get(f"ref_{key}", pd.Series(0, table.index))
    references = references.fillna(0).astype(int)  # metrics of one model: none
    return references.where(references != table[key], 0).tolist()


def by_seed(units: pd.Series) -> pd.Series:
    """Mark replicates that are seeds of one pretraining run, or pairs of these."""
    return units.str.startswith(UNITS["seed"])


def failures(table: pd.DataFrame) -> pd.Series:
    """Mark rows of a run that failed to train, or of a comparison with one; none where the table
    has no such column."""
    columns = [column for column in ("failed", "ref_failed") if column in table]
    return table[columns].eq(True).any(axis=1)


def failed_wholes(rows: pd.DataFrame, by: list[str]) -> pd.Series:
    """Mark the rows of sweeps that freeze or drop layers and whose complete run, to which they are
    compared, failed to train; columns `by` name a replicate. A frozen or shortened model at the
    majority class is a result, no failure."""
    is_cut = rows["model"].str.contains(r"\.(?:freeze|keep)")
    run = [rows[key] for key in by]
    complete_failed = (failures(rows) & ~is_cut).groupby(run).transform("any")
    has_cut = is_cut.groupby(run).transform("any")
    return complete_failed & has_cut


def summarise(table: pd.DataFrame, by: list[str], group_by: Sequence[str] = ()) -> pd.DataFrame:
    """Average the rows of each `by`, in order of appearance: value (mean), low, high, each (the
    values of several replicates), replicates, unit (of replication), interval (see `estimates`).
    Replicates are those of the same `group_by`, which are among `by`.

    A replicate's value is the mean of its rows, and so are its values without each block
    (`blocks.JACKKNIFE_COLUMNS`), if the table has them. The interval lies in the range that the
    columns `ranges.ENDS` name, if there are any; the column `ranges.SHARE_OF` has the number of
    examples that the value is a share of, and `ranges.SHARED` what the seeds of one pretraining
    run have in common.
    """
    columns = [*by, "value", "low", "high", "each", "replicates", "unit", "interval"]
    rows = with_replicates(table, group_by).dropna(subset=by)
    blocks.check(rows)
    ranges.check(rows)
    rows["cell"] = rows.groupby(by, sort=False).ngroup()
    jackknife = [name for name in JACKKNIFE_COLUMNS if name in rows]
    means = rows.groupby(["cell", "replicate"], sort=False)[["value", *jackknife]].mean()
    is_finite = np.isfinite(means["value"])
    if not is_finite.all():
        estimate(means.loc[~is_finite, "value"])  # raises UserError
    summary = rows.drop_duplicates("cell").set_index("cell")
    summary["unit"] = summary["replicate"].map(lambda name: Replicate.parse(name).unit)
    widest = dict(zip(ranges.ENDS, ranges.ANY, strict=True))
    bounds = summary.reindex(columns=ranges.ENDS).fillna(widest).to_numpy()
    examples = summary.get(ranges.SHARE_OF, pd.Series(np.nan, summary.index)).to_numpy()
    shared = summary.reindex(columns=ranges.SHARED).fillna({"shared_freedom": 1})
    shared["shared_variance"] = shared["shared_variance"].where(by_seed(summary["unit"]), 0.0)
    shared = shared.fillna(0.0).to_numpy()
    # In one array, as frames take many times as long: [cells, value and blocks, replicates].
    wide = means.unstack()
    replicates = list(map(Replicate.parse, wide["value"].columns))
    numbers = wide.to_numpy().reshape(len(wide), 1 + len(jackknife), len(replicates))
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
            bounds=bounds[cells].T,
            examples=examples[cells],
            shared=Shared(*shared[cells].T),
        )
        found["value"][cells], found["low"][cells] = group.mean, group.low
        found["high"][cells], found["interval"][cells] = group.high, group.interval
        found["replicates"][cells] = group.replicates
        several = group.replicates > 1
        found["each"][cells] = [joined(each) if several else "" for each in values.T]
    summary = summary.assign(**found).astype({"each": str, "interval": str})
    return summary[columns].reset_index(drop=True)


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


def joined(values) -> str:
    """Join the replicates' values into the text that the column `each` holds."""
    return "; ".join(f"{value:.10g}" for value in values)


def each_of(text: str) -> list[float]:
    """Split a text of `joined` into the replicates' values; none where the column `each` is
    empty."""
    return [float(value) for value in text.split("; ")] if text else []


def banded(rows: pd.DataFrame) -> pd.Series:
    """Mark the rows whose interval figures draw: those with one and with enough replicates."""
    return rows["low"].notna() & (rows["replicates"] >= BANDED)


def too_few(rows: pd.DataFrame) -> pd.Series:
    """List, row by row, the replicates' values where there are several and too few for an
    interval; else nothing."""
    return rows["each"].where(rows["replicates"] < BANDED, "").map(each_of)


def mapped(table: pd.DataFrame, function: Callable, *more: str) -> pd.DataFrame:
    """Apply the monotone `function` to a table's `value`, values without each block, range and
    columns `more`."""
    names = [name for name in ("value", *JACKKNIFE_COLUMNS, *more) if name in table]
    result = table.assign(**{name: function(table[name]) for name in names})
    if set(ranges.ENDS) <= set(table):
        with np.errstate(divide="ignore"):  # the logarithm of an end at 0
            bounds = [function(table[name]) for name in ranges.ENDS]
        result[ranges.ENDS] = np.sort(bounds, axis=0).T
    return result


def with_value(table: pd.DataFrame, values: pd.Series | float, bounds=ranges.ANY) -> pd.DataFrame:
    """Replace the values of a table by others, in a range with these `bounds`, that have no values
    without a block, and no interval."""
    columns = [*JACKKNIFE_COLUMNS, ranges.SHARE_OF, "low", "high"]
    table = table.drop(columns=columns, errors="ignore").assign(value=values)
    return ranges.within(table, bounds)


def in_points(table: pd.DataFrame) -> pd.DataFrame:
    """Scale a table of scores from 0 to 1 to POINTS."""
    return mapped(table, lambda score: score * POINTS, "control", "selectivity")


def is_own_probe(probe_seeds, probes, seed: int, seeds: int):
    """Test which probes of a pretrained model are compared with fine-tuning seed `seed` of
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
    model = [parents[key] for key in PROBED if key in parents]
    probes = probe.groupby(model, dropna=False).transform("max")
    return parents[is_own_probe(probe, probes, seed, seeds)]


def minus_parents(rows: pd.DataFrame, parents: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Subtract from `rows` the value of `parents` for the same `by` and pretraining run `init`, in
    `value` and without each block of inputs: the mean over the seed's own probes (`is_own_probe`).
    Raises UserError where they have none."""
    keys = [*by, "init"]
    names = [name for name in ("value", *JACKKNIFE_COLUMNS) if name in rows]
    seeds = rows["seed"].unique()
    means = {}
    for seed in seeds:
        probes = of_own_probes(parents, seed, seeds.max())
        means[seed] = probes.groupby(keys)[names].mean()
    index = pd.MultiIndex.from_frame(rows[["seed", *keys]])
    parent = pd.concat(means, names=["seed"]).reindex(index)
    is_missing = parent["value"].isna().to_numpy()
    if is_missing.any():
        row = rows[is_missing].iloc[0]
        raise UserError(
            f"{row['model']} has {', '.join(f'{key} {row[key]}' for key in keys)} and its"
            " pretrained model has not; delete the latter's table and run its rule again."
        )
    differences = {name: rows[name] - parent[name].to_numpy() for name in names}
    return ranges.within(rows.assign(**differences), ranges.ANY)


def spreads(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Make a row for each `by`: standard deviations of `value` between runs of one kind, pooled
    over all other runs.

    `sd_probe`: between probes on one model; `sd_finetuning`: between seeds on one checkpoint, of
    means over probes; `sd_pretraining`: between pretraining runs, of means over seeds. NaN where
    nothing was run twice.
    """
    columns = []
    keys = [*by, "init", "seed", "probe_seed"]
    for name in SPREADS:
        rows = rows.groupby(keys, as_index=False)["value"].mean()
        keys = keys[:-1]
        variances = rows.groupby(keys)["value"].var()
        deviation = np.sqrt(variances.groupby(by).mean())
        columns.append(deviation.rename(name))
    return pd.concat(columns, axis=1).reset_index()


def holm(p: pd.Series) -> pd.Series:
    """Correct the p-values of all these tests by Holm's step-down method (Holm 1979)."""
    ordered = p.sort_values()
    steps = ordered * np.arange(len(ordered), 0, -1)
    return steps.cummax().clip(upper=1.0).reindex(p.index)


def layers_to(scores: Mapping[int, float], share: float = 0.95) -> float:
    """Find the fewest layers that gain `share` of the score between the fewest and the most; NaN
    if more layers gain nothing."""
    lowest = scores[min(scores)]
    highest = scores[max(scores)]
    if highest <= lowest:
        return np.nan
    enough = lowest + share * (highest - lowest) - EQUAL
    sufficient = [layers for layers, score in scores.items() if score >= enough]
    return float(min(sufficient))
