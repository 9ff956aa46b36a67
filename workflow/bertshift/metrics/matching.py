"""Pair the heads of a layer in two models, whatever their numbers.

The partners are those of least total distance among all ways to pair the heads one to one (Kuhn
1955, "The Hungarian Method for the Assignment Problem"), on PAIRED examples spread over all. They
may therefore be a little too near each other, by chance, in few examples.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from bertshift.activations.store import Maps

PAIRED = 100  # examples

# From two layers' maps of the same examples to [n, heads].
PerMap = Callable[[Maps, Maps], np.ndarray]


def partners(distance: PerMap, maps: Maps, others: Maps) -> np.ndarray:
    """Find for each head of `maps` its partner among the heads of `others`: numbers [heads], from
    0."""
    examples = np.unique(np.linspace(0, len(maps) - 1, PAIRED).astype(int))
    heads = np.arange(maps.heads)
    sample = _taken(maps, examples, heads)
    costs = np.empty((maps.heads, maps.heads))
    for shift in heads:
        shifted = np.roll(heads, -shift)
        distances = distance(sample, _taken(others, examples, shifted))
        costs[heads, shifted] = distances.mean(axis=0)
    return linear_sum_assignment(costs)[1]


def with_partners(
    per_map: PerMap, values: np.ndarray, numbers: np.ndarray, maps: Maps, others: Maps
) -> np.ndarray:
    """Compare each head of `maps` with its partner in `others`, [n, heads]; `numbers` are those of
    `partners`, and `values` are of heads with equal numbers."""
    if np.array_equal(numbers, np.arange(maps.heads)):
        return values
    return per_map(maps, _taken(others, range(len(others)), numbers))


def _taken(maps: Maps, examples: Sequence[int], heads: np.ndarray) -> Maps:
    """Take some examples, and their heads in this order."""
    lengths = maps.lengths[examples]
    flat = np.concatenate([maps[example][heads].ravel() for example in examples])
    return Maps(flat, np.append(0, np.cumsum(lengths**2)), lengths)
