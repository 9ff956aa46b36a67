"""Dependency trees as depths of words and distances between them, and how well predictions of both
agree with them.

Hewitt and Manning 2019, sections 2.2 and 4: Spearman's correlation by sentence length, the root,
and UUAS, the share of undirected attachments recovered.
"""

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from bertshift.errors import UserError

# Sentences that correlations are averaged over, in words with punctuation.
SHORTEST = 5
LONGEST = 50


def depths(heads: Sequence[int]) -> np.ndarray:
    """Count the edges between each word and the root, [n]. heads: [n] counted from 1, 0 for the
    root; a tree."""
    parents = np.append(0, heads)
    above, depth = parents[1:], np.zeros(len(heads), np.int64)
    while above.any():
        depth += above > 0
        above = parents[above]
    return depth


def distances(heads: Sequence[int]) -> np.ndarray:
    """Count the edges on the path between each two words, [n, n]. heads: as for `depths`."""
    between = np.zeros((len(heads), len(heads)), np.int64)
    order = np.argsort(depths(heads), kind="stable")
    for number, word in enumerate(order):
        # A word is as far from those above or beside it as its head, and one edge more.
        seen = order[:number]
        between[word, seen] = between[seen, word] = between[heads[word] - 1, seen] + 1
    return between


def spearman(predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Compute Spearman's correlation along the last axis, [..., n] -> [...], tied values at their
    average rank.

    It is 0 where one side is all alike. Other axes are broadcast.
    """
    a, b = (rankdata(values, axis=-1) - (values.shape[-1] + 1) / 2 for values in (predicted, gold))
    norms = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    return np.divide((a * b).sum(-1), norms, out=np.zeros(norms.shape), where=norms > 0)


def mean_over_lengths(values: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, int]:
    """Average values [..., sentences] over sentences of a length, then over lengths: [...], and
    how many counted.

    As in Hewitt and Manning, sentences of 5 to 50 words count; a sentence's own value may be a
    mean over its words. Raises UserError where there are no such sentences.
    """
    kept = (lengths >= SHORTEST) & (lengths <= LONGEST)
    if not kept.any():
        raise UserError(
            f"No sentence has {SHORTEST} to {LONGEST} words, so Spearman's correlation by length"
            " is undefined: write more sentences for dev and test."
        )
    means = [values[..., lengths == length].mean(axis=-1) for length in np.unique(lengths[kept])]
    return np.mean(means, axis=0), int(kept.sum())


def root_found(
    predicted: np.ndarray, gold: np.ndarray, kept: np.ndarray
) -> tuple[np.ndarray, int]:
    """Tell whether the least deep of the words `kept` [n] is the root: predicted [k, n], gold [n]
    -> [k]. Return also out of how many: 1."""
    return np.where(kept, predicted, np.inf).argmin(-1) == gold.argmin(), 1


def attachments_found(
    predicted: np.ndarray, gold: np.ndarray, kept: np.ndarray
) -> tuple[np.ndarray, int]:
    """Count the edges that the minimum spanning trees of predicted [k, n, n] and gold [n, n]
    share.

    Return the counts [k], and out of how many. Both trees span the words `kept` [n] alone. Where
    another word lies between two of them, gold's has an edge of length 2 or more.
    """
    inside = np.ix_(kept, kept)
    spanning = spanning_trees(np.stack([gold[inside], *(one[inside] for one in predicted)]))
    return (spanning[1:] & spanning[0]).sum((1, 2)), int(kept.sum()) - 1


def spanning_trees(lengths: np.ndarray) -> np.ndarray:
    """Find the minimum spanning trees of k complete graphs at once: [k, n, n] -> [k, n, n], True
    at the edges i < j.

    Of equal lengths the first in row order goes first, as in Kruskal's algorithm. That turns
    lengths into ranks, which differ, so each tree is the only minimal one and Prim's algorithm
    finds the same.
    """
    k, n, _ = lengths.shape
    every, (i, j) = np.arange(k), np.triu_indices(n, 1)
    order = np.argsort(lengths[:, i, j], axis=1, kind="stable")
    rank = np.full((k, n, n), len(i))
    rank[:, i, j] = rank[:, j, i] = np.argsort(order, axis=1)
    edges = np.zeros((k, n, n), bool)
    outside = np.ones((k, n), bool)
    outside[:, :1] = False
    # For each word outside: its edge to the tree, and whereto.
    nearest = rank[:, 0]
    via = np.zeros((k, n), int)
    for _ in range(n - 1):
        new = np.where(outside, nearest, len(i)).argmin(axis=1)
        old = via[every, new]
        edges[every, np.minimum(old, new), np.maximum(old, new)] = True
        outside[every, new] = False
        closer = rank[every, new] < nearest
        nearest = np.where(closer, rank[every, new], nearest)
        via = np.where(closer, new[:, None], via)
    return edges
