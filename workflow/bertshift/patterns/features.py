"""The five classes of attention maps (Kovaleva et al. 2019, section 4.1, figures 1 and 2), and a rule that proposes them.

The paper's labels were given by hand to maps that were not published. The rule only proposes; its thresholds were fixed
before any share was seen. Of a map A of L tokens (query, key), special tokens S:

    v   sum of the three largest column means; columns of [SEP] count, so shares of vertical maps and figure 6's weights
        of [SEP] are not independent findings
    d   mean over queries outside S of the weight on the query's own token and its two neighbours
    b   mean over queries outside S of the weight on content of the query's own segment, minus that segment's share of
        all content; 0 for single sentences
"""

import numpy as np
import torch
from torch import Tensor

CLASSES = ("vertical", "diagonal", "vertical_diagonal", "block", "heterogeneous")
FEATURES = ("v", "d", "b")
COLUMNS_COUNTED, BAND = 3, 1
VERTICAL, DIAGONAL, BLOCK, BOTH = 0.6, 0.5, 0.3, 0.3
# Where all tokens are attended to alike, v and d are 3/L: of 10 tokens enough to pass for both. Either must be half as
# much again, which raises the thresholds of inputs below 15 tokens; those of 4 or fewer can only be heterogeneous.
OVER_UNIFORM = 1.5


def features(maps: Tensor, special: np.ndarray, segment: np.ndarray) -> np.ndarray:
    """[..., L, L] maps of one input -> [..., 3] float64 (FEATURES); special, segment [L] tell of its tokens.

    Without content, as of an empty sentence, d and b are 0.
    """
    vertical = maps.mean(-2, dtype=torch.float64).topk(min(COLUMNS_COUNTED, len(special))).values.sum(-1)
    weights, expected = _linear(special, segment)
    weights = torch.from_numpy(weights).to(maps.device)
    linear = torch.einsum("...qk,fqk->...f", maps.double(), weights).cpu().numpy() - expected
    return np.concatenate([vertical.cpu().numpy()[..., None], linear], axis=-1)


def _linear(special: np.ndarray, segment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights [2, L, L] and offsets [2] of d and b, which are linear in the map."""
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


def propose(values: np.ndarray, lengths: np.ndarray | int) -> np.ndarray:
    """[..., 3] features and lengths in tokens -> [...] numbers of CLASSES."""
    v, d, b = np.moveaxis(values, -1, 0)
    floor = OVER_UNIFORM * COLUMNS_COUNTED / np.asarray(lengths)
    both = np.maximum(BOTH, floor)
    conditions = {
        "vertical_diagonal": (v >= both) & (d >= both),
        "vertical": v >= np.maximum(VERTICAL, floor),
        "diagonal": d >= np.maximum(DIAGONAL, floor),
        "block": b >= BLOCK,
    }
    return np.select(
        list(conditions.values()), list(map(CLASSES.index, conditions)), CLASSES.index("heterogeneous")
    )
