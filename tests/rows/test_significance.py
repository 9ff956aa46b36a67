from itertools import product
from math import comb

import numpy as np
import pytest

from bertshift.rows.significance import SCORES, benjamini_hochberg, mcnemar, paired_bootstrap, split_half
from bertshift.tasks import scores

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("lost", "gained"), [(0, 0), (1, 0), (9, 1), (3, 3), (4, 14), (60, 40)])
def test_mcnemar_is_twice_the_smaller_binomial_tail(lost, gained):
    before = np.array([True] * lost + [False] * gained + [True, False, True])
    after = np.array([False] * lost + [True] * gained + [True, False, True])
    n = lost + gained
    tail = sum(comb(n, k) for k in range(min(lost, gained) + 1)) / 2**n
    assert mcnemar(before, after) == pytest.approx(min(1, 2 * tail))
    assert mcnemar(before, np.stack([after, before])) == pytest.approx([min(1, 2 * tail), 1])


def test_benjamini_hochberg_finds_what_its_definition_rejects():
    p = np.concatenate([RNG.uniform(size=20), [1e-4, 2e-3, 2e-3, 0.0]])
    q = benjamini_hochberg(p)
    for rate in (0.001, 0.01, 0.05, 0.2, 0.9):
        ranked = np.sort(p)
        fits = [k for k in range(1, len(p) + 1) if ranked[k - 1] <= rate * k / len(p)]
        assert np.array_equal(q <= rate, p <= (ranked[fits[-1] - 1] if fits else -1))
    assert benjamini_hochberg([0.03]) == pytest.approx([0.03])
    some = np.insert(p, [0, 7, 7], np.nan)
    assert np.array_equal(benjamini_hochberg(some), np.insert(q, [0, 7, 7], np.nan), equal_nan=True)


@pytest.mark.parametrize("name", ["accuracy", "f1", "macro_f1", "mcc", "pearson", "mean"])
def test_scores_from_sums_are_the_tasks_own_on_every_sample(name):
    n = 40
    regression = name == "pearson"
    gold = RNG.normal(5, 1, n) if regression else RNG.integers(0, 3 if name in ("macro_f1", "mcc") else 2, n)
    said = (
        gold + RNG.normal(size=(3, n))
        if name in ("pearson", "mean")
        else RNG.permuted(gold[None].repeat(3, 0), axis=1)
    )
    times = RNG.integers(0, 3, (5, n))
    times[0] *= gold != 0  # a sample without a class
    direct = {**scores.CLASS_SCORES, **scores.REGRESSION_SCORES, "mean": lambda gold, said: said.mean()}[name]
    expected = [[direct(np.repeat(gold, t), np.repeat(each, t)) for each in said] for t in times]
    assert SCORES[name].of(gold, said)(times) == pytest.approx(np.array(expected), abs=1e-12)


def test_spearman_of_all_examples_is_the_tasks_own():
    gold, said = RNG.integers(0, 6, 50), RNG.normal(size=(2, 50)).round(1)
    expected = [scores.spearman(gold, each) for each in said]
    assert SCORES["spearman"].of(gold, said)(np.ones((1, 50)))[0] == pytest.approx(expected)


def test_undefined_scores_are_0():
    gold, said = np.array([0, 0, 0]), np.array([[0, 0, 0]])
    for name in ("f1", "mcc", "pearson"):
        assert SCORES[name].of(gold, said)(np.ones((1, 3)))[0, 0] == 0


def test_the_bootstrap_agrees_with_all_possible_samples():
    """Four examples have 4**4 samples, from which the tails are known exactly."""
    gold, before, after = np.array([1, 1, 0, 0]), np.array([1, 0, 0, 1]), np.array([1, 1, 0, 1])
    gains = []
    for sample in product(range(4), repeat=4):
        index = list(sample)
        gains.append(scores.f1(gold[index], after[index]) - scores.f1(gold[index], before[index]))
    expected = 2 * min(np.mean(np.array(gains) <= 0), np.mean(np.array(gains) >= 0))
    [p] = paired_bootstrap(SCORES["f1"], gold, before, after[None], "test")
    assert p == pytest.approx(expected, abs=0.02)


def test_the_bootstrap_is_calibrated_paired_and_not_fooled_by_rounding():
    gold = RNG.normal(size=300)
    before = gold + RNG.normal(size=300)
    noise = 1e-3 * RNG.normal(size=(40, 300))
    better = gold + 0.5 * (before - gold)
    p = paired_bootstrap(
        SCORES["pearson"], gold, before, np.stack([before, better, *(before + noise)]), "test", 2000
    )
    assert p[0] == 1  # nothing changed
    assert p[1] == pytest.approx(2 / 2001)
    assert 0.05 <= np.mean(p[2:] < 0.3) <= 0.6  # about 0.3 of changes that are noise


def test_chosen_on_the_other_half_the_best_of_many_equal_heads_gains_nothing():
    n, heads = 300, 100
    gold = np.ones(n, int)
    before = (RNG.uniform(size=n) < 0.7).astype(int)
    turned = RNG.uniform(size=(heads, n)) < 0.05
    after = np.where(turned, RNG.uniform(size=(heads, n)) < 0.7, before).astype(int)
    naive = (after.mean(1) - before.mean()).max()
    honest = split_half(SCORES["accuracy"], gold, before, after, "test").mean()
    assert naive > 0.015 and abs(honest) < 0.006
    after[7, :60] = 1  # one head that helps
    assert split_half(SCORES["accuracy"], gold, before, after, "test").mean() > 0.03
