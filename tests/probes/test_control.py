import numpy as np

from bertshift.probes.control import control_labels

TRAIN = np.eye(3, dtype=bool)[[0] * 6 + [1] * 3 + [2]]


def phrase(*spans):
    return tuple(tuple(span.split()) for span in spans)


def test_the_words_alone_decide():
    phrases = [phrase("the cat"), phrase("sat"), phrase("The Cat"), phrase("the", "cat"), phrase("the cat")]
    found = control_labels(phrases, TRAIN, "pos", 1)
    assert (found[0] == found[4]).all() and (found[0] == found[2]).all()
    again = control_labels(phrases[::-1], TRAIN[::-1], "pos", 1)
    np.testing.assert_array_equal(again[::-1], found)


def test_labels_are_as_frequent_as_in_training_and_other_seeds_draw_anew():
    phrases = [phrase(f"w{number}", "x") for number in range(6000)]
    one, two = (control_labels(phrases, TRAIN, "srl", seed) for seed in (1, 2))
    np.testing.assert_allclose(one.mean(axis=0), [0.6, 0.3, 0.1], atol=0.02)
    agreement = (one & two).any(axis=1).mean()
    assert abs(agreement - (0.36 + 0.09 + 0.01)) < 0.03


def test_label_sets_are_drawn_whole():
    train = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]], bool)
    found = control_labels([phrase(str(number)) for number in range(2000)], train, "spr", 1)
    sets, shares = np.unique(found, axis=0, return_counts=True)
    assert sets.astype(int).tolist() == [[0, 0, 0], [0, 0, 1], [1, 1, 0]]
    np.testing.assert_allclose(shares / 2000, [0.25, 0.25, 0.5], atol=0.04)
