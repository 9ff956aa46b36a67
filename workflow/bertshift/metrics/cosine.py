"""Cosine similarity of attention maps before and after fine-tuning (Kovaleva et al. 2019, section
4.3, figure 5).

    c(layer, head) = mean over examples x of  cos( vec A_reference(x), vec A_model(x) )

Variant "crop", the text's: maps of the real tokens, length x length; `cosine_padded` has the
published figure's. Variant "matched" compares each head of the model with its partner in the
reference's layer (`matching`).
"""

import numpy as np

from bertshift.activations.store import Maps
from bertshift.metrics.matching import partners, with_partners
from bertshift.metrics.pairs import Pair, attention_maps, frame, head_rows, map_sums
from bertshift.rows.table import Table


def _products(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    p, q = p.astype(np.float64), q.astype(np.float64)
    return np.stack([p * q, p * p, q * q])


def quotient(dot, p_square, q_square):
    """Compute the cosine of two maps from the sums of p * q, p * p and q * q."""
    # Softmax rows sum to 1, so no map is zero.
    return dot / (p_square * q_square) ** 0.5


def per_map(p: Maps, q: Maps) -> np.ndarray:
    """Compute the cosine [n, heads] of each flattened map of one layer with the other model's
    map."""
    sizes = np.repeat(p.lengths, p.heads) ** 2
    dot, p_square, q_square = map_sums(_products, p.flat, q.flat, sizes)
    return quotient(dot, p_square, q_square).reshape(-1, p.heads)


def compare(pairs: list[Pair]) -> Table:
    """Tabulate variants "crop" and "matched", one row for each pair, layer and head (0: their
    mean); sd and n are over examples.

    UserError where tokens, layers or heads of a pair differ.
    """
    rows = []
    for keys, maps, others in attention_maps("cosine", pairs):
        cosines = per_map(maps, others)
        rows += head_rows(cosines, **keys, variant="crop")
        rows += head_rows(matched(maps, others, cosines), **keys, variant="matched")
    return frame(rows)


def matched(p: Maps, q: Maps, cosines: np.ndarray) -> np.ndarray:
    """Compute the cosine, as `per_map` does, of each head's map in p with its partner's in q:
    [n, heads]. cosines: `per_map` of both."""
    return with_partners(per_map, cosines, partners(_distance, p, q), p, q)


def _distance(p: Maps, q: Maps) -> np.ndarray:
    return 1 - per_map(p, q)
