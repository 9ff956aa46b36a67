"""Activations of words, for models whose tokenizers cut the texts differently.

A word is what stands between blanks. Its state is the mean over the tokens that share a character
with it, of which a special token has none. Attention is not kept: maps of other tokens have
nothing in common.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from bertshift.activations.store import Activations, writing
from bertshift.errors import UserError

WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Word:
    """A word of a text: `segment` 0 or 1 of a pair, and its first character and end there."""

    text: str
    segment: int
    start: int
    end: int


def words_of(row: Mapping) -> list[Word]:
    """List the words of a text, or of both texts of a pair."""
    parts = [row["text_a"], row.get("text_b") or ""]
    return [
        Word(match[0], segment, *match.span())
        for segment, part in enumerate(parts)
        for match in WORD.finditer(part)
    ]


def write_words(files: Mapping[Path, Path], rows: Sequence[Mapping]) -> None:
    """Write an activation file of words for each of these files, {file: file of words}.

    rows: the texts. Words that have no token in one of the files, as signs that a tokenizer drops,
    are in none of them. UserError for a text without a word in all of them.
    """
    texts = [words_of(row) for row in rows]
    opened = {file: Activations(file) for file in files}
    shares = {
        file: list(shares_of_tokens(activations, texts)) for file, activations in opened.items()
    }
    has_tokens = [
        np.all([matrix.any(axis=1) for matrix in matrices], axis=0)
        for matrices in zip(*shares.values(), strict=True)
    ]
    for number, is_kept in enumerate(has_tokens, 1):
        if not is_kept.any():
            raise UserError(f"text {number} has no word that all models read; leave it out.")
    for file, activations in opened.items():
        _write(files[file], activations, shares[file], texts, has_tokens)


def shares_of_tokens(
    activations: Activations, texts: Sequence[Sequence[Word]]
) -> Iterator[np.ndarray]:
    """Yield each text's shares of its tokens in the mean of each word, [words, tokens]; rows of
    words without a token are 0."""
    starts, ends = activations.char_start, activations.char_end
    for (first, last), words in zip(pairwise(activations.offsets), texts, strict=True):
        tokens = slice(first, last)
        segment = np.array([[word.segment] for word in words])
        start = np.array([[word.start] for word in words])
        end = np.array([[word.end] for word in words])
        is_inside = (starts[tokens] < end) & (ends[tokens] > start)
        is_inside &= (activations.segment[tokens] == segment) & ~activations.special[tokens]
        yield is_inside / np.maximum(is_inside.sum(axis=1, keepdims=True), 1)


def _write(
    path: Path,
    activations: Activations,
    shares: Sequence[np.ndarray],
    texts: Sequence[Sequence[Word]],
    kept: Sequence[np.ndarray],
) -> None:
    words = [
        word
        for words, is_kept in zip(texts, kept, strict=True)
        for word, keeps in zip(words, is_kept, strict=True)
        if keeps
    ]
    _, spelling = np.unique([word.text for word in words], return_inverse=True)
    counts = np.array([is_kept.sum() for is_kept in kept])
    index = {
        "token_ids": spelling.astype(np.int32),
        "special": np.zeros(len(words), bool),
        "char_start": np.array([word.start for word in words], np.int32),
        "char_end": np.array([word.end for word in words], np.int32),
        "segment": np.array([word.segment for word in words], np.uint8),
        "example_offsets": np.append(0, np.cumsum(counts)),
        "map_offsets": np.append(0, np.cumsum(counts**2)),
        "example_ids": activations.ids,
    }
    with writing(path, index, activations.layers, activations.width) as writer:
        for layer in range(activations.layers + 1):
            states = activations.hidden(layer)
            spans = pairwise(activations.offsets)
            for example, ((first, last), share) in enumerate(zip(spans, shares, strict=True)):
                means = share[kept[example]] @ states[first:last].astype(np.float64)
                writer.hidden(layer, example, means)
