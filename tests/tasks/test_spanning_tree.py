from itertools import product

import numpy as np
import pytest

from bertshift.data.conllu import tree_fault
from bertshift.tasks.spanning_tree import best_tree


def every_tree(words):
    sequences = product(range(words + 1), repeat=words)
    trees = [heads for heads in sequences if tree_fault(heads) is None]
    assert len(trees) == words ** (words - 1)  # Cayley
    return np.array(trees)


@pytest.mark.parametrize("words", range(1, 6))
def test_no_tree_with_one_root_is_better(words):
    rng = np.random.default_rng(words)
    trees = every_tree(words)
    matrices = [rng.normal(size=(words + 1, words + 1)) for _ in range(30)]
    for scores in matrices[:10]:
        scores[:, 0] += 5  # every word would be a root
    for scores in matrices[10:20]:
        scores[:, 0] -= 5  # no word would
    for scores in matrices:
        totals = scores[np.arange(1, words + 1), trees].sum(1)
        assert best_tree(scores).tolist() == trees[totals.argmax()].tolist()


@pytest.mark.parametrize("words", [0, 1, 2, 20, 60])
def test_any_scores_give_a_tree_and_the_diagonal_and_a_shift_of_a_word_change_nothing(words):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(words + 1, words + 1)).astype(np.float32)
    heads = best_tree(scores).tolist()
    for tree in (heads, best_tree(0 * scores).tolist()):
        assert len(tree) == words and (not words or tree_fault(tree) is None)
    shifted = scores * 4 + rng.integers(-8, 8, size=(words + 1, 1))
    np.fill_diagonal(shifted, 1e6)
    assert best_tree(shifted).tolist() == heads
