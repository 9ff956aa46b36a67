from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from bertshift.activations.store import writing


@pytest.fixture
def make_file(tmp_path):
    """make_file(name, hidden [L+1, N, d], lengths, maps=None [L][n] of [H, length, length],
    kept=None: which tokens are stored, more columns of the index) -> path."""

    def make(name: str, hidden, lengths, maps=None, kept=None, **columns) -> Path:
        lengths = np.asarray(lengths)
        offsets = np.append(0, np.cumsum(lengths))
        special = np.isin(np.arange(offsets[-1]), [offsets[:-1], offsets[1:] - 1])
        index = {
            "token_ids": np.arange(offsets[-1], dtype=np.int32),
            "special": special,
            "segment": np.zeros(offsets[-1], np.uint8),
            "example_offsets": offsets,
            "map_offsets": np.append(0, np.cumsum(lengths**2)),
            "example_ids": np.arange(len(lengths)).astype(str),
        } | columns
        if kept:
            index["kept_tokens"] = kept(special)
        heads = len(maps[0][0]) if maps else 0
        path = tmp_path / name
        with writing(path, index, len(hidden) - 1, hidden[0].shape[1], heads) as writer:
            for example, (first, end) in enumerate(pairwise(offsets)):
                for layer, states in enumerate(hidden):
                    writer.hidden(layer, example, states[first:end])
                for layer, values in enumerate(maps or (), 1):
                    writer.attention(layer, example, values[example])
        return path

    return make
