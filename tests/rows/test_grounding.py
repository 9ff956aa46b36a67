"""The Mantel test by scipy and by enumeration, and what a table of pairs becomes."""

from itertools import chain, combinations, permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control, spearmanr

from bertshift.requests import grounding as request
from bertshift.rows.grounding import FEWEST, Block, mantel, tracking


def symmetric(n, seed, ties=False):
    drawn = np.random.default_rng(seed).random((n, n))
    return np.round(drawn + drawn.T, 1 if ties else 12) * (1 - np.eye(n))


def pairs_table(runs, distance, behaviour, failed):
    """The pairs of runs (model, init, seed) within an init; `far` and `other` are indexed by
    run."""
    rows = [
        (*a, *b, a in failed, b in failed, distance[i, j], behaviour[i, j])
        for (i, a), (j, b) in combinations(enumerate(runs), 2)
        if a[1] == b[1]
    ]
    columns = [
        "model",
        "init",
        "seed",
        "reference",
        "ref_init",
        "ref_seed",
        "failed",
        "ref_failed",
        "value",
        "score",
    ]
    table = pd.DataFrame(rows, columns=columns).assign(predictions=np.nan, stimuli="rte")
    return table.assign(outputs=table["value"], variant="rsa", summary="last")


def by_enumeration(runs, distance, behaviour, keep_kinds):
    """rho, p and the number of orders: by all moves of kinds, and of each init's seeds, onto those
    of the same runs."""
    kinds = sorted({kind for kind, *_ in runs})
    seeds = [sorted({run[1:] for run in runs if run[1] == init}) for init in (1, 2)]
    partners = {label: set() for label in chain(kinds, *seeds)}
    for kind, init, seed in runs:
        partners[kind].add((init, seed))
        partners[init, seed].add(kind)
    rhos = []
    for orders in product(*map(permutations, [kinds, *seeds])):
        to = dict(zip(partners, chain(*orders), strict=True))
        if keep_kinds and [*orders[0]] != kinds or any(partners[a] != partners[to[a]] for a in to):
            continue
        correlations, numbers_of_pairs = [], []
        for init in (1, 2):
            rows = [row for row, run in enumerate(runs) if run[1] == init]
            moved = [runs.index((to[runs[row][0]], *to[runs[row][1:]])) for row in rows]
            upper = np.triu_indices(len(rows), 1)
            sides = distance[np.ix_(rows, rows)][upper], behaviour[np.ix_(moved, moved)][upper]
            correlations.append(spearmanr(*sides).statistic)
            numbers_of_pairs.append(len(sides[0]))
        rhos.append(np.average(correlations, weights=numbers_of_pairs))
    return rhos[0], np.mean(np.array(rhos) >= rhos[0] - 1e-12), len(rhos)


@pytest.mark.parametrize(
    ("failed", "collapsed", "ties"),
    [
        ([], [], True),
        ([("a", 1, 1)], [], False),
        ([("c", 1, 1), ("a", 2, 2)], [], False),
        ([("c", 2, 1)], [("b", 1, 2)], True),
    ],
)
def test_orders_permute_kinds_alike_everywhere_and_seeds_alike_in_all_kinds(
    failed, collapsed, ties
):
    """Runs that failed to train are left out, and so are those whose tokens are all alike."""
    runs = sorted(product("abc", (1, 2), (1, 2)), key=lambda run: run[::-1])
    distance, behaviour = symmetric(12, 1, ties), symmetric(12, 2, ties)
    for run in collapsed:
        distance[runs.index(run)] = distance[:, runs.index(run)] = np.nan
    table = tracking(pairs_table(runs, distance, behaviour, failed)).set_index("behaviour")
    assert list(table.index) == ["score", "outputs"]  # of a regression
    rows = [row for row, run in enumerate(runs) if run not in failed + collapsed]
    used = [runs[row] for row in rows]
    sides = [matrix[np.ix_(rows, rows)] for matrix in (distance, behaviour)]
    score, outputs = table.loc["score"], table.loc["outputs"]
    assert tuple(score[["rho", "p", "orders"]]) == pytest.approx(
        by_enumeration(used, *sides, False)
    )
    expected = by_enumeration(used, *sides, keep_kinds=True)
    assert tuple(score[["rho", "p_within", "orders_within"]]) == pytest.approx(expected)
    assert (outputs["rho"], outputs["p"]) == pytest.approx((1, 1 / outputs["orders"]))
    assert table["q"].to_numpy() == pytest.approx(false_discovery_control(table["p"]))
    pairs = sum(a[1] == b[1] for a, b in combinations(used, 2))
    counts = [len(used), pairs, 2, 12 - len(failed), len(failed)]
    assert score[["runs", "pairs", "blocks", "trained", "failed"]].tolist() == counts


def test_a_run_that_lacks_a_pair_is_left_out():
    runs = [("a", 1, seed) for seed in range(5)]
    distance, behaviour = symmetric(5, 1), symmetric(5, 2)
    distance[0, 3] = distance[0, 4] = np.nan
    table = tracking(pairs_table(runs, distance, behaviour, []))
    score = table.set_index("behaviour").loc["score"]
    expected = mantel([block(distance[1:, 1:], behaviour[1:, 1:])])
    assert (score["runs"], score["rho"]) == (4, pytest.approx(expected.rho))


def block(distance, behaviour):
    return Block(distance, behaviour, ["a"] * len(distance), list(range(len(distance))))


def test_random_orders_agree_with_all_and_are_the_same_again():
    blocks = [block(symmetric(5, seed), symmetric(5, 20 + seed)) for seed in (1, 2)]
    exact, random = mantel(blocks, orders=120**2), mantel(blocks, "a", orders=5000)
    assert random == mantel(blocks, "a", orders=5000) != mantel(blocks, "b", orders=5000)
    assert (random.p, random.orders) == (pytest.approx(exact.p, abs=0.02), 5000)


@pytest.mark.parametrize(
    "few", [(symmetric(2, 1), symmetric(2, 2)), (np.ones((4, 4)), symmetric(4, 1))]
)
def test_where_there_are_no_ranks_there_is_no_rho(few):
    result = mantel([block(*few)])
    assert np.isnan([result.rho, result.p]).all() and result.pairs == 0
    full = block(symmetric(4, 1), symmetric(4, 2))
    assert mantel([block(*few), full]) == mantel([full])


def test_a_request_and_the_test_agree_on_the_fewest_runs():
    assert request.FEWEST == FEWEST
