"""The texts that two models are compared on."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerBase

from bertshift.activations.extract import encode
from bertshift.data.text_file import is_text
from bertshift.errors import UserError
from bertshift.models.tokenizer import special_tokens


def rows_of(texts: Any, columns: str | Sequence[str] | None = None) -> list[dict]:
    """Make stimuli of strings and pairs of strings, or of one or two columns of a table.

    A table is a mapping of columns, a DataFrame, a data set of the hub, or mappings row by row.
    UserError for no text, an empty one, what is neither, and a table whose columns are not named.
    """
    if isinstance(texts, (str, bytes)):
        raise UserError("texts is one string; give a list of strings, or of pairs of strings.")
    if columns is not None:
        names = [columns] if isinstance(columns, str) else list(columns)
        texts = _columns(texts, names)
    elif names := _column_names(texts):
        raise _unnamed(names)
    found = [_row(number, text) for number, text in enumerate(_listed(texts), 1)]
    if not found:
        raise UserError("texts is empty; give some sentences, such as 300, or pairs of them.")
    return found


def _listed(texts: Any) -> list:
    try:
        return list(texts)
    except TypeError:
        raise UserError(
            f"texts is of type {type(texts).__name__}; give a list of strings, or of pairs."
        ) from None


def _row(number: int, text: Any) -> dict:
    if isinstance(text, Mapping):
        raise _unnamed(text)
    # A list may hold the words of one text, so that only a tuple is a pair.
    parts = text if isinstance(text, tuple) and len(text) == 2 else (text,)
    if not all(isinstance(part, str) for part in parts):
        raise UserError(
            f"text {number} is {type(text).__name__} {text!r:.40}; give a string, or a tuple of"
            " two strings."
        )
    if not all(map(is_text, parts)):
        raise UserError(
            f"text {number} has half of a character (a lone surrogate); write the whole character."
        )
    if not all(part.strip() for part in parts):
        raise UserError(f"text {number} is empty; leave it out.")
    return {"id": str(number), **dict(zip(("text_a", "text_b"), parts))}


def _unnamed(columns: Iterable) -> UserError:
    names = ", ".join(map(str, columns))
    return UserError(
        f"texts has columns {names}; write columns= with the name of one, or of the two of a pair."
    )


def _column_names(texts: Any) -> list | None:
    """List the columns of a table; None for what has none."""
    if isinstance(texts, Mapping):
        return list(texts)
    names = getattr(texts, "column_names", None)  # of the hub's data sets
    if names is None:
        names = getattr(texts, "columns", None)
    return None if names is None else list(names)


def _columns(texts: Any, names: Sequence[str]) -> list:
    """Read one column as texts, or two as pairs."""
    if len(names) not in (1, 2):
        raise UserError(
            f"columns names {len(names)} columns; write the name of one, or of the two of a pair."
        )
    known = _column_names(texts)
    if known is None:
        texts = _by_column(_listed(texts))
        known = list(texts)
    for name in names:
        if name not in known:
            raise UserError(
                f"texts has no column {name!r}, only {', '.join(map(str, known))}; correct"
                " columns=."
            )
        if isinstance(texts[name], (str, bytes)):
            raise UserError(
                f"column {name!r} of texts is one string; give a table with many rows."
            )
    found = [_listed(texts[name]) for name in names]
    if len({*map(len, found)}) > 1:
        raise UserError(
            f"the columns of texts have {len(found[0])} and {len(found[1])} rows; give as many of"
            " both."
        )
    return found[0] if len(found) == 1 else list(zip(*found, strict=True))


def _by_column(rows: list) -> dict[str, list]:
    if not (rows and all(isinstance(row, Mapping) for row in rows)):
        raise UserError("texts has no columns; leave columns= out, or give a table.")
    return {name: [row.get(name) for row in rows] for name in rows[0]}


def tokens_of(tokenizer: PreTrainedTokenizerBase, rows: Sequence[dict]) -> dict[str, np.ndarray]:
    """Cut the texts, however long: the tokens' spelling, and where each text begins."""
    index = encode(tokenizer, rows, sys.maxsize)
    kinds, places = np.unique(index["token_ids"], return_inverse=True)
    return {
        "tokens": np.array(tokenizer.convert_ids_to_tokens(kinds.tolist()))[places],
        "ids": index["token_ids"],
        "offsets": index["example_offsets"],
    }


def check_count(key: str, value: Any, least: int) -> None:
    """Raise UserError for what is no whole number from `least` on."""
    if not (isinstance(value, Integral) and value >= least):
        raise UserError(f"{key} is {value!r}; write {least} or more, as a whole number.")


def check_cut(
    max_length: int, tokenizer: PreTrainedTokenizerBase, rows: Sequence[dict], room: int, name: str
) -> None:
    """Raise UserError where a text that is cut to `max_length` tokens has none but special ones,
    or more than the model has room for."""
    pair = any("text_b" in row for row in rows)
    special = special_tokens(tokenizer, pair)
    least = special + (2 if pair else 1)
    if not least <= max_length <= room:
        raise UserError(
            f"max_length is {max_length}, and {name} reads {room} tokens, {special} special ones"
            f" among them; write {least} to {room}."
        )


def check_lengths(offsets: np.ndarray, room: int, name: str) -> None:
    """Raise UserError for a text that has more tokens than the model has room for."""
    lengths = np.diff(offsets)
    if (long := lengths > room).any():
        first = int(np.argmax(long))
        raise UserError(
            f"text {first + 1} has {lengths[first]} tokens, more than the {room} that {name}"
            f" reads, and {long.sum()} of {len(lengths)} texts are too long; shorten them, or"
            f" write max_length={room} to cut them there."
        )


def check_same(ours: dict, theirs: dict, name: str, other: str) -> None:
    """Raise UserError where two tokenizers cut the texts differently."""
    if not all(np.array_equal(ours[key], theirs[key]) for key in ours):
        raise UserError(
            f"{name} and {other} cut the texts differently ({len(ours['ids'])} and"
            f" {len(theirs['ids'])} tokens): their tokenizers are not the same, so no token of one"
            " has its like in the other; compare models of one vocabulary."
        )
