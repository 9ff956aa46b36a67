import numpy as np
import pytest
from sklearn.metrics import f1_score

from bertshift.patterns.quantification import confusion, corrected, f1

ANSWERS = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.15, 0.25, 0.6]])  # P(answer | label)


def test_f1_agrees_with_sklearn():
    random = np.random.default_rng(0)
    # Class 3 is never right, 4 never met.
    gold, answers = random.integers(0, 3, 200), random.integers(0, 4, 200)
    counts = confusion(gold, answers, 5)
    scores, macro, weighted = f1(counts)
    np.testing.assert_allclose(scores[:4], f1_score(gold, answers, average=None))
    assert np.isnan(scores[4])
    assert macro == pytest.approx(f1_score(gold, answers, average="macro"))
    assert weighted == pytest.approx(f1_score(gold, answers, average="weighted"))


def test_with_many_labels_it_is_the_inverse_within_the_simplex():
    shares = np.array([0.6, 0.1, 0.3])
    estimate = corrected(shares @ ANSWERS, ANSWERS * 1e9)
    np.testing.assert_allclose(estimate, shares, atol=1e-4)
    outside = np.array([1.0, 0, 0])  # no distribution gives these answers
    assert np.linalg.solve(ANSWERS.T, outside).min() < 0
    estimate = corrected(outside, ANSWERS * 1e9)
    assert estimate.min() == 0 and estimate.sum() == pytest.approx(1) and estimate[0] > 0.99


def test_a_class_without_labels_is_absent():
    counts = np.array([[50, 5, 1], [4, 40, 2], [0, 0, 0]])
    estimate = corrected(np.array([0.5, 0.4, 0.1]), counts)
    assert estimate[2] == 0 and estimate.sum() == pytest.approx(1)


def test_noise_in_a_class_with_few_labels_does_not_become_half_of_all_maps():
    # The first is mostly taken for the third.
    counts = np.array([[0, 1, 4], [1, 48, 3], [2, 4, 92]])
    answers = np.array([0.01, 0.3, 0.69])
    assert np.linalg.solve((counts / counts.sum(1, keepdims=True)).T, answers)[0] > 0.45
    assert np.abs(corrected(answers, counts) - answers).max() < 0.05
