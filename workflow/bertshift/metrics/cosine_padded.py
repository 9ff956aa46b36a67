"""Cosine similarity of the attention maps of padded inputs (Kovaleva et al. 2019, figure 5 as it
was published).

Variant "padded" of `cosine`: the authors' notebook flattens maps of inputs padded to 200
positions, rows of padded queries included; those are most of the map and flatter than the rest.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bertshift.activations.extract import encode, padded_attention
from bertshift.errors import UserError
from bertshift.metrics.cosine import quotient
from bertshift.metrics.pairs import frame, head_rows
from bertshift.models.family import longest_input
from bertshift.models.loading import load_encoder
from bertshift.models.tokenizer import load_tokenizer


def compare(
    model,
    reference,
    tokenizer,
    rows: Sequence[dict],
    keys: dict,
    pad_to: int = 200,
    batch_size: int = 8,
) -> pd.DataFrame:
    """Compare two models that run side by side on `rows`, one row for each layer and head (0:
    their mean).

    Sums are in float64; nothing is stored. Raises UserError where layers or heads differ, or
    pad_to is beyond a model's positions.
    """
    shapes = [
        (one.config.num_hidden_layers, one.config.num_attention_heads)
        for one in (model, reference)
    ]
    if shapes[0] != shapes[1]:
        raise UserError(
            f"models of {shapes[0][0]} layers x {shapes[0][1]} heads and of {shapes[1][0]} x"
            f" {shapes[1][1]}: cosine compares head by head. Ask for rsa or svcca instead."
        )
    positions = min(longest_input(one) for one in (model, reference))
    if pad_to > positions:
        raise UserError(
            f"samples.padded_length: {pad_to} is beyond {positions} positions; write at most that."
        )
    batches = [
        [
            quotient(*(product.sum((2, 3)) for product in _products(a, b))).cpu().numpy()
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


def _products(a, b):
    a, b = a.double(), b.double()
    return a * b, a * a, b * b


def compare_saved(
    pairs: Sequence[tuple[str, str, dict]], stimuli: Mapping[str, Sequence[dict]], pad_to: int
) -> pd.DataFrame:
    """Run `compare` for every pair (folder, reference's folder, keys) on the inputs that its key
    `stimuli` names."""
    parts = []
    for number, (folder, reference, keys) in enumerate(pairs, 1):
        print(
            f"cosine, padded: pair {number}/{len(pairs)}: {folder} vs {reference}",
            file=sys.stderr,
            flush=True,
        )
        models = [load_encoder(Path(each)) for each in (folder, reference)]
        tokenizers, rows = (
            [load_tokenizer(Path(each)) for each in (folder, reference)],
            stimuli[keys["stimuli"]],
        )
        ids, others = (encode(tokenizer, rows, pad_to)["token_ids"] for tokenizer in tokenizers)
        if not np.array_equal(ids, others):
            raise UserError(
                f"{folder} and {reference} cut the inputs into other tokens: name a reference with"
                " the model's own tokenizer."
            )
        parts.append(compare(*models, tokenizers[0], rows, keys, pad_to))
    return pd.concat(parts, ignore_index=True)
