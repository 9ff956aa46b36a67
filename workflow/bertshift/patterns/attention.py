"""Attention maps of one model, input after input, read once and never stored."""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import Tensor

from bertshift.activations.extract import unpadded_attention
from bertshift.models.family import family_of
from bertshift.models.loading import load_encoder
from bertshift.models.tokenizer import load_tokenizer

PROGRESS_SECONDS = 10


@dataclass(frozen=True)
class Attended:
    """The input `number` of those given: its L tokens, and its maps [layers, heads, L, L] (query,
    key).

    special [L]: special tokens, and the first one, whatever it is; causal: a token sees the tokens
    before it alone.
    """

    number: int
    tokens: list[str]
    special: np.ndarray
    segment: np.ndarray
    maps: Tensor
    causal: bool = False


def attend(folder: Path, rows: Sequence[dict], max_length: int) -> Iterator[Attended]:
    """Yield the maps of every row once, the longest row first. Raises UserError as `extract`
    does."""
    done, shown = 0, time.monotonic()
    model, tokenizer = load_encoder(folder), load_tokenizer(folder)
    for batch, index, maps in unpadded_attention(model, tokenizer, rows, max_length):
        for number, own_maps in zip(batch, maps, strict=True):
            own = slice(*index["example_offsets"][number : number + 2])
            tokens = tokenizer.convert_ids_to_tokens(index["token_ids"][own].tolist())
            special = index["special"][own].copy()
            special[0] = True
            yield Attended(
                number, tokens, special, index["segment"][own], own_maps, family_of(model).causal
            )
        done += len(batch)
        if time.monotonic() - shown > PROGRESS_SECONDS:
            shown = time.monotonic()
            print(f"patterns: {folder}: {done} of {len(rows)} inputs", file=sys.stderr, flush=True)
