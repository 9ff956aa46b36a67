"""The texts that two models are compared on."""

import sys
from collections.abc import Sequence

import numpy as np
from transformers import PreTrainedTokenizerBase

from bertshift.activations.extract import encode
from bertshift.errors import UserError


def rows_of(texts: Sequence) -> list[dict]:
    """Make stimuli of strings and pairs of strings. UserError for no text, an empty one, and what is neither."""
    if isinstance(texts, (str, bytes)):
        raise UserError("texts is one string; give a list of strings, or of pairs of strings.")
    try:
        found = [_row(number, text) for number, text in enumerate(texts, 1)]
    except TypeError:
        raise UserError(
            f"texts is of type {type(texts).__name__}; give a list of strings, or of pairs."
        ) from None
    if not found:
        raise UserError("texts is empty; give some sentences, such as 300, or pairs of them.")
    return found


def _row(number: int, text) -> dict:
    parts = [text] if isinstance(text, str) else list(text) if isinstance(text, (tuple, list)) else []
    if len(parts) not in (1, 2) or not all(isinstance(part, str) for part in parts):
        raise UserError(
            f"text {number} is {type(text).__name__} {text!r:.40}; give a string or a pair of strings."
        )
    if not all(part.strip() for part in parts):
        raise UserError(f"text {number} is empty; leave it out.")
    return {"id": str(number), **dict(zip(("text_a", "text_b"), parts))}


def tokens_of(tokenizer: PreTrainedTokenizerBase, rows: Sequence[dict]) -> dict[str, np.ndarray]:
    """Cut the texts, however long: the tokens' spelling, and where each text begins."""
    index = encode(tokenizer, rows, sys.maxsize)
    kinds, places = np.unique(index["token_ids"], return_inverse=True)
    return {"tokens": np.array(tokenizer.convert_ids_to_tokens(kinds.tolist()))[places],
            "ids": index["token_ids"], "offsets": index["example_offsets"]}  # fmt: skip


def check_lengths(offsets: np.ndarray, room: int, name: str) -> None:
    """Raise UserError for a text that has more tokens than the model has room for."""
    lengths = np.diff(offsets)
    if (long := lengths > room).any():
        first = int(np.argmax(long))
        raise UserError(
            f"text {first + 1} has {lengths[first]} tokens, more than the {room} that {name} reads, and {long.sum()} of "
            f"{len(lengths)} texts are too long; shorten them, or write max_length={room} to cut them there."
        )


def check_same(ours: dict, theirs: dict, name: str, other: str) -> None:
    """Raise UserError where two tokenizers cut the texts differently."""
    if not all(np.array_equal(ours[key], theirs[key]) for key in ours):
        raise UserError(
            f"{name} and {other} cut the texts differently ({len(ours['ids'])} and {len(theirs['ids'])} tokens): their "
            "tokenizers are not the same, so no token of one has its like in the other; compare models of one vocabulary."
        )
