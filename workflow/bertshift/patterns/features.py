"""The five classes of attention maps (Kovaleva et al. 2019, section 4.1, figures 1 and 2), and a
rule that proposes them.

The paper's labels were given by hand to maps that were not published. The rule only proposes; its
thresholds were fixed before any share was seen. For a map A of L tokens (query, key), with S the
special tokens and the first one:

    v   sum of the three largest column means; columns of separators count, so shares of vertical
        maps and figure 6's weights of separators are not independent findings
    d   mean over queries outside S of the weight on the query's own token and its two neighbours
    b   mean over queries outside S of the weight on content of the query's own segment, minus
        that segment's share of all content; 0 for single sentences
"""

import numpy as np
import torch
from torch import Tensor

from bertshift.patterns.classes import CLASSES

COLUMNS_COUNTED, BAND = 3, 1
# Thresholds of v, d and b; the last one is for v and d in vertical_diagonal maps.
VERTICAL, DIAGONAL, BLOCK, BOTH = 0.6, 0.5, 0.3, 0.3
# Uniform attention gives v and d of 3/L, which would make maps of 10 tokens vertical and diagonal.
# Either must be half as much again, which raises the thresholds of inputs below 15 tokens; those
# of 4 or fewer can only be heterogeneous. In a decoder, whose tokens see those before them, v and
# d of uniform attention are larger, and so are the floors.
OVER_UNIFORM = 1.5


def features(maps: Tensor, special: np.ndarray, segment: np.ndarray) -> np.ndarray:
    """Compute FEATURES [..., 3] float64 of the maps of one input.

    Without content tokens d and b are 0; an empty sentence has none.

    maps: [..., L, L]
    special, segment: [L], of the tokens
    """
    column_means = maps.mean(-2, dtype=torch.float64)
    count = min(COLUMNS_COUNTED, len(special))
    v = column_means.topk(count).values.sum(-1).cpu().numpy()
    weights, offsets = _linear_weights(special, segment)
    weights = torch.from_numpy(weights).to(maps.device)
    sums = torch.einsum("...qk,fqk->...f", maps.double(), weights)
    d_and_b = sums.cpu().numpy() - offsets
    return np.concatenate([v[..., None], d_and_b], axis=-1)


def _linear_weights(special: np.ndarray, segment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the weights [2, L, L] and offsets [2] of d and b, which are linear in the map."""
    content = ~special
    queries = content / max(content.sum(), 1)
    position = np.arange(len(special))
    in_band = abs(position[:, None] - position) <= BAND
    weights = np.zeros((2, *in_band.shape))
    offsets = np.zeros(2)
    weights[0] = queries[:, None] * in_band
    if len(np.unique(segment[content])) > 1:
        same_segment = (segment[:, None] == segment) & content
        weights[1] = queries[:, None] * same_segment
        offsets[1] = queries @ same_segment.sum(1) / content.sum()
    return weights, offsets


def propose(
    values: np.ndarray, lengths: np.ndarray | int, causal: np.ndarray | bool = False
) -> np.ndarray:
    """Propose the classes of maps, numbers [...] of CLASSES, from features [..., 3], lengths in
    tokens, and whether tokens see only those before them."""
    v, d, b = np.moveaxis(values, -1, 0)
    v_floor, d_floor = _floors(np.asarray(lengths), causal)
    conditions = {
        "vertical_diagonal": (v >= np.maximum(BOTH, v_floor)) & (d >= np.maximum(BOTH, d_floor)),
        "vertical": v >= np.maximum(VERTICAL, v_floor),
        "diagonal": d >= np.maximum(DIAGONAL, d_floor),
        "block": b >= BLOCK,
    }
    numbers = [CLASSES.index(name) for name in conditions]
    return np.select(list(conditions.values()), numbers, CLASSES.index("heterogeneous"))


def _floors(lengths: np.ndarray, causal: np.ndarray | bool) -> tuple[np.ndarray, np.ndarray]:
    """Compute OVER_UNIFORM times v and d of maps whose queries attend uniformly to all tokens that
    they may see.

    Query i of a decoder gives 1/i to each of i tokens, so that column j has the mean
    (1/j + ... + 1/L) / L.
    """
    reciprocals = 1 / np.arange(1, lengths.max() + 1)
    harmonic = np.append(0, np.cumsum(reciprocals))[lengths]
    causal_v = np.where(lengths < COLUMNS_COUNTED, 1, (3 * harmonic - 2.5) / lengths)
    causal_d = 2 * (harmonic - 1) / np.maximum(lengths - 1, 1)
    uniform = OVER_UNIFORM * COLUMNS_COUNTED / lengths
    v_floor = np.where(causal, OVER_UNIFORM * causal_v, uniform)
    d_floor = np.where(causal, OVER_UNIFORM * causal_d, uniform)
    return v_floor, d_floor
