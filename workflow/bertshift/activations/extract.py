"""From stimuli to an activation file: one forward pass an example, without padding and without
dropout."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Literal

import numpy as np
import torch

from bertshift.activations.sampling import is_special_or_first
from bertshift.activations.store import KEPT, Writer, writing
from bertshift.errors import UserError
from bertshift.models.family import longest_input
from bertshift.models.layers import read, visit
from bertshift.models.tokenizer import (
    layout_of,
    longest_first,
    spans,
    special_tokens,
    unknown_token,
    word_pieces,
    written_out,
)
from bertshift.running.memory import in_parts
from bertshift.running.progress import Lines

# Rows tokenised at a time: as Python objects, tokens take a hundred times their final size.
ROWS = 256

BATCH_TOKENS = 2048


def encode(tokenizer, rows: Sequence[dict], max_length: int) -> dict[str, np.ndarray]:
    """Tokenise stimuli into the index members of an activation file (see `store`), real tokens
    only.

    A span of characters is a word piece's in its text, or its entire word's in the words with one
    space between them.

    rows: {"id", "text_a", optional "text_b"}, or {"id", "words"}, which are tokenised word by word
        and have members with the positions of words
    max_length: tokens of an input; longer inputs are cut as for training

    UserError where there are no rows.
    """
    if not rows:
        raise UserError(
            "There are no stimuli to extract from: check the stimuli's source and number."
        )
    _warn_of_special_tokens(tokenizer, rows)
    has_words = "words" in rows[0]
    tokenise = _tokenise_words if has_words else _tokenise_texts
    blocks = [
        tokenise(tokenizer, rows[first : first + ROWS], max_length)
        for first in range(0, len(rows), ROWS)
    ]
    tokens, lengths, *words = [np.concatenate(arrays) for arrays in zip(*blocks, strict=True)]
    token_ids, special, char_start, char_end, segment = tokens.T
    index = {
        "token_ids": token_ids.astype(np.int32),
        "special": special.astype(bool),
        "char_start": char_start.astype(np.int32),
        "char_end": char_end.astype(np.int32),
        "segment": segment.astype(np.uint8),
        "example_offsets": np.append(0, np.cumsum(lengths)),
        "map_offsets": np.append(0, np.cumsum(lengths**2)),
        "example_ids": np.array([str(row["id"]) for row in rows]),
    }
    if has_words:
        counts, first, last = words
        index["word_offsets"] = np.append(0, np.cumsum(counts))
        index["word_first"] = first.astype(np.int32)
        index["word_last"] = last.astype(np.int32)
    return index


def _warn_of_special_tokens(tokenizer, rows: Sequence[dict]) -> None:
    texts = []
    for row in rows:
        parts = [*row.get("words", ()), row.get("text_a") or "", row.get("text_b") or ""]
        texts.append(" ".join(parts))
    for token, count in written_out(tokenizer, texts).items():
        warnings.warn(
            f"{count} of {len(texts)} texts have {token} written out; it is not read as this"
            " token.",
            stacklevel=2,
        )


def _tokenise_texts(
    tokenizer, rows: Sequence[dict], max_length: int
) -> tuple[np.ndarray, np.ndarray]:
    """Tokenise texts: one row a token (id, special, first character, end, segment); and the
    examples' lengths."""
    firsts = spans(tokenizer, [row["text_a"] for row in rows])
    seconds = spans(tokenizer, [row.get("text_b") or "" for row in rows])
    tokens, lengths = [], []
    for row, first, second in zip(rows, firsts, seconds, strict=True):
        is_pair = row.get("text_b") is not None
        room = max_length - special_tokens(tokenizer, is_pair)
        first_length, second_length = longest_first(len(first), len(second), room)
        texts = [first[:first_length]]
        if is_pair:
            texts.append(second[:second_length])
        example = _build_example(tokenizer, texts)
        tokens += example
        lengths.append(len(example))
    return np.array(tokens, np.int32), np.array(lengths, np.int64)


