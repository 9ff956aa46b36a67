"""Does a distance between models tell how differently they behave? (Ding, Denain and Steinhardt
2021, section 3)

Of the n runs in a block there are n (n - 1) / 2 pairs, each with a distance d and a difference in
behaviour b:

    rho = Spearman's correlation of d and b over the pairs of a block; the mean over blocks,
          weighted by their pairs
    p   = the share of orders of the runs of b for which rho is as large (Mantel 1967)

Ding et al. take p over pairs as if these were independent. Pairs that share a run are not, so
whole runs are permuted. Runs are not independent either. A block has runs of several kinds
(models) and seeds. Runs of a kind are similar. So are runs of a seed, which begin with the same
head and see the same batches. An order therefore permutes the kinds, alike in all blocks, and the
seeds of each block, alike in all kinds (restricted permutation, Anderson and ter Braak 2003). Two
runs of a kind or of a seed stay together in every order, so their similarity alone does not make
p small.
The test is one-sided: a measure that tracks behaviour has a rho above 0.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, permutations, product
from math import factorial, prod

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from bertshift.rows.significance import benjamini_hochberg
from bertshift.rows.statistics import failures
from bertshift.seeds import seed_from

# So many orders at most are enumerated; else p is from one fewer at random, and the order given.
ORDERS = 10_000
FEWEST = 3  # runs of a block: two have one pair, which has no rank
EQUAL = 1e-9  # between sums of equal ranks in another order
BEHAVIOURS = ["predictions", "score", "outputs"]
RUN, REF_RUN = (["model", "init", "seed"], ["reference", "ref_init", "ref_seed"])


@dataclass(frozen=True)
class Block:
    """The n runs of a pretraining run: their distances and differences in behaviour, both [n, n]
    and symmetric, and the kind and the seed of each run [n]."""

    distance: np.ndarray
    behaviour: np.ndarray
    kinds: Sequence[str]
    seeds: Sequence[int]

    @cached_property
    def ranks(self) -> tuple[np.ndarray, np.ndarray]:
        return _standard_ranks(self.distance), _standard_ranks(self.behaviour)

    @property
    def has_rho(self) -> bool:
        return len(self.kinds) >= FEWEST and all(ranks.any() for ranks in self.ranks)


@dataclass(frozen=True)
class Tracking:
    """rho and p of one measure and one difference in behaviour; `orders`: of how many p is a
    share, so that 1 / orders is the least that p can be. `runs`, `pairs` and `blocks` are those
    with a rho. NaN and 0 where no block has one."""

    rho: float
    p: float
    orders: int
    runs: int
    pairs: int
    blocks: int


def mantel(
    blocks: Iterable[Block],
    *name: str,
    keep_kinds: bool = False,
    orders: int = ORDERS,
) -> Tracking:
    """Calculate Spearman's rho over the pairs of each block, and its one-sided p over orders of
    the runs.

    An order permutes kinds and seeds; with `keep_kinds` it permutes seeds alone, so that p is of
    a relation beyond kinds. Of a block with fewer than three runs, or where all pairs are equally
    far apart or behave equally differently, there is no rho, and it does not count. `name` is what
    the random orders depend on.
    """
    counted = [block for block in blocks if block.has_rho]
    if not counted:
        return Tracking(np.nan, np.nan, 0, 0, 0, 0)
    sizes = [len(block.kinds) for block in counted]
    pairs = [n * (n - 1) // 2 for n in sizes]
    weights = np.array(pairs) / sum(pairs)
    permuted = _orders(counted, keep_kinds, orders, name)
    found = sum(
        weight * _correlations(*block.ranks, order)
        for weight, block, order in zip(weights, counted, permuted, strict=True)
    )
    p = np.mean(found >= found[0] - EQUAL)
    return Tracking(float(found[0]), float(p), len(found), sum(sizes), sum(pairs), len(sizes))


def _orders(
    blocks: Sequence[Block],
    keep_kinds: bool,
    most: int,
    name: Sequence[str],
) -> list[np.ndarray]:
    """List orders [orders, n] of the runs of each block, the first as they are: all orders, or
    `most` at random if there are more.

    A kind changes places with kinds that have runs of the same blocks and seeds, and a seed with
    seeds of its block that have runs of the same kinds. Each run then takes the place of a run.
    """
    kinds = sorted({(None, kind) for block in blocks for kind in block.kinds})
    seeds = sorted({(at, seed) for at, block in enumerate(blocks) for seed in block.seeds})
    labels = kinds + seeds
    run = np.full((len(labels), len(labels)), -1)  # its number in its block, by kind and seed
    places = []
    for at, block in enumerate(blocks):
        kind = np.array([labels.index((None, each)) for each in block.kinds])
        seed = np.array([labels.index((at, each)) for each in block.seeds])
        run[kind, seed] = run[seed, kind] = np.arange(len(kind))
        places.append((kind, seed))
    exchangeable = [(at, *row) for (at, _), row in zip(labels, run >= 0, strict=True)]
    if keep_kinds:
        exchangeable[: len(kinds)] = kinds
    rng = np.random.default_rng(seed_from("mantel", *name))
    moved = _permuted(_classes(exchangeable), most, rng)
    return [run[moved[:, kind], moved[:, seed]] for kind, seed in places]


def _classes(keys: Iterable[Hashable]) -> list[list[int]]:
    """Group the numbers of equal keys."""
    classes = {}
    for number, key in enumerate(keys):
        classes.setdefault(key, []).append(number)
    return list(classes.values())


def _permuted(
    classes: Sequence[Sequence[int]],
    most: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Permute the numbers of each class among themselves [orders, numbers]: in all ways, or in
    `most` random ones if there are more. The first order is 0, 1, 2, ..."""
    numbers = [*chain(*classes)]
    if prod(factorial(len(members)) for members in classes) <= most:
        every = np.array([[*chain(*ways)] for ways in product(*map(permutations, classes))])
    else:
        tiles = [np.tile(members, (most, 1)) for members in classes]
        every = np.hstack([rng.permuted(tile, axis=1) for tile in tiles])
        every[0] = numbers
    return every[:, np.argsort(numbers)]


