"""The five classes of attention maps (Kovaleva et al. 2019, section 4.1, figures 1 and 2), and a
rule that proposes them.

The paper's labels were given by hand to maps that were not published. The rule only proposes; its
thresholds were fixed before any share was seen. Of a map A of L tokens (query, key), S the special
tokens and the first one:

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
VERTICAL, DIAGONAL, BLOCK, BOTH = 0.6, 0.5, 0.3, 0.3
# Where all tokens are attended to alike, v and d are 3/L: of 10 tokens enough to pass for both.
# Either must be half as much again, which raises the thresholds of inputs below 15 tokens; those
# of 4 or fewer can only be heterogeneous. In a decoder, whose tokens see those before them, v and
# d are larger where all that is seen gets alike, and so are the floors.
OVER_UNIFORM = 1.5


def features(maps: Tensor, special: np.ndarray, segment: np.ndarray) -> np.ndarray:
    """Compute FEATURES [..., 3] float64 of maps [..., L, L] of one input; special, segment [L]
    tell of its tokens.

    Without content, as of an empty sentence, d and b are 0.
    """
    vertical = (
        maps.mean(-2, dtype=torch.float64).topk(min(COLUMNS_COUNTED, len(special))).values.sum(-1)
    )
    weights, expected = _linear(special, segment)
    weights = torch.from_numpy(weights).to(maps.device)
    linear = torch.einsum("...qk,fqk->...f", maps.double(), weights).cpu().numpy() - expected
    return np.concatenate([vertical.cpu().numpy()[..., None], linear], axis=-1)


def _linear(special: np.ndarray, segment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the weights [2, L, L] and offsets [2] of d and b, which are linear in the map."""
    content = ~special
    queries = content / max(content.sum(), 1)
    position = np.arange(len(special))
    band = abs(position[:, None] - position) <= BAND
    weights, expected = np.stack([queries[:, None] * band, np.zeros_like(band)]), np.zeros(2)
    if len(np.unique(segment[content])) > 1:
        own = (segment[:, None] == segment) & content
        weights[1] = queries[:, None] * own
        expected[1] = queries @ own.sum(1) / content.sum()
    return weights, expected


def propose(
    values: np.ndarray, lengths: np.ndarray | int, causal: np.ndarray | bool = False
) -> np.ndarray:
    """Propose the classes of maps, numbers [...] of CLASSES, from features [..., 3], lengths in
    tokens, and whether tokens see those before them alone."""
    v, d, b = np.moveaxis(values, -1, 0)
    columns, band = _floors(np.asarray(lengths), causal)
    conditions = {
        "vertical_diagonal": (v >= np.maximum(BOTH, columns)) & (d >= np.maximum(BOTH, band)),
        "vertical": v >= np.maximum(VERTICAL, columns),
        "diagonal": d >= np.maximum(DIAGONAL, band),
        "block": b >= BLOCK,
    }
    return np.select(
        list(conditions.values()),
        list(map(CLASSES.index, conditions)),
        CLASSES.index("heterogeneous"),
    )


def _floors(lengths: np.ndarray, causal: np.ndarray | bool) -> tuple[np.ndarray, np.ndarray]:
    """Compute OVER_UNIFORM times v and d of maps whose queries attend alike to all that they may
    see.

    Query i of a decoder gives 1/i to each of i tokens, so that column j has the mean (1/j + ... +
    1/L) / L.
    """
    harmonic = np.append(0, np.cumsum(1 / np.arange(1, lengths.max() + 1)))[lengths]
    columns = np.where(lengths < COLUMNS_COUNTED, 1, (3 * harmonic - 2.5) / lengths)
    band = 2 * (harmonic - 1) / np.maximum(lengths - 1, 1)
    alike = OVER_UNIFORM * COLUMNS_COUNTED / lengths
    return np.where(causal, OVER_UNIFORM * columns, alike), np.where(
        causal, OVER_UNIFORM * band, alike
    )