def _build_example(
    tokenizer, texts: Sequence[Sequence[tuple[int, int, int]]]
) -> list[tuple[int, bool, int, int, int]]:
    """Build the input of one text or two from their pieces (id, first character, end); rows are as
    of `_tokenise_texts`."""
    layout = layout_of(tokenizer)
    before, *after = layout.two if len(texts) == 2 else layout.one
    example = [(token, True, 0, 0, 0) for token in before]
    for segment, (text, special) in enumerate(zip(texts, after, strict=True)):
        example += [(token, False, start, end, segment) for token, start, end in text]
        example += [(token, True, 0, 0, segment) for token in special]
    return example or [(unknown_token(tokenizer), False, 0, 0, 0)]


def _tokenise_words(tokenizer, rows: Sequence[dict], max_length: int) -> tuple[np.ndarray, ...]:
    """Tokenise rows of words: the tokens and lengths of `_tokenise_texts`, the number of each
    example's words, and each word's first and last token (-1: cut off)."""
    tokens, lengths, counts, first, last = [], [], [], [], []
    before, after = layout_of(tokenizer).one
    all_pieces = word_pieces(tokenizer, [row["words"] for row in rows])
    for row, pieces in zip(rows, all_pieces, strict=True):
        text, character = [], 0
        for word, ids in zip(row["words"], pieces, strict=True):
            start = len(before) + len(text)
            end = start + len(ids)
            is_inside = end + len(after) <= max_length
            first.append(start if is_inside else -1)
            last.append(end - 1 if is_inside else -1)
            text += [(piece, character, character + len(word)) for piece in ids]
            character += len(word) + 1
        room = max_length - len(before) - len(after)
        example = _build_example(tokenizer, [text[:room]])
        tokens += example
        lengths.append(len(example))
        counts.append(len(row["words"]))
    return tuple(np.array(values, np.int64) for values in (tokens, lengths, counts, first, last))


def extract(
    model,
    tokenizer,
    rows: Sequence[dict],
    out_path,
    max_length: int,
    attention: bool,
    batch_tokens: int = BATCH_TOKENS,
    dtype: Literal["float32", "float16"] = "float32",
    tokens: Callable[[np.ndarray], np.ndarray] | None = None,
) -> None:
    """Write the hidden states and, if asked, the attention maps of a model for `rows` to the NPZ
    `out_path`.

    The model runs in evaluation mode and float32. Kovaleva et al. 2019 (section 4.3), Hao et al.
    2020 (3, 4) and Merchant et al. 2020 (5.1) compare these states and maps. The last states are
    those before a final norm, which decoders and ModernBERT have: so they compare with the others.

    max_length: tokens of an input, as in `encode`
    attention: whether maps are stored
    batch_tokens: tokens of a batch. Its examples have one length, so nothing is padded and masked;
        memory holds one batch, whatever the number of rows
    dtype: the type of stored hidden states; float16 is for probes (see `store`)
    tokens: a function from the marks of first and special tokens, [N] bool, to the positions,
        rising, whose hidden states are stored; else all

    UserError where max_length is beyond the model's positions, or a hidden state is not finite or
    beyond float16.
    """
    model = _prepare_model(model, max_length)
    index = encode(tokenizer, rows, max_length)
    if tokens:
        index[KEPT] = tokens(is_special_or_first(index["special"], index["example_offsets"]))
    layers = model.config.num_hidden_layers
    width = model.config.hidden_size
    heads = model.config.num_attention_heads if attention else 0
    batches = equal_lengths(np.diff(index["example_offsets"]), batch_tokens)
    done, progress = 0, Lines()
    with writing(out_path, index, layers, width, heads, dtype) as writer:
        write_batch = partial(
            _write_batch, model, index, writer=writer, attention=attention, file=str(out_path)
        )
        for batch, _ in in_parts(batches, write_batch, str(out_path)):
            done += len(batch)
            progress.tell(f"{out_path}: {done} of {len(rows)} inputs")


def _write_batch(
    model, index, batch: list[int], writer: Writer, attention: bool, file: str
) -> None:
    """Write a layer's states and maps as soon as they are computed, so that memory holds one
    layer's."""

    def write(put: Callable, layer: int, arrays: torch.Tensor) -> None:
        for example, values in zip(batch, arrays.cpu().numpy(), strict=True):
            put(layer, example, values)

    def write_states(layer: int, states: torch.Tensor) -> None:
        if not states.isfinite().all():
            raise UserError(
                f"{file}: hidden states of layer {layer} are not finite; name another checkpoint."
            )
        write(writer.hidden, layer, states)

    write_maps = partial(write, writer.attention)
    with torch.inference_mode():
        inputs = _batch_inputs(model, index, batch)
        visit(model, write_states, write_maps if attention else None, **inputs)


