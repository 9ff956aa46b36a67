"""The Mantel test by hand, by scipy and by enumeration; and what a table of pairs becomes."""

from itertools import combinations, permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest, spearmanr

from bertshift.requests import grounding as request
from bertshift.rows.grounding import FEWEST, mantel, tracking


def symmetric(n, seed, ties=False):
    drawn = np.random.default_rng(seed).random((n, n))
    return np.round(drawn + drawn.T, 1 if ties else 12) * (1 - np.eye(n))


def rho(far, other, order):
    pairs = list(combinations(range(len(far)), 2))
    return spearmanr([far[i, j] for i, j in pairs], [other[order[i], order[j]] for i, j in pairs]).statistic


@pytest.mark.parametrize("ties", [False, True])
def test_rho_is_scipys_and_p_that_of_all_orders(ties):
    far, other = symmetric(5, 1, ties), symmetric(5, 2, ties)
    found = mantel([(far, other)])
    every = np.array([rho(far, other, order) for order in permutations(range(5))])
    assert found.rho == pytest.approx(every[0])
    assert found.p == np.mean(every >= every[0] - 1e-12) and found.orders == 120
    assert (found.runs, found.pairs, found.blocks) == (5, 10, 1)


def test_runs_are_permuted_within_their_block_and_a_block_counts_as_its_pairs():
    blocks = [(symmetric(n, n), symmetric(n, 10 + n)) for n in (3, 4)]
    found = mantel(blocks)
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
    found = mantel([(far, far**3)])
    assert found.rho == pytest.approx(1) and found.p == 1 / found.orders == 1 / 720
    assert mantel([(far, -far)]).p == 1


def test_random_orders_agree_with_all_and_are_the_same_again():
    blocks = [(symmetric(6, seed), symmetric(6, 20 + seed)) for seed in (1, 2)]
    exact, drawn = mantel(blocks, orders=720**2), mantel(blocks, "a", orders=5000)
    assert drawn == mantel(blocks, "a", orders=5000) != mantel(blocks, "b", orders=5000)
    assert drawn.rho == exact.rho and drawn.p == pytest.approx(exact.p, abs=0.02) and drawn.orders == 5000


def test_p_is_uniform_where_distances_say_nothing():
    """Distances between points, whose pairs are not independent: by spearmanr's own p 5 % would be 9 %."""
    rng = np.random.default_rng(0)

    def between(n):
        points = rng.normal(size=n)
        return abs(points[:, None] - points)

    studies = [(between(8), between(8)) for _ in range(300)]
    p = [mantel([study], str(number), orders=200).p for number, study in enumerate(studies)]
    assert kstest(p, "uniform").pvalue > 0.05 and np.mean(np.array(p) <= 0.05) < 0.09
    above = np.triu_indices(8, 1)
    naive = [spearmanr(far[above], other[above], alternative="greater").pvalue for far, other in studies]
    assert np.mean(np.array(naive) <= 0.05) > 0.07


@pytest.mark.parametrize("block", [(symmetric(2, 1), symmetric(2, 2)), (np.ones((4, 4)), symmetric(4, 1))])
def test_where_there_are_no_ranks_there_is_no_rho(block):
    found = mantel([block])
    assert np.isnan([found.rho, found.p]).all() and found.pairs == 0
    full = (symmetric(4, 1), symmetric(4, 2))
    assert mantel([block, full]) == mantel([full])


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
    expected = mantel([(far[part], other[part]) for part in kept], "rte")
    assert found.loc["score", "rho"] == pytest.approx(expected.rho) and found.loc["score", "p"] == expected.p
    assert found.loc["outputs", ["rho", "p", "q"]].tolist() == pytest.approx([1, 1 / 576, 2 / 576])
    assert found[["runs", "pairs", "blocks", "trained", "failed"]].eq([8, 12, 2, 9, 1]).all(axis=None)


def test_a_request_and_the_test_agree_on_the_fewest_runs():
    assert request.FEWEST == FEWEST