def _standard_ranks(matrix: np.ndarray) -> np.ndarray:
    """Return the pairs' ranks [n, n], symmetric, centred, of length 1 over all pairs; 0 where all
    pairs are equal."""
    above = np.triu_indices(len(matrix), 1)
    ranks = rankdata(np.asarray(matrix, np.float64)[above])
    ranks -= ranks.mean()
    length = np.sqrt(ranks @ ranks)
    standard = np.zeros(matrix.shape)
    standard[above] = ranks / length if length else 0
    return standard + standard.T


def _correlations(far: np.ndarray, other: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Correlate standard ranks `far` with those of `other`, both [n, n], in each order of the
    latter's runs [orders, n]: [orders]."""
    found = [
        np.einsum("ij,oij->o", far, other[part[:, :, None], part[:, None, :]]) / 2
        for part in np.array_split(orders, -(-len(orders) * len(far) ** 2 // 2**20))
    ]
    return np.concatenate(found)


def tracking(table: pd.DataFrame) -> pd.DataFrame:
    """Make a row for each measure (`variant`), summary of layers (`summary`) and difference in
    behaviour: the fields of Tracking, q over all rows (Benjamini and Hochberg 1995), p and orders
    of seeds alone (`p_within`, `orders_within`), and how many of the runs `trained` and `failed`.

    `table`: rows of results/grounding of one task; a block is a pretraining run, and a kind is a
    model. Runs that failed to train are left out, unless all did.
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
            blocks = [_block(pairs, behaviour) for _, pairs in known.groupby("init")]
            name = table["stimuli"].head(1)
            found = mantel(blocks, *name)
            within = mantel(blocks, *name, keep_kinds=True)
            keys = {"variant": measure, "summary": summary, "behaviour": behaviour}
            of_within = {"p_within": within.p, "orders_within": within.orders}
            rows.append(keys | vars(found) | of_within | counts)
    found = pd.DataFrame(rows)
    return found.assign(q=benjamini_hochberg(found["p"]))


def _counted(table: pd.DataFrame) -> dict[str, int]:
    sides = [
        table[[*run, failed]].set_axis([*RUN, "failed"], axis=1)
        for run, failed in ((RUN, "failed"), (REF_RUN, "ref_failed"))
    ]
    runs = pd.concat(sides).drop_duplicates(RUN)
    return {"trained": int((~runs["failed"]).sum()), "failed": int(runs["failed"].sum())}


def _block(pairs: pd.DataFrame, behaviour: str) -> Block:
    """Build the block of the runs of one pretraining run. Runs whose distances are missing, as
    their states have collapsed, are left out."""
    sides = [list(pairs[side].itertuples(index=False, name=None)) for side in (RUN, REF_RUN)]
    runs = sorted({*sides[0], *sides[1]})
    at = tuple(np.array([[runs.index(run) for run in side] for side in sides], int).reshape(2, -1))
    both = np.full((2, len(runs), len(runs)), np.nan)
    both[:, at[0], at[1]] = both[:, at[1], at[0]] = pairs[["value", behaviour]].to_numpy(float).T
    while (gaps := _gaps(both[0])).any():
        gone = gaps.argmax()
        both = np.delete(np.delete(both, gone, 1), gone, 2)
        del runs[gone]
    return Block(*both, [model for model, _, _ in runs], [seed for _, _, seed in runs])


def _gaps(matrix: np.ndarray) -> np.ndarray:
    """Count for each run how many other runs it has no distance to, [n]."""
    return (np.isnan(matrix) & ~np.eye(len(matrix), dtype=bool)).sum(1)