def _batch_inputs(model, index, batch: list[int]) -> dict[str, torch.Tensor]:
    positions = token_positions(index["example_offsets"], batch)
    ids = index["token_ids"][positions]
    segments = index["segment"][positions]
    return model_inputs(model.device, input_ids=ids, token_type_ids=segments)


def unpadded_attention(
    model, tokenizer, rows: Sequence[dict], max_length: int, batch_tokens: int = BATCH_TOKENS
) -> Iterator[tuple[list[int], dict[str, np.ndarray], torch.Tensor]]:
    """Yield, batch by batch, (numbers of its rows, the index of `encode`,
    [batch, layers, heads, length, length]).

    As `extract`, for callers that read each map once: nothing is stored. Raises as `extract` does.
    """
    model = _prepare_model(model, max_length)
    index = encode(tokenizer, rows, max_length)

    @torch.inference_mode()
    def batch_maps(batch: list[int]) -> torch.Tensor:
        _, maps = read(model, True, **_batch_inputs(model, index, batch))
        return torch.stack(maps, dim=1)

    batches = equal_lengths(np.diff(index["example_offsets"]), batch_tokens)
    for batch, maps in in_parts(batches, batch_maps, "attention maps"):
        yield batch, index, maps


def padded_attention(
    model, tokenizer, rows: Sequence[dict], pad_to: int, batch_size: int = 8
) -> Iterator[tuple[torch.Tensor, ...]]:
    """Yield, batch by batch, each layer's [batch, heads, pad_to, pad_to] maps of inputs padded to
    `pad_to`.

    The rows of padded queries are there as the model computes them: a softmax over the real keys.
    A set of these maps would fill a disk, so they are never stored.
    """
    model = _prepare_model(model, pad_to)
    index = encode(tokenizer, rows, pad_to)
    starts = index["example_offsets"][:-1]
    ends = index["example_offsets"][1:]
    for first in range(0, len(rows), batch_size):
        batch = slice(first, first + batch_size)
        positions = starts[batch, None] + np.arange(pad_to)
        is_real = positions < ends[batch, None]
        positions = np.where(is_real, positions, 0)
        inputs = model_inputs(
            model.device,
            input_ids=np.where(is_real, index["token_ids"][positions], tokenizer.pad_token_id),
            token_type_ids=np.where(is_real, index["segment"][positions], 0),
            attention_mask=is_real,
        )
        with torch.inference_mode():
            _, maps = read(model, True, **inputs)
        yield maps


def token_positions(offsets: np.ndarray, batch: Sequence[int]) -> np.ndarray:
    """Compute the positions [examples, tokens] of examples of one length, given where each example
    begins."""
    first = batch[0]
    length = offsets[first + 1] - offsets[first]
    return offsets[batch][:, None] + np.arange(length)


def model_inputs(device: torch.device, **values: np.ndarray) -> dict[str, torch.Tensor]:
    """Move arrays of whole numbers to `device` as a model's inputs."""
    return {
        name: torch.from_numpy(array.astype(np.int64)).to(device) for name, array in values.items()
    }


def _prepare_model(model, max_length: int):
    positions = longest_input(model)
    if max_length > positions:
        raise UserError(
            f"max_length {max_length} is beyond the model's {positions} positions: write a smaller"
            " max_length for these stimuli."
        )
    return model.eval().float().to("cuda" if torch.cuda.is_available() else "cpu")


def equal_lengths(lengths: np.ndarray, batch_tokens: int = BATCH_TOKENS) -> Iterator[list[int]]:
    """Yield batches of examples of one length, longest first: inputs that do not fit in memory
    fail at once."""
    order = np.argsort(-lengths, kind="stable").tolist()
    for length, group in groupby(order, key=lengths.__getitem__):
        examples = list(group)
        size = max(1, batch_tokens // int(length))
        for first in range(0, len(examples), size):
            yield examples[first : first + size]
