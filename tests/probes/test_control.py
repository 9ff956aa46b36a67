import numpy as np
import pytest

from bertshift.probes.control import control_labels

TRAIN = np.eye(3, dtype=bool)[[0] * 6 + [1] * 3 + [2]]


def phrase(*spans):
    return tuple(tuple(span.split()) for span in spans)


def test_the_words_alone_decide():
    phrases = [phrase("the cat"), phrase("sat"), phrase("The Cat"), phrase("the", "cat")]
    labels = control_labels(phrases, TRAIN, "pos", 1)
    assert (labels[0] == labels[2]).all()
    reverse = control_labels(phrases[::-1], TRAIN[::-1], "pos", 1)
    np.testing.assert_array_equal(reverse[::-1], labels)


def test_sets_of_labels_are_drawn_together():
    train = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]], bool)
    phrases = [phrase(str(number)) for number in range(2000)]
    first, second = (control_labels(phrases, train, "spr", seed) for seed in (1, 2))
    assert (first == second).all(axis=1).mean() == pytest.approx(2 * 0.25**2 + 0.5**2, abs=0.03)
    sets, shares = np.unique(first, axis=0, return_counts=True)
    assert sets.astype(int).tolist() == [[0, 0, 0], [0, 0, 1], [1, 1, 0]]
    np.testing.assert_allclose(shares / 2000, [0.25, 0.25, 0.5], atol=0.04)
