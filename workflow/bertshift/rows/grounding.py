"""Does a distance between models tell how differently they behave? (Ding, Denain and Steinhardt 2021, section 3)

Of the n runs in a block there are n (n - 1) / 2 pairs, each with a distance d and a difference in behaviour b:

    rho = Spearman's correlation of d and b over the pairs of a block; the mean over blocks, weighted by their pairs
    p   = the share of all orders of the runs of b for which rho is as large (Mantel 1967)

Ding et al. take p over pairs as if these were independent. Pairs that share a run are not, so whole runs are permuted
here, each block's among themselves. The test is one-sided: a measure that tracks behaviour has a rho above 0.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import permutations
from math import factorial, prod

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from bertshift.rows.significance import benjamini_hochberg
from bertshift.rows.statistics import failures
from bertshift.seeds import seed_from

ORDERS = 10_000  # up to so many are enumerated; else p is from one fewer at random, and the order as it is
FEWEST = 3  # runs of a block: two have one pair, which has no rank
EQUAL = 1e-9  # between sums of equal ranks in another order
BEHAVIOURS = ["predictions", "score", "outputs"]
RUN, REF_RUN = (["model", "init", "seed"], ["reference", "ref_init", "ref_seed"])


@dataclass(frozen=True)
class Tracking:
    """rho and p of one measure and one difference in behaviour; `orders`: of how many p is a share, so that 1 / orders is
    the least that p can be. `runs`, `pairs` and `blocks` are those with a rho. NaN and 0 where no block has one."""

    rho: float
    p: float
    orders: int
    runs: int
    pairs: int
    blocks: int


def mantel(blocks: Iterable[tuple[np.ndarray, np.ndarray]], *name: str, orders: int = ORDERS) -> Tracking:
    """Calculate Spearman's rho over the pairs of each block, and its one-sided p over orders of the runs.

    blocks: distances and differences in behaviour, both [n, n] and symmetric. Of a block with fewer than three runs, or
    where all pairs are equally far apart or behave equally differently, there is no rho, and it does not count.
    `name` is what the random orders depend on.
    """
    ranked = [tuple(map(_standard_ranks, block)) for block in blocks if len(block[0]) >= FEWEST]
    ranked = [(far, other) for far, other in ranked if far.any() and other.any()]
    if not ranked:
        return Tracking(np.nan, np.nan, 0, 0, 0, 0)
    sizes = [len(far) for far, _ in ranked]
    pairs = [n * (n - 1) // 2 for n in sizes]
    weights = np.array(pairs) / sum(pairs)
    number = prod(map(factorial, sizes))
    if number <= orders:
        found = np.zeros(1)
        for weight, n, block in zip(weights, sizes, ranked, strict=True):
            every = _correlations(*block, np.array(list(permutations(range(n)))))
            found = np.add.outer(found, weight * every).ravel()
    else:
        number, rng = orders, np.random.default_rng(seed_from("mantel", *name))
        found = np.zeros(orders)
        for weight, n, block in zip(weights, sizes, ranked, strict=True):
            drawn = rng.permuted(np.tile(np.arange(n), (orders, 1)), axis=1)
            drawn[0] = np.arange(n)
            found += weight * _correlations(*block, drawn)
    p = np.mean(found >= found[0] - EQUAL)
    return Tracking(float(found[0]), float(p), number, sum(sizes), sum(pairs), len(sizes))


def _standard_ranks(matrix: np.ndarray) -> np.ndarray:
    """Return the pairs' ranks [n, n], symmetric, centred, of length 1 over all pairs; 0 where all pairs are equal."""
    above = np.triu_indices(len(matrix), 1)
    ranks = rankdata(np.asarray(matrix, np.float64)[above])
    ranks -= ranks.mean()
    length = np.sqrt(ranks @ ranks)
    standard = np.zeros(matrix.shape)
    standard[above] = ranks / length if length else 0
    return standard + standard.T


def _correlations(far: np.ndarray, other: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Correlate standard ranks `far` with those of `other`, both [n, n], in each order of the latter's runs
    [orders, n]: [orders]."""
    found = [
        np.einsum("ij,oij->o", far, other[part[:, :, None], part[:, None, :]]) / 2
        for part in np.array_split(orders, -(-len(orders) * len(far) ** 2 // 2**20))
    ]
    return np.concatenate(found)


def tracking(table: pd.DataFrame) -> pd.DataFrame:
    """Make a row for each measure (`variant`), summary of layers (`summary`) and difference in behaviour: the fields
    of Tracking, q over all rows (Benjamini and Hochberg 1995), and how many of the runs `trained` and `failed`.

    `table`: rows of results/grounding of one task; a block is a pretraining run. Runs that failed to train are left out,
    unless all did.
    """
    bad = failures(table)
    kept = table[~bad | bad.all()]
    counts = _counted(table)
    rows = []
    for (measure, summary), group in kept.groupby(["variant", "summary"], sort=False):
        for behaviour in BEHAVIOURS:
            known = group.dropna(subset=["value", behaviour])
            if group[behaviour].isna().all():
                continue  # a regression has no equal predictions
            blocks = [_matrices(block, behaviour) for _, block in known.groupby("init")]
            found = mantel(blocks, *table["stimuli"].head(1))
            rows.append(
                {"variant": measure, "summary": summary, "behaviour": behaviour, **vars(found), **counts}
            )
    found = pd.DataFrame(rows)
    return found.assign(q=benjamini_hochberg(found["p"]))


def _counted(table: pd.DataFrame) -> dict[str, int]:
    sides = [table[[*run, failed]].set_axis([*RUN, "failed"], axis=1)
             for run, failed in ((RUN, "failed"), (REF_RUN, "ref_failed"))]  # fmt: skip
    runs = pd.concat(sides).drop_duplicates(RUN)
    return {"trained": int((~runs["failed"]).sum()), "failed": int(runs["failed"].sum())}


def _matrices(pairs: pd.DataFrame, behaviour: str) -> tuple[np.ndarray, np.ndarray]:
    """Build the matrices [n, n] of distances and differences between a block's runs. Runs whose distances are
    missing, as their states have collapsed, are left out."""
    sides = [list(pairs[side].itertuples(index=False, name=None)) for side in (RUN, REF_RUN)]
    runs = sorted({*sides[0], *sides[1]})
    at = tuple(np.array([[runs.index(run) for run in side] for side in sides], int).reshape(2, -1))
    both = np.full((2, len(runs), len(runs)), np.nan)
    both[:, at[0], at[1]] = both[:, at[1], at[0]] = pairs[["value", behaviour]].to_numpy(float).T
    while (gaps := _gaps(both[0])).any():
        both = np.delete(np.delete(both, gaps.argmax(), 1), gaps.argmax(), 2)
    return both[0], both[1]


def _gaps(matrix: np.ndarray) -> np.ndarray:
    """Count for each run how many other runs it has no distance to, [n]."""
    return (np.isnan(matrix) & ~np.eye(len(matrix), dtype=bool)).sum(1)
