"""Does a distance between models track how differently they behave? (Ding, Denain and Steinhardt
2021, section 3)

The n runs in a block form n (n - 1) / 2 pairs, each with a distance d and a difference b in
behaviour:

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
from math import ceil, factorial, prod

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from bertshift.rows.significance import benjamini_hochberg
from bertshift.rows.statistics import failures
from bertshift.seeds import seed_from

# At most this many orders are enumerated; beyond, p is from the order given and random ones.
ORDERS = 10_000
CELLS_AT_ONCE = 2**20  # of the matrices that are permuted together
FEWEST = 3  # runs of a block: two runs are one pair, which has no rank
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
    """rho and p of one measure and one difference in behaviour. p is a share of `orders`, so that
    1 / orders is the least that p can be. `runs`, `pairs` and `blocks` are those with a rho. NaN
    and 0 where no block has one."""

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
    a relation beyond kinds. A block with fewer than three runs, or whose pairs are all equally far
    apart or behave equally differently, has no rho and does not count. `name` is what the random
    orders depend on.
    """
    counted = [block for block in blocks if block.has_rho]
    if not counted:
        return Tracking(np.nan, np.nan, 0, 0, 0, 0)
    runs = [len(block.kinds) for block in counted]
    pairs = [n * (n - 1) // 2 for n in runs]
    weights = np.array(pairs) / sum(pairs)
    orders_of_blocks = _list_orders(counted, keep_kinds, orders, name)
    rho = 0
    for weight, block, block_orders in zip(weights, counted, orders_of_blocks, strict=True):
        rho = rho + weight * _correlate(*block.ranks, block_orders)
    p = np.mean(rho >= rho[0] - EQUAL)
    return Tracking(
        rho=float(rho[0]),
        p=float(p),
        orders=len(rho),
        runs=sum(runs),
        pairs=sum(pairs),
        blocks=len(counted),
    )


def _list_orders(
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
    kinds = sorted({kind for block in blocks for kind in block.kinds})
    labels = [(None, kind) for kind in kinds]
    for number, block in enumerate(blocks):
        labels += [(number, seed) for seed in sorted(set(block.seeds))]
    index = {label: i for i, label in enumerate(labels)}
    # The number of a run in its block, by kind and seed.
    run = np.full((len(labels), len(labels)), -1)
    kinds_and_seeds = []
    for number, block in enumerate(blocks):
        kind = np.array([index[None, kind] for kind in block.kinds])
        seed = np.array([index[number, seed] for seed in block.seeds])
        run[kind, seed] = np.arange(len(kind))
        run[seed, kind] = np.arange(len(kind))
        kinds_and_seeds.append((kind, seed))
    # Labels with equal keys are exchangeable.
    keys = []
    for (number, label), has_run in zip(labels, run >= 0, strict=True):
        if number is None and keep_kinds:
            keys.append(label)
        else:
            keys.append((number, *has_run))
    rng = np.random.default_rng(seed_from("mantel", *name))
    permuted = _permute(_group_equal(keys), most, rng)
    return [run[permuted[:, kind], permuted[:, seed]] for kind, seed in kinds_and_seeds]


def _group_equal(keys: Iterable[Hashable]) -> list[list[int]]:
    """Group the numbers of equal keys."""
    classes = {}
    for number, key in enumerate(keys):
        classes.setdefault(key, []).append(number)
    return list(classes.values())


def _permute(
    classes: Sequence[Sequence[int]],
    most: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Permute the numbers of each class among themselves [orders, numbers]: in all ways, or in
    `most` random ones if there are more. The first order is 0, 1, 2, ..."""
    numbers = list(chain(*classes))
    if prod(factorial(len(members)) for members in classes) <= most:
        ways = product(*map(permutations, classes))
        orders = np.array([list(chain(*way)) for way in ways])
    else:
        tiles = [np.tile(members, (most, 1)) for members in classes]
        orders = np.hstack([rng.permuted(tile, axis=1) for tile in tiles])
        orders[0] = numbers
    return orders[:, np.argsort(numbers)]


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


def _correlate(distance: np.ndarray, behaviour: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Correlate standard ranks of distances with those of behaviour, both [n, n], in each order of
    the latter's runs [orders, n]: [orders]."""
    chunks = ceil(len(orders) * len(distance) ** 2 / CELLS_AT_ONCE)
    correlations = []
    for order in np.array_split(orders, chunks):
        reordered = behaviour[order[:, :, None], order[:, None, :]]
        correlations.append(np.einsum("ij,oij->o", distance, reordered) / 2)
    return np.concatenate(correlations)


def tracking(table: pd.DataFrame) -> pd.DataFrame:
    """Make a row for each measure (`variant`), summary of layers (`summary`) and difference in
    behaviour: the fields of Tracking, q over all rows (Benjamini and Hochberg 1995), p and orders
    of seeds alone (`p_within`, `orders_within`), and how many of the runs `trained` and `failed`.

    `table`: rows of results/grounding of one task; a block is a pretraining run, and a kind is a
    model. Runs that failed to train are left out, unless all did.
    """
    failed = failures(table)
    trained = table[~failed | failed.all()]
    counts = _count_runs(table)
    name = table["stimuli"].head(1)
    rows = []
    for (measure, summary), group in trained.groupby(["variant", "summary"], sort=False):
        for behaviour in BEHAVIOURS:
            if group[behaviour].isna().all():
                continue  # a regression has no equal predictions
            measured = group.dropna(subset=["value", behaviour])
            blocks = [_build_block(pairs, behaviour) for _, pairs in measured.groupby("init")]
            keys = {"variant": measure, "summary": summary, "behaviour": behaviour}
            test = mantel(blocks, *name)
            within = mantel(blocks, *name, keep_kinds=True)
            test_within = {"p_within": within.p, "orders_within": within.orders}
            rows.append(keys | vars(test) | test_within | counts)
    tests = pd.DataFrame(rows)
    return tests.assign(q=benjamini_hochberg(tests["p"]))


def _count_runs(table: pd.DataFrame) -> dict[str, int]:
    columns = [*RUN, "failed"]
    first = table[columns]
    second = table[[*REF_RUN, "ref_failed"]].set_axis(columns, axis=1)
    failed = pd.concat([first, second]).drop_duplicates(RUN)["failed"]
    return {"trained": int((~failed).sum()), "failed": int(failed.sum())}


def _build_block(pairs: pd.DataFrame, behaviour: str) -> Block:
    """Build the block of the runs of one pretraining run. Runs whose distances are missing, as
    their states have collapsed, are left out."""
    first = pd.MultiIndex.from_frame(pairs[RUN])
    second = pd.MultiIndex.from_frame(pairs[REF_RUN], names=RUN)
    runs = first.union(second).unique().sort_values()
    row = runs.get_indexer(first)
    column = runs.get_indexer(second)
    matrices = np.full((2, len(runs), len(runs)), np.nan)
    values = pairs[["value", behaviour]].to_numpy(float).T
    matrices[:, row, column] = values
    matrices[:, column, row] = values
    while (gaps := _count_gaps(matrices[0])).any():
        worst = gaps.argmax()
        matrices = np.delete(np.delete(matrices, worst, axis=1), worst, axis=2)
        runs = runs.delete(worst)
    distance, difference = matrices
    kinds = runs.get_level_values("model")
    seeds = runs.get_level_values("seed")
    return Block(distance, difference, list(kinds), list(seeds))


def _count_gaps(matrix: np.ndarray) -> np.ndarray:
    """Count for each run how many other runs it has no distance to, [n]."""
    return (np.isnan(matrix) & ~np.eye(len(matrix), dtype=bool)).sum(1)
