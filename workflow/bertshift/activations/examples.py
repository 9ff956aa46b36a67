"""The attention of every head on a few short inputs, before and after fine-tuning: for a page that
shows single maps."""

import sys
import zlib
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from torch import Tensor

from bertshift.activations.extract import encode, unpadded_attention
from bertshift.models.family import family_of
from bertshift.models.loading import load_encoder
from bertshift.models.tokenizer import load_tokenizer


def examples(before: Path, after: Path, rows: Sequence[dict], number: int, longest: int) -> dict:
    """Collect the maps of two models on the `chosen` of `rows`, which are cut to `longest` tokens
    as for training.

    Returns {"causal", "inputs"}. causal: a token sees none behind it, and these cells, which do
    not exist, are 0. Each input has its text (two texts on two lines), whether it is cut, its
    tokens, layers and heads, and the maps "before" and "after", in the form of `packed`.

    before, after: model folders of one tokenizer; where `after` has fewer layers, the lowest of
        its parent `before` are taken
    number: how many inputs are chosen
    longest: tokens of an input

    UserError where there are no rows.
    """
    tokenizer = load_tokenizer(after)
    model = load_encoder(after)
    lengths = np.diff(encode(tokenizer, rows, sys.maxsize)["example_offsets"])
    numbers = chosen(lengths, number, longest)
    rows = [rows[number] for number in numbers]
    index = encode(tokenizer, rows, longest)
    token_ids = np.split(index["token_ids"], index["example_offsets"][1:-1])
    new_maps = _read_maps(model, tokenizer, rows, longest)
    old_maps = _read_maps(load_encoder(before), tokenizer, rows, longest)
    inputs = []
    for row, length, ids, old, new in zip(
        rows, lengths[numbers], token_ids, old_maps, new_maps, strict=True
    ):
        layers, heads = new.shape[:2]
        inputs.append(
            {
                "text": "\n".join(filter(None, [row["text_a"], row.get("text_b")])),
                "cut": bool(length > longest),
                "tokens": tokenizer.convert_ids_to_tokens(ids.tolist()),
                "layers": layers,
                "heads": heads,
                "before": packed(old[:layers]),
                "after": packed(new),
            }
        )
    return {"causal": family_of(model).causal, "inputs": inputs}


def chosen(lengths: Sequence[int], number: int, longest: int) -> list[int]:
    """Choose the first inputs of at most `longest` tokens; where these are too few, the shortest
    of the others."""
    order = sorted(range(len(lengths)), key=lambda example: max(lengths[example], longest))
    return order[:number]


def packed(maps: Tensor) -> str:
    """Encode probabilities p [layers, heads, query, key]: round(255 p) as bytes, by zlib, in
    base64."""
    levels = (255 * maps).round().byte().numpy()
    return b64encode(zlib.compress(levels.tobytes(), 9)).decode()


def _read_maps(model, tokenizer, rows: Sequence[dict], longest: int) -> list[Tensor]:
    maps = {}
    for batch, _, batch_maps in unpadded_attention(model, tokenizer, rows, longest):
        maps.update(zip(batch, batch_maps.cpu(), strict=True))
    return [maps[example] for example in range(len(rows))]
