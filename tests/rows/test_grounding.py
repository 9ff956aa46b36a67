"""The Mantel test by hand, by scipy and by enumeration; and what a table of pairs becomes."""

from itertools import combinations, permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest, spearmanr

from bertshift.requests import grounding as request
from bertshift.rows.grounding import FEWEST, Block, mantel, tracking


def symmetric(n, seed, ties=False):
    drawn = np.random.default_rng(seed).random((n, n))
    return np.round(drawn + drawn.T, 1 if ties else 12) * (1 - np.eye(n))


def block(far, other, kinds=None, seeds=None):
    """Make a block; without `kinds` and `seeds`, of one kind and as many seeds as runs."""
    n = len(far)
    return Block(far, other, kinds or ["a"] * n, seeds or list(range(n)))


def rho(far, other, order):
    pairs = list(combinations(range(len(far)), 2))
    return spearmanr([far[i, j] for i, j in pairs], [other[order[i], order[j]] for i, j in pairs]).statistic


@pytest.mark.parametrize("ties", [False, True])
def test_rho_is_scipys_and_p_that_of_all_orders(ties):
    far, other = symmetric(5, 1, ties), symmetric(5, 2, ties)
    found = mantel([block(far, other)])
    every = np.array([rho(far, other, order) for order in permutations(range(5))])
    assert found.rho == pytest.approx(every[0])
    assert found.p == np.mean(every >= every[0] - 1e-12) and found.orders == 120
    assert (found.runs, found.pairs, found.blocks) == (5, 10, 1)


def test_runs_are_permuted_within_their_block_and_a_block_counts_as_its_pairs():
    blocks = [(symmetric(n, n), symmetric(n, 10 + n)) for n in (3, 4)]
    found = mantel([block(*each) for each in blocks])
    every = np.array(
        [
            (3 * rho(*blocks[0], first) + 6 * rho(*blocks[1], second)) / 9
            for first, second in product(permutations(range(3)), permutations(range(4)))
        ]
    )
    assert found.rho == pytest.approx(every[0]) and found.orders == 144
    assert found.p == np.mean(every >= every[0] - 1e-12)


def test_a_measure_that_is_behaviour_has_a_rho_of_1_and_the_least_p():
    far = symmetric(6, 3)
    found = mantel([block(far, far**3)])
    assert found.rho == pytest.approx(1) and found.p == 1 / found.orders == 1 / 720
    assert mantel([block(far, -far)]).p == 1


def test_random_orders_agree_with_all_and_are_the_same_again():
    blocks = [block(symmetric(5, seed), symmetric(5, 20 + seed)) for seed in (1, 2)]
    exact, drawn = mantel(blocks, orders=120**2), mantel(blocks, "a", orders=5000)
    assert drawn == mantel(blocks, "a", orders=5000) != mantel(blocks, "b", orders=5000)
    assert drawn.rho == exact.rho and drawn.p == pytest.approx(exact.p, abs=0.02) and drawn.orders == 5000


def test_p_is_uniform_where_distances_say_nothing():
    """Distances between points, whose pairs are not independent: by spearmanr's own p 5 % would be 9 %."""
    rng = np.random.default_rng(0)

    def between(n):
        points = rng.normal(size=n)
        return abs(points[:, None] - points)

    studies = [(between(8), between(8)) for _ in range(300)]
    p = [mantel([block(*study)], str(at), orders=200).p for at, study in enumerate(studies)]
    assert kstest(p, "uniform").pvalue > 0.05 and np.mean(np.array(p) <= 0.05) < 0.09
    above = np.triu_indices(8, 1)
    naive = [spearmanr(far[above], other[above], alternative="greater").pvalue for far, other in studies]
    assert np.mean(np.array(naive) <= 0.05) > 0.07


@pytest.mark.parametrize("keep_kinds", [False, True])
@pytest.mark.parametrize("failed", [[], [("a", 1, 1)], [("d", 1, 1), ("a", 2, 2)]])
def test_orders_permute_kinds_alike_everywhere_and_seeds_alike_in_all_kinds(failed, keep_kinds):
    """The oracle tries all moves of kinds and seeds, and keeps those onto one of the same runs."""
    kinds, numbers, inits = tuple("abcd"), (1, 2), (1, 2)
    runs = set(product(kinds, inits, numbers)) - set(failed)
    own = {kind: {run[1:] for run in runs if run[0] == kind} for kind in kinds}
    own |= {seed: {run[0] for run in runs if run[1:] == seed} for seed in product(inits, numbers)}
    runs_of = [sorted(run for run in runs if run[1] == init) for init in inits]
    pairs = [(symmetric(len(of), at), symmetric(len(of), 9 + at)) for at, of in enumerate(runs_of)]
    weights = np.array([len(of) * (len(of) - 1) for of in runs_of])
    every = []
    moves = [permutations(each) for each in (kinds, numbers, numbers)]
    for order, *seeds in product(*moves):
        to = dict(zip(kinds, order, strict=True))
        for init, moved in zip(inits, seeds, strict=True):
            to |= {(init, a): (init, b) for a, b in zip(numbers, moved, strict=True)}
        if (keep_kinds and order != kinds) or any(own[label] != own[to[label]] for label in to):
            continue
        rhos = [
            rho(*both, [of.index((to[run[0]], *to[run[1:]])) for run in of])
            for both, of in zip(pairs, runs_of, strict=True)
        ]
        every.append(weights @ rhos / weights.sum())
    blocks = [
        block(*both, [kind for kind, _, _ in of], [seed for _, _, seed in of])
        for both, of in zip(pairs, runs_of, strict=True)
    ]
    found = mantel(blocks, keep_kinds=keep_kinds)
    assert found.orders == len(every) and found.rho == pytest.approx(every[0])
    assert found.p == np.mean(np.array(every) >= every[0] - 1e-12)


