"""How long the vectors are that a head gives to those who attend to a token (Kobayashi et al. 2020, section 2).

What head h moves from token j to query i is alpha_ij f_j with f_j = (x_j W_V + b_V) W_O, of length alpha_ij ||f_j||, as
no weight is negative: one length for each head and token. No d-wide vector is made for each: W_O = Q R with orthonormal
columns in Q, so that ||v W_O|| = ||v R'||, and R goes into W_V beforehand.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bertshift.models.weights import heads_of, layer_tensors

VALUES = [f"attention.{name}" for name in ("self.value.weight", "self.value.bias", "output.dense.weight")]
TOKENS = 4096  # worked on at a time: as float64 they are twice what the file holds


def value_norms(states: np.ndarray, maps: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """||f_j|| for every head and token, [heads, tokens] float64.

    states [tokens, width]: a layer's input, that is the hidden states of the layer below; maps: the layer's, from
    `value_maps`.
    """
    weight, bias = maps
    heads = len(bias)
    norms = np.empty((heads, len(states)))
    for first in range(0, len(states), TOKENS):
        part = slice(first, first + TOKENS)
        values = states[part].astype(np.float64) @ weight.reshape(-1, weight.shape[-1]).T
        norms[:, part] = np.linalg.norm(values.reshape(len(values), heads, -1) + bias, axis=2).T
    return norms


def value_maps(folder: Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Layer by layer, a model folder's (weight [heads, d, width], bias [heads, d]) with ||weight x + bias|| = ||f||.

    UserError for weights that NumPy does not know (bfloat16).
    """
    heads = heads_of(folder)
    for value, bias, output in layer_tensors(folder, VALUES):
        triangles = np.stack([np.linalg.qr(columns, mode="r") for columns in np.split(output, heads, axis=1)])
        yield triangles @ np.stack(np.split(value, heads)), (triangles @ bias.reshape(heads, -1, 1))[..., 0]
