"""Does a head's attention change because of its own weights, or because its input has moved? A control of ours.

What Figure 5 of Kovaleva et al. 2019 and Figure 1 of Hao et al. 2020 show mixes the two. A layer's attention follows from
its query and key weights W and its input x, the hidden states of the layer below:

    A(W, x) = softmax( (x W_Q + b_Q)(x W_K + b_K)' / sqrt(d_head) )

With W, x of the fine-tuned model and W0, x0 of its reference, each of these is compared with A(W0, x0):

    total      A(W, x)
    own        A(W, x0)     the layer's weights are fine-tuned, its input is not
    inherited  A(W0, x)     its input is, its weights are not
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from bertshift.activations.store import Maps
from bertshift.metrics import cosine, jensen_shannon
from bertshift.metrics.pairs import Pair, check_same_heads, frame, head_rows, opened
from bertshift.models.weights import heads_of, layer_tensors

CELLS = 1 << 22  # of maps made at a time: 16 MB
SCORES = [f"attention.self.{name}" for name in ("query.weight", "query.bias", "key.weight", "key.bias")]
MEASURES = {
    "cosine_distance": lambda maps, before: 1 - cosine.per_map(maps, before),
    "js": jensen_shannon.per_map,
}


def compare(pairs: list[Pair], folders: Mapping[Path, Path]) -> pd.DataFrame:
    """One row a pair, layer, head (0: their mean), variant (total, own, inherited) and `measure`: cosine_distance, which
    is 1 - cosine, or js in nats; sd and n are over examples.

    folders: the model folder behind each activation file. Raises UserError where tokens, layers or heads of a pair differ.
    """
    return frame(_rows(pairs, folders), extra=("measure",))


def _rows(pairs: list[Pair], folders: Mapping[Path, Path]) -> Iterator[dict]:
    for pair, model, reference in opened("own_or_inherited", pairs):
        check_same_heads("own_or_inherited", pair, model, reference)
        weights = (layer_tensors(folders[one.path], SCORES) for one in (model, reference))
        heads = heads_of(folders[model.path])
        for layer, (new, old) in enumerate(zip(*weights, strict=True), 1):
            after, before = model.attention(layer), reference.attention(layer)
            moved, unmoved = model.hidden(layer - 1), reference.hidden(layer - 1)
            values = {
                (variant, measure): [] for variant in ("total", "own", "inherited") for measure in MEASURES
            }
            for first, last in _chunks(model.lengths, heads):
                tokens = slice(model.offsets[first], model.offsets[last])
                lengths = model.lengths[first:last]
                maps = {
                    "total": after.part(first, last),
                    "own": attention(unmoved[tokens], new, lengths, heads),
                    "inherited": attention(moved[tokens], old, lengths, heads),
                }
                for (variant, measure), parts in values.items():
                    parts.append(MEASURES[measure](maps[variant], before.part(first, last)))
            for (variant, measure), parts in values.items():
                place = {"layer": layer, "ref_layer": layer, "variant": variant, "measure": measure}
                yield from head_rows(np.concatenate(parts), **pair.keys, **place)


def attention(states: np.ndarray, weights: list[np.ndarray], lengths: np.ndarray, heads: int) -> Maps:
    """A(W, x) of examples of these lengths: states [sum of lengths, d], the layer's input; weights as of SCORES."""
    query, query_bias, key, key_bias = (one.astype(np.float32) for one in weights)
    width = len(query) // heads

    def split(weight, bias):
        return (states @ weight.T + bias).reshape(len(states), heads, width).transpose(1, 0, 2)

    queries, keys = split(query / width**0.5, query_bias / width**0.5), split(key, key_bias)
    offsets = np.append(0, np.cumsum(lengths**2))
    flat, ends = np.empty(offsets[-1] * heads, np.float32), np.cumsum(lengths)
    for example, (end, length) in enumerate(zip(ends, lengths, strict=True)):
        own = slice(end - length, end)
        scores = queries[:, own] @ keys[:, own].transpose(0, 2, 1)
        scores = np.exp(scores - scores.max(axis=2, keepdims=True))
        scores /= scores.sum(axis=2, keepdims=True)
        flat[offsets[example] * heads : offsets[example + 1] * heads] = scores.ravel()
    return Maps(flat, offsets, lengths)


def _chunks(lengths: np.ndarray, heads: int) -> Iterator[tuple[int, int]]:
    """(first, last) of runs of examples whose maps have about CELLS cells."""
    starts, first = np.append(0, np.cumsum(lengths**2 * heads)), 0
    while first < len(lengths):
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + CELLS, side="right")) - 1)
        yield first, last
        first = last
