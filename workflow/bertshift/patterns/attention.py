"""Attention maps of one model, input after input, read once and never stored."""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import Tensor

from bertshift.activations.extract import unpadded_attention
from bertshift.models.loading import load_encoder, load_tokenizer

PROGRESS_SECONDS = 10


@dataclass(frozen=True)
class Attended:
    """The input `number` of those given: its L tokens, and its maps [layers, heads, L, L] (query, key)."""

    number: int
    tokens: list[str]
    special: np.ndarray
    segment: np.ndarray
    maps: Tensor


def attend(folder: Path, rows: Sequence[dict], max_length: int) -> Iterator[Attended]:
    """Every row once, the longest first. Raises UserError as `extract` does."""
    done, shown = 0, time.monotonic()
    model, tokenizer = load_encoder(folder, attention="eager"), load_tokenizer(folder)
    for batch, index, maps in unpadded_attention(model, tokenizer, rows, max_length):
        for number, own_maps in zip(batch, maps, strict=True):
            own = slice(*index["example_offsets"][number : number + 2])
            tokens = tokenizer.convert_ids_to_tokens(index["token_ids"][own].tolist())
            yield Attended(number, tokens, index["special"][own], index["segment"][own], own_maps)
        done += len(batch)
        if time.monotonic() - shown > PROGRESS_SECONDS:
            shown = time.monotonic()
            print(f"patterns: {folder}: {done} of {len(rows)} inputs", file=sys.stderr, flush=True)
