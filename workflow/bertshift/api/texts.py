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
    UserError for no text, an empty one, other types, and a table whose columns are not named.
    """
    if isinstance(texts, (str, bytes)):
        raise UserError("texts is one string; give a list of strings, or of pairs of strings.")
    if columns is not None:
        names = [columns] if isinstance(columns, str) else list(columns)
        texts = _read_columns(texts, names)
    elif names := _list_columns(texts):
        raise _missing_columns_error(names)
    rows = [_make_row(number, text) for number, text in enumerate(_to_list(texts), 1)]
    if not rows:
        raise UserError("texts is empty; give some sentences, such as 300, or pairs of them.")
    return rows


def _to_list(texts: Any) -> list:
    try:
        return list(texts)
    except TypeError:
        raise UserError(
            f"texts is of type {type(texts).__name__}; give a list of strings, or of pairs."
        ) from None


def _make_row(number: int, text: Any) -> dict:
    """Make the stimulus of a string or a pair. UserError for another type and an empty text."""
    if isinstance(text, Mapping):
        raise _missing_columns_error(text)
    # Only a tuple is a pair: a list may hold the words of one text.
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


def _missing_columns_error(columns: Iterable) -> UserError:
    names = ", ".join(map(str, columns))
    return UserError(
        f"texts has columns {names}; write columns= with the name of one, or of the two of a pair."
    )


def _list_columns(texts: Any) -> list | None:
    """List the columns of a table; None for other types."""
    if isinstance(texts, Mapping):
        return list(texts)
    names = getattr(texts, "column_names", None)  # of the hub's data sets
    if names is None:
        names = getattr(texts, "columns", None)
    return None if names is None else list(names)


def _read_columns(texts: Any, names: Sequence[str]) -> list:
    """Read one column as texts, or two as pairs."""
    if len(names) not in (1, 2):
        raise UserError(
            f"columns names {len(names)} columns; write the name of one, or of the two of a pair."
        )
    if _list_columns(texts) is None:
        texts = _rows_to_columns(_to_list(texts))
    columns = [_to_list(_read_column(texts, name, "columns=")) for name in names]
    if len(columns) == 1:
        return columns[0]
    first, second = columns
    if len(first) != len(second):
        raise UserError(
            f"the columns of texts have {len(first)} and {len(second)} rows; give as many of both."
        )
    return list(zip(first, second, strict=True))


def _read_column(texts: Any, name: str, option: str) -> Any:
    """Read a column of a table. UserError, which names the option to correct, where there is
    none."""
    existing = _list_columns(texts)
    if name not in existing:
        others = ", ".join(map(str, existing))
        raise UserError(f"texts has no column {name!r}, only {others}; correct {option}.")
    if isinstance(texts[name], (str, bytes)):
        raise UserError(f"column {name!r} of texts is one string; give a table with many rows.")
    return texts[name]


def split_labels(texts: Any, columns: str | Sequence[str] | None, labels: Any) -> tuple[Any, Any]:
    """Return texts and labels, where labels may be the name of a column of the table of texts.
    UserError for a name that the table does not have."""
    if columns is None or not isinstance(labels, str):
        return texts, labels
    if _list_columns(texts) is None:
        texts = _rows_to_columns(_to_list(texts))
    return texts, _to_list(_read_column(texts, labels, "labels="))


def _rows_to_columns(rows: list) -> dict[str, list]:
    if not (rows and all(isinstance(row, Mapping) for row in rows)):
        raise UserError("texts has no columns; leave columns= out, or give a table.")
    return {name: [row.get(name) for row in rows] for name in rows[0]}


def tokens_of(tokenizer: PreTrainedTokenizerBase, rows: Sequence[dict]) -> dict[str, np.ndarray]:
    """Tokenize the texts, whatever their length: the tokens' spelling, and the start of each
    text."""
    index = encode(tokenizer, rows, sys.maxsize)
    types, positions = np.unique(index["token_ids"], return_inverse=True)
    spellings = np.array(tokenizer.convert_ids_to_tokens(types.tolist()))
    return {
        "tokens": spellings[positions],
        "ids": index["token_ids"],
        "offsets": index["example_offsets"],
    }


def check_count(key: str, value: Any, least: int) -> None:
    """Raise UserError for anything but a whole number of at least `least`."""
    if not (isinstance(value, Integral) and value >= least):
        raise UserError(f"{key} is {value!r}; write {least} or more, as a whole number.")


def check_cut(
    max_length: int, tokenizer: PreTrainedTokenizerBase, rows: Sequence[dict], room: int, name: str
) -> None:
    """Raise UserError where a text that is cut to `max_length` tokens has none but special ones,
    or more than the model has room for."""
    has_pairs = any("text_b" in row for row in rows)
    special = special_tokens(tokenizer, has_pairs)
    least = special + (2 if has_pairs else 1)
    if not least <= max_length <= room:
        raise UserError(
            f"max_length is {max_length}, and {name} reads {room} tokens, {special} special ones"
            f" among them; write {least} to {room}."
        )


def check_lengths(offsets: np.ndarray, room: int, name: str) -> None:
    """Raise UserError for a text that has more tokens than the model has room for."""
    lengths = np.diff(offsets)
    is_too_long = lengths > room
    if is_too_long.any():
        first = int(np.argmax(is_too_long))
        raise UserError(
            f"text {first + 1} has {lengths[first]} tokens, more than the {room} that {name}"
            f" reads, and {is_too_long.sum()} of {len(lengths)} texts are too long; shorten them,"
            f" or write max_length={room} to cut them there."
        )


def are_same(first: dict, second: dict) -> bool:
    """Test whether two tokenizers cut the texts into the same tokens."""
    return all(np.array_equal(first[key], second[key]) for key in first)


def check_whole(max_length: int | None, first_name: str, second_name: str) -> None:
    """Raise UserError where texts would be cut that two tokenizers cut differently."""
    if max_length is not None:
        raise UserError(
            f"{first_name} and {second_name} have tokenizers that cut the texts differently, so"
            f" that {max_length} tokens are not the same words; leave max_length= out, and give"
            " shorter texts."
        )
