from pathlib import Path

import numpy as np
import pytest

from bertshift.activations.store import writing


@pytest.fixture
def make_file(tmp_path):
    """make_file(name, hidden [L+1, N, d], lengths, maps=None [L][n] of [H, length, length], kept=None: which tokens, ...) -> path."""

    def make(name: str, hidden, lengths, maps=None, token_ids=None, kept=None) -> Path:
        lengths = np.asarray(lengths)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        special = np.zeros(offsets[-1], bool)
        special[offsets[:-1]] = special[offsets[1:] - 1] = True
        index = {
            "token_ids": np.arange(offsets[-1], dtype=np.int32) if token_ids is None else token_ids,
            "special": special,
            "segment": np.zeros(offsets[-1], np.uint8),
            "example_offsets": offsets,
            "map_offsets": np.concatenate([[0], np.cumsum(lengths**2)]),
            "example_ids": np.arange(len(lengths)).astype(str),
        }
        if kept:
            index["kept_tokens"] = kept(special)
        heads = len(maps[0][0]) if maps else 0
        with writing(tmp_path / name, index, len(hidden) - 1, hidden[0].shape[1], heads) as writer:
            for example in range(len(lengths)):
                for layer, states in enumerate(hidden):
                    writer.hidden(layer, example, states[offsets[example] : offsets[example + 1]])
                for layer, values in enumerate(maps or (), 1):
                    writer.attention(layer, example, values[example])
        return tmp_path / name

    return make


@pytest.fixture
def attention_pair(make_file):
    """Two files of 40 examples, 2 layers x 3 heads, whose maps have zeros and differ a little more in layer 2."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(2, 60, size=40)
    logits = [[4 * rng.normal(size=(3, n, n)) for n in lengths] for _ in range(2)]
    moved = [[x + (layer + 1) * 0.1 * rng.normal(size=x.shape) for x in logits[layer]] for layer in range(2)]
    hidden = np.zeros((3, lengths.sum(), 2), np.float32)

    def softmax(x):
        p = np.exp(x - x.max(-1, keepdims=True))
        p[p < 1e-4] = 0
        return (p / p.sum(-1, keepdims=True)).astype(np.float32)

    maps = [[[softmax(x) for x in layer] for layer in side] for side in (moved, logits)]
    paths = [
        make_file(name, hidden, lengths, side)
        for name, side in zip(("model.npz", "base.npz"), maps, strict=True)
    ]
    return *paths, *maps