@pytest.mark.parametrize(("by_kind", "by_seed"), [(1, 0), (0, 1), (2, 1)])
def test_that_runs_of_a_kind_or_a_seed_are_similar_gives_no_small_p(by_kind, by_seed):
    kinds = "cola", "cola.freeze1", "cola.keep3"
    runs = [(kind, 1, seed) for kind in kinds for seed in (1, 2, 3)]
    apart = [[by_kind * (a[0] != b[0]) + by_seed * (a[2] != b[2]) for b in runs] for a in runs]
    found = tracking(pairs_table(runs, np.array(apart), np.array(apart)))
    assert found["rho"].to_numpy() == pytest.approx(1)
    assert found[["p", "p_within"]].eq(1).all(axis=None) and found["orders"].eq(36).all()


def test_effects_of_kinds_and_seeds_that_are_unrelated_give_no_small_p():
    rng = np.random.default_rng(0)
    kinds, seeds = np.divmod(np.arange(15), 5)

    def between():
        of_kinds, of_seeds, of_runs = (rng.normal(size=(size, 2)) for size in (3, 5, 15))
        points = 2 * of_kinds[kinds] + of_seeds[seeds] + of_runs
        return np.linalg.norm(points[:, None] - points, axis=2)

    studies = [(between(), between()) for _ in range(200)]
    p = [mantel([block(*study, [*kinds], [*seeds])], orders=200).p for study in studies]
    freely = [mantel([block(*study)], orders=200).p for study in studies]
    assert np.mean(np.array(p) <= 0.05) < 0.09 and np.mean(np.array(freely) <= 0.05) > 0.2


def test_names_of_kinds_and_seeds_and_the_order_of_runs_do_not_matter():
    far, other = symmetric(6, 1), symmetric(6, 2)
    found = mantel([block(far, other, [*"aabbcc"], [1, 2] * 3)])
    other_names = mantel([block(far, other, [*"zzxxyy"], [9, 4] * 3)])
    shuffled = np.array([3, 0, 5, 1, 4, 2])
    at = np.ix_(shuffled, shuffled)
    moved = mantel([block(far[at], other[at], [*"bacacb"], [2, 1, 2, 2, 1, 1])])
    for each in (other_names, moved):
        assert (each.p, each.orders) == (found.p, 12) and each.rho == pytest.approx(found.rho)


@pytest.mark.parametrize("few", [(symmetric(2, 1), symmetric(2, 2)), (np.ones((4, 4)), symmetric(4, 1))])
def test_where_there_are_no_ranks_there_is_no_rho(few):
    found = mantel([block(*few)])
    assert np.isnan([found.rho, found.p]).all() and found.pairs == 0
    full = block(symmetric(4, 1), symmetric(4, 2))
    assert mantel([block(*few), full]) == mantel([full])


def pairs_table(runs, far, other, failed=()):
    """Make the pairs of runs (model, init, seed) within an init; `far` and `other` are indexed by run."""
    rows = [
        {
            "model": runs[i][0], "init": runs[i][1], "seed": runs[i][2], "reference": runs[j][0],
            "ref_init": runs[j][1], "ref_seed": runs[j][2], "failed": i in failed, "ref_failed": j in failed,
            "stimuli": "rte", "variant": "rsa", "summary": "last", "value": far[i, j], "predictions": np.nan,
            "score": other[i, j], "outputs": far[i, j],
        }
        for i, j in combinations(range(len(runs)), 2)
        if runs[i][1] == runs[j][1]
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_a_table_is_tested_by_pretraining_run_without_runs_that_failed_or_collapsed():
    runs = [
        (model, init, 1)
        for init in (1, 2)
        for model in ("rte", "rte.freeze1", "mrpc+rte", "cola+rte", "rte.reinit2")
    ]
    far, other = symmetric(10, 1), symmetric(10, 2)
    far[0, 1:] = far[1:, 0] = np.nan  # all tokens alike in the first run
    found = tracking(pairs_table(runs, far, other, failed=[9])).set_index("behaviour")
    assert list(found.index) == ["score", "outputs"]  # of a regression
    kept = [np.ix_(part, part) for part in ([1, 2, 3, 4], [5, 6, 7, 8])]
    blocks = [
        block(far[part], other[part], [runs[at][0] for at in part[0].ravel()], [1] * 4) for part in kept
    ]
    expected = mantel(blocks)
    assert found.loc["score", "rho"] == pytest.approx(expected.rho) and found.loc["score", "p"] == expected.p
    assert found.loc["outputs", ["rho", "p", "q"]].tolist() == pytest.approx([1, 1 / 6, 2 / 6])
    assert found["orders"].eq(6).all()  # of the three kinds that have a run in both blocks
    assert found["orders_within"].eq(1).all() and found["p_within"].eq(1).all()
    assert found[["runs", "pairs", "blocks", "trained", "failed"]].eq([8, 12, 2, 9, 1]).all(axis=None)


def test_a_request_and_the_test_agree_on_the_fewest_runs():
    assert request.FEWEST == FEWEST
