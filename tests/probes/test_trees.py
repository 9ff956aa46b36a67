from collections import defaultdict

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path
from scipy.stats import spearmanr

from bertshift.errors import UserError
from bertshift.probes.trees import (
    attachments_found,
    depths,
    distances,
    mean_over_lengths,
    root_found,
    spanning_trees,
    spearman,
)

# "A hearing is scheduled on the issue today": 2 -> 5 crosses 4 -> 8
CROSSING = [2, 4, 4, 0, 2, 7, 5, 4]


@pytest.mark.parametrize(
    "heads",
    [[0], [0, 1, 2, 3], [2, 0, 2, 2, 2], CROSSING],
    ids=["word", "chain", "star", "crossing"],
)
def test_distances_are_shortest_paths_and_depths_those_to_the_root(heads):
    edges = np.zeros((len(heads) + 1,) * 2)
    edges[np.arange(len(heads)) + 1, heads] = 1
    paths = shortest_path(edges[1:, 1:], directed=False)
    np.testing.assert_array_equal(distances(heads), paths)
    assert depths(heads).tolist() == paths[heads.index(0)].tolist()


def test_spearman_by_length_is_scipys_row_by_row():
    rng = np.random.default_rng(0)
    lengths = np.array([4, 5, 9, 5, 51, 50, 9, 9])
    values, by_length = [], defaultdict(list)
    for n in lengths:
        gold = rng.integers(0, 4, (n, n))  # many ties
        gold[:, 0] = -1
        predicted = rng.normal(size=(2, n, n)).round(1) + gold
        values.append(spearman(predicted, gold).mean(axis=-1))
        by_length[n] += [spearmanr(predicted[1, i], gold[i]).statistic for i in range(n)]
    value, counted = mean_over_lengths(np.transpose(values), lengths)
    expected = np.mean([np.mean(by_length[n]) for n in (5, 9, 50)])
    assert value[1] == pytest.approx(expected, abs=1e-12)
    assert counted == 6
    assert spearman(np.ones(3), np.arange(3)) == 0
    with pytest.raises(UserError, match="5 to 50 words"):
        mean_over_lengths(np.ones(2), np.array([4, 51]))


def test_spanning_trees():
    lengths = np.random.default_rng(0).uniform(1, 2, (5, 9, 9))
    lengths += lengths.transpose(0, 2, 1)
    for tree, matrix in zip(spanning_trees(lengths), lengths, strict=True):
        np.testing.assert_array_equal(
            tree, minimum_spanning_tree(np.triu(matrix, 1)).toarray() > 0
        )
    [tree] = spanning_trees(distances(CROSSING)[None])  # with ties
    np.testing.assert_array_equal(tree | tree.T, distances(CROSSING) == 1)


def test_punctuation_between_words():
    """Word 3 is punctuation and the head of 4 and 5: without it both are attached to 2, two edges
    away, by the order of the first's edges."""
    heads = [2, 0, 2, 3, 3]
    gold = distances(heads)
    words = np.array([True, True, False, True, True])
    correct, possible = attachments_found(gold[None], gold, words)
    assert (correct[0], possible) == (3, 3)
    predicted = gold.astype(float)
    predicted[3, 4] = predicted[4, 3] = 0.5  # 4 and 5 together; the other edge is the gold one
    assert attachments_found(predicted[None], gold, words)[0].tolist() == [2]
    assert attachments_found(-gold[None], gold, np.arange(5) == 0) == (0, 0)


def test_the_root_is_sought_among_words():
    gold = np.array([1, 0, 1])
    predicted = np.array([[0.5, 0.2, 0.1], [0.1, 0.2, 0.3]])
    correct, possible = root_found(predicted, gold, np.array([True, True, False]))
    assert correct.tolist() == [True, False] and possible == 1
