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
    ancestor = parents[1:]
    depth = np.zeros(len(heads), np.int64)
    while ancestor.any():
        depth += ancestor > 0
        ancestor = parents[ancestor]
    return depth


def distances(heads: Sequence[int]) -> np.ndarray:
    """Count the edges on the path between each two words, [n, n]. heads: as for `depths`."""
    lengths = np.zeros((len(heads), len(heads)), np.int64)
    order = np.argsort(depths(heads), kind="stable")
    for number, word in enumerate(order):
        # The path to a word that is not below `word` leads through the head of `word`.
        seen = order[:number]
        lengths[word, seen] = lengths[heads[word] - 1, seen] + 1
        lengths[seen, word] = lengths[word, seen]
    return lengths


def spearman(predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Compute Spearman's correlation along the last axis, [..., n] -> [...], tied values at their
    average rank.

    It is 0 where all values of one side are equal. Other axes are broadcast.
    """
    mean_rank = (predicted.shape[-1] + 1) / 2
    a = rankdata(predicted, axis=-1) - mean_rank
    b = rankdata(gold, axis=-1) - mean_rank
    covariance = (a * b).sum(-1)
    norms = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    return np.divide(covariance, norms, out=np.zeros(norms.shape), where=norms > 0)


def mean_over_lengths(values: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, int]:
    """Average over sentences of a length, then over lengths: [...], and the number of sentences.

    As in Hewitt and Manning, sentences of 5 to 50 words count.

    values: [..., sentences]; a sentence's value may be a mean over its words
    lengths: [sentences], in words

    UserError where there are no such sentences.
    """
    counts = (lengths >= SHORTEST) & (lengths <= LONGEST)
    if not counts.any():
        raise UserError(
            f"No sentence has {SHORTEST} to {LONGEST} words, so Spearman's correlation by length"
            " is undefined: write more sentences for dev and test."
        )
    included = np.unique(lengths[counts])
    means = [values[..., lengths == length].mean(axis=-1) for length in included]
    return np.mean(means, axis=0), int(counts.sum())


def root_found(
    predicted: np.ndarray, gold: np.ndarray, is_word: np.ndarray
) -> tuple[np.ndarray, int]:
    """Test whether the least deep word is the root: [k]. Return also the number of roots, 1.

    predicted: [k, n]
    gold: [n]
    is_word: [n]
    """
    return np.where(is_word, predicted, np.inf).argmin(-1) == gold.argmin(), 1


def attachments_found(
    predicted: np.ndarray, gold: np.ndarray, is_word: np.ndarray
) -> tuple[np.ndarray, int]:
    """Count the edges that two minimum spanning trees share: [k], and the number of edges of gold.

    Both trees span only words. Where a token that is not a word lies between two words, gold has
    an edge of length 2 or more.

    predicted: [k, n, n]
    gold: [n, n]
    is_word: [n]
    """
    distances_of_words = np.concatenate([gold[None], predicted])[:, is_word][:, :, is_word]
    trees = spanning_trees(distances_of_words)
    shared = trees[1:] & trees[0]
    return shared.sum((1, 2)), int(is_word.sum()) - 1


def spanning_trees(lengths: np.ndarray) -> np.ndarray:
    """Find the minimum spanning trees of k complete graphs at once: [k, n, n] -> [k, n, n], True
    at the edges i < j.

    Equal lengths are ranked in row order, as in Kruskal's algorithm. As all ranks differ, each
    graph has a single minimum spanning tree, which Prim's algorithm finds too.
    """
    k, n, _ = lengths.shape
    every = np.arange(k)
    i, j = np.triu_indices(n, 1)
    order = np.argsort(lengths[:, i, j], axis=1, kind="stable")
    rank = np.full((k, n, n), len(i))
    rank[:, i, j] = rank[:, j, i] = np.argsort(order, axis=1)
    edges = np.zeros((k, n, n), bool)
    outside = np.ones((k, n), bool)
    outside[:, :1] = False
    # For each word outside the tree: its shortest edge to the tree, and the word at the other end.
    shortest = rank[:, 0]
    neighbour = np.zeros((k, n), int)
    for _ in range(n - 1):
        new = np.where(outside, shortest, len(i)).argmin(axis=1)
        old = neighbour[every, new]
        edges[every, np.minimum(old, new), np.maximum(old, new)] = True
        outside[every, new] = False
        new_rank = rank[every, new]
        closer = new_rank < shortest
        shortest = np.where(closer, new_rank, shortest)
        neighbour = np.where(closer, new[:, None], neighbour)
    return edges
