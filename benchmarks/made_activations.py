"""Index of a made-up file of activations."""

import numpy as np


def make_index(lengths: np.ndarray) -> dict[str, np.ndarray]:
    """Return the members that describe sentences of these lengths; all tokens are alike."""
    tokens = lengths.sum()
    return {
        "token_ids": np.zeros(tokens, np.int32),
        "special": np.zeros(tokens, bool),
        "segment": np.zeros(tokens, np.uint8),
        "example_offsets": np.append(0, np.cumsum(lengths)),
        "map_offsets": np.append(0, np.cumsum(lengths**2)),
        "example_ids": np.arange(len(lengths)).astype(str),
    }


def draw_maps(rng: np.random.Generator, heads: int, length: int) -> np.ndarray:
    """Draw the attention maps of a sentence; rows sum to 1."""
    maps = rng.exponential(size=(heads, length, length)).astype(np.float32)
    return maps / maps.sum(-1, keepdims=True)
