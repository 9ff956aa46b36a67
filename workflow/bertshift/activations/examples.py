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

    before, after: model folders of one tokenizer. Where `after` has fewer layers than its parent
    `before`, the parent's lowest are taken. Returns {"causal", "inputs"}. causal: a token sees
    none behind it, and these cells, which do not exist, are 0. Each input has its text (two texts
    on two lines), whether it is cut, its tokens, layers and heads, and the maps "before" and
    "after", as of `packed`. Raises UserError where there are no rows.
    """
    tokenizer, model = load_tokenizer(after), load_encoder(after)
    lengths = np.diff(encode(tokenizer, rows, sys.maxsize)["example_offsets"])
    numbers = chosen(lengths, number, longest)
    rows = [rows[each] for each in numbers]
    index = encode(tokenizer, rows, longest)
    tokens = np.split(index["token_ids"], index["example_offsets"][1:-1])
    changed = _maps(model, tokenizer, rows, longest)
    inputs = []
    for each, old in enumerate(_maps(load_encoder(before), tokenizer, rows, longest)):
        new = changed[each]
        inputs.append(
            {
                "text": "\n".join(filter(None, [rows[each]["text_a"], rows[each].get("text_b")])),
                "cut": bool(lengths[numbers[each]] > longest),
                "tokens": tokenizer.convert_ids_to_tokens(tokens[each].tolist()),
                "layers": len(new),
                "heads": new.shape[1],
                "before": packed(old[: len(new)]),
                "after": packed(new),
            }
        )
    return {"causal": family_of(model).causal, "inputs": inputs}


def chosen(lengths: Sequence[int], number: int, longest: int) -> list[int]:
    """Choose the first inputs of at most `longest` tokens; where these are too few, the shortest
    of the others."""
    return sorted(range(len(lengths)), key=lambda each: max(lengths[each], longest))[:number]


def packed(maps: Tensor) -> str:
    """Encode probabilities p [layers, heads, query, key]: round(255 p) as bytes, by zlib, in
    base64."""
    return b64encode(zlib.compress((255 * maps).round().byte().numpy().tobytes(), 9)).decode()


def _maps(model, tokenizer, rows: Sequence[dict], longest: int) -> list[Tensor]:
    found = {}
    for batch, _, maps in unpadded_attention(model, tokenizer, rows, longest):
        found.update(zip(batch, maps.cpu(), strict=True))
    return [found[each] for each in range(len(rows))]
