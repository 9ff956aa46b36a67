from itertools import product

import numpy as np
import pytest

from bertshift.data.conllu import tree_fault
from bertshift.tasks.spanning_tree import best_tree


def total(scores, heads):
    return scores[np.arange(1, len(scores)), heads].sum()


def every_tree(words):
    found = [heads for heads in product(range(words + 1), repeat=words) if tree_fault(heads) is None]
    assert len(found) == words ** (words - 1)  # Cayley
    return np.array(found)


@pytest.mark.parametrize("words", range(1, 6))
def test_no_tree_with_one_root_is_better(words):
    rng = np.random.default_rng(words)
    trees = every_tree(words)
    drawn = [rng.normal(size=(words + 1, words + 1)) for _ in range(30)]
    for scores in drawn[:10]:
        scores[:, 0] += 5  # every word would be a root
    for scores in drawn[10:20]:
        scores[:, 0] -= 5  # no word would
    for scores in drawn:
        totals = scores[np.arange(1, words + 1), trees].sum(1)
        assert best_tree(scores).tolist() == trees[totals.argmax()].tolist()


def test_heads_that_are_a_tree_are_kept():
    assert best_tree(np.array([[9, 9, 9, 9], [0, 9, 0, 2], [0, 2, 9, 0], [2, 0, 0, 9.0]])).tolist() == [
        3,
        1,
        0,
    ]
    assert best_tree(np.zeros((2, 2))).tolist() == [0] and best_tree(np.zeros((1, 1))).tolist() == []


def test_what_does_not_change_the_order_of_trees_changes_nothing():
    rng = np.random.default_rng(0)
    for words in (2, 5, 20, 60):
        scores = rng.normal(size=(words + 1, words + 1)).astype(np.float32)
        heads = best_tree(scores)
        assert tree_fault(heads.tolist()) is None
        shifted = scores * 4 + rng.integers(-8, 8, size=(words + 1, 1))
        shifted[:, 0] += 64  # all trees have one arc from the root
        np.fill_diagonal(shifted, rng.normal(size=words + 1) * 1e6)
        assert best_tree(shifted).tolist() == heads.tolist()
        order = np.append(0, 1 + rng.permutation(words))
        moved = best_tree(scores[np.ix_(order, order)])
        assert total(scores[np.ix_(order, order)], moved) == pytest.approx(total(scores, heads))
        assert order[moved].tolist() == heads[order[1:] - 1].tolist()


def test_ties_and_constants_still_give_a_tree():
    for words in (1, 2, 7):
        assert tree_fault(best_tree(np.zeros((words + 1, words + 1))).tolist()) is None
