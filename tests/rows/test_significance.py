from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, false_discovery_control

from bertshift.rows.significance import (
    SCORES,
    benjamini_hochberg,
    mcnemar,
    of_least_certain,
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


def test_replicates_that_contradict_each_other_are_no_evidence():
    tests = pd.DataFrame({"task": list("aabb"), "p": [0.01, 0.02, 1e-5, 1e-5], "n": [9, 8, 7, 7],
                          "delta": [0.1, 0.2, 0.1, -0.1]})  # fmt: skip
    found = of_least_certain(tests.groupby("task"), "delta")
    assert found["p"].tolist() == [0.02, 1.0] and found["n"].tolist() == [8, 7]


def test_benjamini_hochberg_is_scipys_and_leaves_missing_ones_out():
    p = RNG.uniform(size=20)
    q = benjamini_hochberg(np.insert(p, [0, 7], np.nan))
    assert np.isnan(q[[0, 8]]).all()
    assert np.delete(q, [0, 8]) == pytest.approx(false_discovery_control(p))


@pytest.mark.parametrize(
    "name", ["accuracy", "f1", "macro_f1", "mcc", "pearson", "mean", "spearman"]
)
def test_scores_from_sums_are_the_tasks_own_on_every_sample(name):
    classes = {"pearson": 1000, "spearman": 6, "macro_f1": 3, "mcc": 3}.get(name, 2)
    gold = RNG.integers(0, classes, 40)
    predictions = RNG.permuted(np.tile(gold, (3, 1)), axis=1)
    times = RNG.integers(0, 3, (5, 40))
    times[0] *= gold != 0  # a sample without a class
    if name == "spearman":  # whose ranks are those of all examples
        times = np.ones((1, 40), int)
    functions = {**scores.CLASS_SCORES, **scores.REGRESSION_SCORES, "mean": lambda _, x: x.mean()}
    expected = [
        [functions[name](np.repeat(gold, t), np.repeat(predicted, t)) for predicted in predictions]
        for t in times
    ]
    sampled = SCORES[name].of(gold, predictions)(times)
    assert sampled == pytest.approx(np.array(expected), abs=1e-12)


def test_the_bootstrap_agrees_with_all_possible_samples():
    """Four examples have 4**4 samples, from which the tails are known exactly."""
    gold, before, after = np.array([1, 1, 0, 0]), np.array([1, 0, 0, 1]), np.array([1, 1, 0, 1])
    samples = map(list, product(range(4), repeat=4))
    gains = np.array(
        [scores.f1(gold[i], after[i]) - scores.f1(gold[i], before[i]) for i in samples]
    )
    expected = 2 * min(np.mean(gains <= 0), np.mean(gains >= 0))
    p = paired_bootstrap(SCORES["f1"], gold, before, after[None], "test")
    assert p == pytest.approx(expected, abs=0.02)


def test_the_bootstrap_is_paired_and_not_fooled_by_rounding():
    gold = RNG.normal(size=300)
    before = gold + RNG.normal(size=300)
    better = gold + 0.5 * (before - gold)
    p = paired_bootstrap(SCORES["pearson"], gold, before, np.stack([before, better]), "test", 2000)
    assert p == pytest.approx([1, 2 / 2001])  # of the first, nothing changed


def test_chosen_on_the_other_half_the_best_of_many_equal_heads_gains_nothing():
    rng = np.random.default_rng(0)
    gold = np.ones(300, int)
    before = rng.binomial(1, 0.7, 300)
    is_changed = rng.uniform(size=(100, 300)) < 0.05
    after = np.where(is_changed, rng.binomial(1, 0.7, (100, 300)), before)

    def gain():
        return split_half(SCORES["accuracy"], gold, before, after, "test").mean()

    assert (after.mean(1) - before.mean()).max() > 0.015 and abs(gain()) < 0.006
    after[7, :60] = 1  # one head that helps
    assert gain() > 0.03
