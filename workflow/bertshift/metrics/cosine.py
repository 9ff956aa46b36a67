"""Cosine similarity of attention maps before and after fine-tuning (Kovaleva et al. 2019, section 4.3, figure 5).

    c(layer, head) = mean over examples x of  cos( vec A_reference(x), vec A_model(x) )

Variant "crop", the text's: maps of the real tokens, length x length. Variant "padded", the published figure's: maps of
inputs padded to 200 positions, rows of padded queries included; those are most of the map and flatter than the rest.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bertshift.activations.store import Maps
from bertshift.metrics.pairs import Pair, attention_rows, frame, head_rows, map_sums


def _products(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    p, q = p.astype(np.float64), q.astype(np.float64)
    return np.stack([p * q, p * p, q * q])


def _cosine(dot, p_square, q_square):
    # Softmax rows sum to 1, so no map is zero.
    return dot / (p_square * q_square) ** 0.5


def per_map(p: Maps, q: Maps) -> np.ndarray:
    """[n, heads]: cosine of each flattened map of one layer with the other model's."""
    return _cosine(*map_sums(_products, p.flat, q.flat, np.repeat(p.lengths, p.heads) ** 2)).reshape(
        -1, p.heads
    )


def compare(pairs: list[Pair]) -> pd.DataFrame:
    """Variant "crop": one row a pair, layer and head (0: their mean); sd and n are over examples.

    Raises UserError where tokens, layers or heads of a pair differ.
    """
    return frame(
        row
        for keys, values in attention_rows("cosine", pairs, per_map)
        for row in head_rows(values, **keys, variant="crop")
    )


def compare_padded(
    model, reference, tokenizer, rows: Sequence[dict], keys: dict, pad_to: int = 200, batch_size: int = 8
) -> pd.DataFrame:
    """Variant "padded" of two BertModels (eager attention, one tokenizer) that run side by side on `rows`.

    Sums in float64; nothing is stored. Raises UserError where pad_to is beyond a model's positions.
    """
    # Here, as models take seconds to import and `compare` needs none.
    from bertshift.activations.extract import padded_attention

    batches = [
        [
            _cosine(*(product.sum((2, 3)) for product in _padded_products(a, b))).cpu().numpy()
            for a, b in zip(model_maps, reference_maps, strict=True)
        ]
        for model_maps, reference_maps in zip(
            padded_attention(model, tokenizer, rows, pad_to, batch_size),
            padded_attention(reference, tokenizer, rows, pad_to, batch_size),
            strict=True,
        )
    ]
    layers = [np.concatenate(values) for values in zip(*batches, strict=True)]
    return frame(
        row
        for layer, values in enumerate(layers, 1)
        for row in head_rows(values, **keys, layer=layer, ref_layer=layer, variant="padded")
    )


def _padded_products(a, b):
    a, b = a.double(), b.double()
    return a * b, a * a, b * b
