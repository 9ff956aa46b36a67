"""Cosine similarity of the attention maps of padded inputs (Kovaleva et al. 2019, figure 5 as it
was published).

Variant "padded" of `cosine`: the authors' notebook flattens maps of inputs padded to 200
positions, rows of padded queries included; those are most of the map and flatter than the rest.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from torch import Tensor

from bertshift.activations.extract import encode, padded_attention
from bertshift.errors import UserError
from bertshift.metrics.cosine import quotient
from bertshift.metrics.pairs import frame, head_rows
from bertshift.models.family import longest_input
from bertshift.models.loading import load_encoder
from bertshift.models.tokenizer import load_tokenizer
from bertshift.rows.table import Table, concat


def compare(
    model,
    reference,
    tokenizer,
    rows: Sequence[dict],
    keys: dict,
    pad_to: int = 200,
    batch_size: int = 8,
) -> Table:
    """Compare two models that run side by side, one row for each layer and head (0: their mean).
    Sums are in float64; nothing is stored.

    rows: the inputs
    keys: columns that all rows of the table share
    pad_to: positions of a padded input

    UserError where layers or heads differ, or pad_to is beyond a model's positions.
    """
    layers = model.config.num_hidden_layers
    heads = model.config.num_attention_heads
    ref_layers = reference.config.num_hidden_layers
    ref_heads = reference.config.num_attention_heads
    if (layers, heads) != (ref_layers, ref_heads):
        raise UserError(
            f"models of {layers} layers x {heads} heads and of {ref_layers} x"
            f" {ref_heads}: cosine compares head by head. Ask for rsa or svcca instead."
        )
    positions = min(longest_input(model), longest_input(reference))
    if pad_to > positions:
        raise UserError(
            f"samples.padded_length: {pad_to} is beyond {positions} positions; write at most that."
        )
    batches = []
    for model_maps, reference_maps in zip(
        padded_attention(model, tokenizer, rows, pad_to, batch_size),
        padded_attention(reference, tokenizer, rows, pad_to, batch_size),
        strict=True,
    ):
        batches.append(list(map(_cosines, model_maps, reference_maps)))
    table = []
    for layer, values in enumerate(zip(*batches, strict=True), 1):
        layer_keys = {"layer": layer, "ref_layer": layer, "variant": "padded"}
        table += head_rows(np.concatenate(values), **keys, **layer_keys)
    return frame(table)


def _cosines(p: Tensor, q: Tensor) -> np.ndarray:
    """Compute the cosines [n, heads] of one layer's maps [n, heads, length, length]."""
    p, q = p.double(), q.double()
    dot = (p * q).sum((2, 3))
    p_square = (p * p).sum((2, 3))
    q_square = (q * q).sum((2, 3))
    return quotient(dot, p_square, q_square).cpu().numpy()


def compare_saved(
    pairs: Sequence[tuple[str, str, dict]], stimuli: Mapping[str, Sequence[dict]], pad_to: int
) -> Table:
    """Run `compare` for every pair (folder, reference's folder, keys) on the inputs that its key
    `stimuli` names."""
    tables = []
    for number, (folder, reference, keys) in enumerate(pairs, 1):
        print(
            f"cosine, padded: pair {number}/{len(pairs)}: {folder} vs {reference}",
            file=sys.stderr,
            flush=True,
        )
        rows = stimuli[keys["stimuli"]]
        tokenizer = load_tokenizer(Path(folder))
        ids = encode(tokenizer, rows, pad_to)["token_ids"]
        reference_ids = encode(load_tokenizer(Path(reference)), rows, pad_to)["token_ids"]
        if not np.array_equal(ids, reference_ids):
            raise UserError(
                f"{folder} and {reference} cut the inputs into other tokens: name a reference with"
                " the model's own tokenizer."
            )
        model = load_encoder(Path(folder))
        reference_model = load_encoder(Path(reference))
        tables.append(compare(model, reference_model, tokenizer, rows, keys, pad_to))
    return concat(tables)
