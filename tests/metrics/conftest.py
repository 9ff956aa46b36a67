from pathlib import Path

import numpy as np
import pytest

from bertshift.activations.store import writing


@pytest.fixture
def make_file(tmp_path):
    """make_file(name, hidden [L+1, N, d], lengths, maps=None [L][n] of [H, length, length],
    kept=None: which tokens, more columns of the index) -> path."""

    def make(name: str, hidden, lengths, maps=None, kept=None, **columns) -> Path:
        lengths = np.asarray(lengths)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        special = np.zeros(offsets[-1], bool)
        special[offsets[:-1]] = special[offsets[1:] - 1] = True
        index = {
            "token_ids": np.arange(offsets[-1], dtype=np.int32),
            "special": special,
            "segment": np.zeros(offsets[-1], np.uint8),
            "example_offsets": offsets,
            "map_offsets": np.concatenate([[0], np.cumsum(lengths**2)]),
            "example_ids": np.arange(len(lengths)).astype(str),
        } | columns
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
