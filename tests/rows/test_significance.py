from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest, false_discovery_control

from bertshift.rows.significance import (
    SCORES,
    benjamini_hochberg,
    mcnemar,
    paired_bootstrap,
    split_half,
)
from bertshift.tasks import scores

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("lost", "gained"), [(0, 0), (1, 0), (9, 1), (3, 3), (4, 14), (60, 40)])
def test_mcnemar_is_the_binomial_test_of_what_changed(lost, gained):
    before = np.repeat([True, False, True], [lost, gained, 3])
    after = np.repeat([False, True, True], [lost, gained, 3])
    p = binomtest(lost, lost + gained).pvalue if lost + gained else 1
    assert mcnemar(before, after) == pytest.approx(p)
    assert mcnemar(before, np.stack([after, before])) == pytest.approx([p, 1])


def test_benjamini_hochberg_is_scipys_and_leaves_missing_ones_out():
    p = np.concatenate([RNG.uniform(size=20), [1e-4, 2e-3, 2e-3, 0.0]])
    q = benjamini_hochberg(p)
    assert q == pytest.approx(false_discovery_control(p))
    some = np.insert(p, [0, 7, 7], np.nan)
    assert np.array_equal(
        benjamini_hochberg(some), np.insert(q, [0, 7, 7], np.nan), equal_nan=True
    )


@pytest.mark.parametrize(
    "name", ["accuracy", "f1", "macro_f1", "mcc", "pearson", "mean", "spearman"]
)
def test_scores_from_sums_are_the_tasks_own_on_every_sample(name):
    classes = {"pearson": 1000, "spearman": 6, "macro_f1": 3, "mcc": 3}.get(name, 2)
    gold = RNG.integers(0, classes, 40)
    said = RNG.permuted(np.tile(gold, (3, 1)), axis=1)
    times = RNG.integers(0, 3, (5, 40))
    times[0] *= gold != 0  # a sample without a class
    if name == "spearman":  # whose ranks are those of all examples
        times = np.ones((1, 40), int)
    direct = {
        **scores.CLASS_SCORES,
        **scores.REGRESSION_SCORES,
        "mean": lambda gold, said: said.mean(),
    }[name]
    expected = [[direct(np.repeat(gold, t), np.repeat(each, t)) for each in said] for t in times]
    assert SCORES[name].of(gold, said)(times) == pytest.approx(np.array(expected), abs=1e-12)


def test_the_bootstrap_agrees_with_all_possible_samples():
    """Four examples have 4**4 samples, from which the tails are known exactly."""
    gold, before, after = np.array([1, 1, 0, 0]), np.array([1, 0, 0, 1]), np.array([1, 1, 0, 1])
    samples = [list(sample) for sample in product(range(4), repeat=4)]
    gains = np.array(
        [scores.f1(gold[i], after[i]) - scores.f1(gold[i], before[i]) for i in samples]
    )
    expected = 2 * min(np.mean(gains <= 0), np.mean(gains >= 0))
    assert paired_bootstrap(SCORES["f1"], gold, before, after[None], "test") == pytest.approx(
        expected, abs=0.02
    )


def test_the_bootstrap_is_paired_and_not_fooled_by_rounding():
    gold = RNG.normal(size=300)
    before = gold + RNG.normal(size=300)
    better = gold + 0.5 * (before - gold)
    p = paired_bootstrap(SCORES["pearson"], gold, before, np.stack([before, better]), "test", 2000)
    assert p == pytest.approx([1, 2 / 2001])  # of the first, nothing changed


def test_chosen_on_the_other_half_the_best_of_many_equal_heads_gains_nothing():
    rng, n, heads = np.random.default_rng(0), 300, 100
    gold = np.ones(n, int)
    before = (rng.uniform(size=n) < 0.7).astype(int)
    turned = rng.uniform(size=(heads, n)) < 0.05
    after = np.where(turned, rng.uniform(size=(heads, n)) < 0.7, before).astype(int)
    naive = (after.mean(1) - before.mean()).max()
    honest = split_half(SCORES["accuracy"], gold, before, after, "test").mean()
    assert naive > 0.015 and abs(honest) < 0.006
    after[7, :60] = 1  # one head that helps
    assert split_half(SCORES["accuracy"], gold, before, after, "test").mean() > 0.03
