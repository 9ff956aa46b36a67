"""Attention maps of one model, input after input, read once and never stored."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import Tensor

from bertshift.activations.extract import unpadded_attention
from bertshift.activations.sampling import is_special_or_first
from bertshift.models.family import family_of
from bertshift.models.loading import load_encoder
from bertshift.models.tokenizer import load_tokenizer
from bertshift.running.progress import Lines


@dataclass(frozen=True)
class Attended:
    """The input `number` of those given: its L tokens and its maps.

    special: [L], special tokens, and the first one, whatever it is
    maps: [layers, heads, L, L] (query, key)
    causal: whether a token sees only the tokens before it
    """

    number: int
    tokens: list[str]
    special: np.ndarray
    segment: np.ndarray
    maps: Tensor
    causal: bool


def attend(folder: Path, rows: Sequence[dict], max_length: int) -> Iterator[Attended]:
    """Yield the maps of every row once, the longest row first. UserError as `extract` does."""
    done, progress = 0, Lines()
    model = load_encoder(folder)
    tokenizer = load_tokenizer(folder)
    for batch, index, maps in unpadded_attention(model, tokenizer, rows, max_length):
        special = is_special_or_first(index["special"], index["example_offsets"])
        for number, input_maps in zip(batch, maps, strict=True):
            start, end = index["example_offsets"][number : number + 2]
            yield Attended(
                number=number,
                tokens=tokenizer.convert_ids_to_tokens(index["token_ids"][start:end].tolist()),
                special=special[start:end],
                segment=index["segment"][start:end],
                maps=input_maps,
                causal=family_of(model).causal,
            )
        done += len(batch)
        progress.tell(f"patterns: {folder}: {done} of {len(rows)} inputs")
