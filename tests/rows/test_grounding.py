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
        (
            *runs[i],
            *runs[j],
            runs[i] in failed,
            runs[j] in failed,
            distance[i, j],
            behaviour[i, j],
            distance[i, j],
        )
        for i, j in combinations(range(len(runs)), 2)
        if runs[i][1] == runs[j][1]
    ]
    columns = ["model", "init", "seed", "reference", "ref_init", "ref_seed", "failed", "ref_failed", "value", "score",
               "outputs"]  # fmt: skip
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(stimuli="rte", variant="rsa", summary="last", predictions=np.nan)


def by_enumeration(runs, distance, behaviour, keep_kinds):
    """rho, p and the number of orders: by all moves of kinds, and of each init's seeds, onto those
    of the same runs."""
    labels = [sorted({kind for kind, *_ in runs})]
    labels += [sorted({run[1:] for run in runs if run[1] == init}) for init in (1, 2)]
    partners = {kind: {run[1:] for run in runs if run[0] == kind} for kind in labels[0]}
    partners |= {seed: {run[0] for run in runs if run[1:] == seed} for seed in chain(*labels[1:])}
    rhos = []
    for orders in product(*map(permutations, labels)):
        to = dict(zip(chain(*labels), chain(*orders), strict=True))
        if (keep_kinds and orders[0] != (*labels[0],)) or any(
            partners[a] != partners[to[a]] for a in to
        ):
            continue
        correlations = []
        for init in (1, 2):
            pairs = list(combinations([run for run in runs if run[1] == init], 2))
            at = [[runs.index(run) for run in pair] for pair in pairs]
            put = [[runs.index((to[run[0]], *to[run[1:]])) for run in pair] for pair in pairs]
            rho = spearmanr(
                [distance[i, j] for i, j in at], [behaviour[i, j] for i, j in put]
            ).statistic
            correlations.append((len(pairs), rho))
        rhos.append(
            np.average(
                [rho for _, rho in correlations], weights=[pairs for pairs, _ in correlations]
            )
        )
    rhos = np.array(rhos)
    return rhos[0], np.mean(rhos >= rhos[0] - 1e-12), len(rhos)


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
    used = [run for run in runs if run not in failed + collapsed]
    at = np.ix_(*[[runs.index(run) for run in used]] * 2)
    score, outputs = table.loc["score"], table.loc["outputs"]
    rho, p, orders = by_enumeration(used, distance[at], behaviour[at], keep_kinds=False)
    assert (score["rho"], score["p"], score["orders"]) == (pytest.approx(rho), p, orders)
    _, p, orders = by_enumeration(used, distance[at], behaviour[at], keep_kinds=True)
    assert (score["p_within"], score["orders_within"]) == (p, orders)
    assert outputs["rho"] == pytest.approx(1) and outputs["p"] * outputs[
        "orders"
    ] == pytest.approx(1)
    assert table["q"].to_numpy() == pytest.approx(false_discovery_control(table["p"]))
    sizes = [sum(run[1] == init for run in used) for init in (1, 2)]
    counted = [len(used), sum(n * (n - 1) // 2 for n in sizes), 2, 12 - len(failed), len(failed)]
    assert score[["runs", "pairs", "blocks", "trained", "failed"]].tolist() == counted


def block(distance, behaviour):
    return Block(distance, behaviour, ["a"] * len(distance), list(range(len(distance))))


def test_random_orders_agree_with_all_and_are_the_same_again():
    blocks = [block(symmetric(5, seed), symmetric(5, 20 + seed)) for seed in (1, 2)]
    exact, drawn = mantel(blocks, orders=120**2), mantel(blocks, "a", orders=5000)
    assert drawn == mantel(blocks, "a", orders=5000) != mantel(blocks, "b", orders=5000)
    assert (
        drawn.rho == exact.rho
        and drawn.p == pytest.approx(exact.p, abs=0.02)
        and drawn.orders == 5000
    )


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
