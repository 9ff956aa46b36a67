"""Replicates of rows, and what is said of several of them, in float64."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from bertshift.rows.replicate import UNITS, Replicate

POINTS = 100  # a score of 1 in points, in which papers print accuracy, F1, attachment scores
SCORES = ["control", "selectivity"]  # columns beside a `value` that is a score
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


def in_points(rows: pd.DataFrame) -> pd.DataFrame:
    """Scale scores from 0 to 1, in `value` and SCORES, to POINTS."""
    names = [name for name in ("value", *SCORES) if name in rows]
    return rows.assign(**rows[names] * POINTS)


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


def by_largest(changes: np.ndarray) -> np.ndarray:
    """Compute the p-value of each place, corrected over all places by the largest (max-T, Westfall
    and Young 1993, section 2.3): how often a draw's largest value is at least as large.

    changes: [1 + draws, places], of the model, then of each draw of its null; each place in a unit
        in which the draws can be compared between places

    With n draws no p is below 1 / (n + 1), and if the model is one more draw, the least p of the
    places is at most that in at most 1 of n + 1 studies.
    """
    own, *draws = changes
    largest = np.max(draws, axis=1)
    reached = largest[:, None] >= own - EQUAL
    return (1 + reached.sum(axis=0)) / (1 + len(draws))


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
