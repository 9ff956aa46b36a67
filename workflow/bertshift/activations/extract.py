"""From stimuli to an activation file: one forward pass an example, without padding and without
dropout."""

import sys
import time
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

# Rows tokenised at a time: as Python objects, tokens take a hundred times their final size.
ROWS = 256

BATCH_TOKENS = 2048
PROGRESS_SECONDS = 5


def encode(tokenizer, rows: Sequence[dict], max_length: int) -> dict[str, np.ndarray]:
    """Tokenise stimuli into the index members of an activation file (see `store`), real tokens
    only.

    rows: {"id", "text_a", optional "text_b"}, or {"id", "words"}, which are tokenised word by word
    and have members that say where words are; what is longer than max_length is cut as for
    training. A span of characters is a word piece's in its text, or its whole word's in the words
    with one space between them. Raises UserError where there are no rows.
    """
    if not rows:
        raise UserError(
            "There are no stimuli to extract from: check the stimuli's source and number."
        )
    _warn_of_special_tokens(tokenizer, rows)
    blocks = [rows[first : first + ROWS] for first in range(0, len(rows), ROWS)]
    table = _word_table if "words" in rows[0] else _table
    tokens, lengths, *words = map(
        np.concatenate,
        zip(*(table(tokenizer, block, max_length) for block in blocks), strict=True),
    )
    columns = {
        "token_ids": np.int32,
        "special": bool,
        "char_start": np.int32,
        "char_end": np.int32,
        "segment": np.uint8,
    }
    return {
        **{
            name: tokens[:, column].astype(dtype)
            for column, (name, dtype) in enumerate(columns.items())
        },
        "example_offsets": np.append(0, np.cumsum(lengths)),
        "map_offsets": np.append(0, np.cumsum(lengths**2)),
        "example_ids": np.array([str(row["id"]) for row in rows]),
        **(_word_members(*words) if words else {}),
    }


def _warn_of_special_tokens(tokenizer, rows: Sequence[dict]) -> None:
    texts = [
        " ".join([*row.get("words", ()), row.get("text_a") or "", row.get("text_b") or ""])
        for row in rows
    ]
    for token, count in written_out(tokenizer, texts).items():
        warnings.warn(
            f"{count} of {len(texts)} texts have {token} written out; it is cut like any word.",
            stacklevel=2,
        )


def _word_members(
    counts: np.ndarray, first: np.ndarray, last: np.ndarray
) -> dict[str, np.ndarray]:
    return {
        "word_offsets": np.append(0, np.cumsum(counts)),
        "word_first": first.astype(np.int32),
        "word_last": last.astype(np.int32),
    }


def _table(tokenizer, rows: Sequence[dict], max_length: int) -> tuple[np.ndarray, np.ndarray]:
    """Tokenise texts: one row a token (id, special, first character, end, segment); and the
    examples' lengths."""
    firsts = spans(tokenizer, [row["text_a"] for row in rows])
    seconds = spans(tokenizer, [row.get("text_b") or "" for row in rows])
    tokens, lengths = [], []
    for row, first, second in zip(rows, firsts, seconds, strict=True):
        pair = row.get("text_b") is not None
        keep_first, keep_second = longest_first(
            len(first), len(second), max_length - special_tokens(tokenizer, pair)
        )
        example = _example(tokenizer, first[:keep_first], second[:keep_second] if pair else None)
        tokens += example
        lengths.append(len(example))
    return np.array(tokens, np.int32), np.array(lengths, np.int64)


def _example(
    tokenizer, *texts: Sequence[tuple[int, int, int]] | None
) -> list[tuple[int, bool, int, int, int]]:
    """Build the input of one text or two from their pieces (id, first character, end); rows are as
    of `_table`."""
    texts = [text for text in texts if text is not None]
    before, *after = layout_of(tokenizer).two if len(texts) == 2 else layout_of(tokenizer).one
    example = [(one, True, 0, 0, 0) for one in before]
    for segment, (text, special) in enumerate(zip(texts, after, strict=True)):
        example += [(one, False, first, end, segment) for one, first, end in text]
        example += [(one, True, 0, 0, segment) for one in special]
    return example or [(unknown_token(tokenizer), False, 0, 0, 0)]


def _word_table(tokenizer, rows: Sequence[dict], max_length: int) -> tuple[np.ndarray, ...]:
    """Tokenise rows of words: the rows and lengths of `_table`, how many words each example has,
    and each word's first and last token (-1: cut off)."""
    tokens, lengths, first, last = [], [], [], []
    before, after = map(len, layout_of(tokenizer).one)
    for row, pieces in zip(
        rows, word_pieces(tokenizer, [row["words"] for row in rows]), strict=True
    ):
        text, start = [], 0
        for word, ids in zip(row["words"], pieces, strict=True):
            begin, end = before + len(text), before + len(text) + len(ids)
            inside = end + after <= max_length
            first.append(begin if inside else -1)
            last.append(end - 1 if inside else -1)
            text += [(piece, start, start + len(word)) for piece in ids]
            start += len(word) + 1
        example = _example(tokenizer, text[: max_length - before - after])
        tokens += example
        lengths.append(len(example))
    counts = [len(row["words"]) for row in rows]
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

    Evaluation mode, float32; `dtype` is how the hidden states are stored: float16 is for probes
    (see `store`). tokens: from where first and special tokens are ([N] bool) to the positions,
    rising, whose hidden states are stored; else all. Examples of one length share a batch of up to
    `batch_tokens` tokens, so nothing is padded and masked; memory holds one batch, whatever the
    number of rows. What Kovaleva et al. 2019 (section 4.3), Hao et al. 2020 (3, 4) and Merchant et
    al. 2020 (5.1) compare. The last states are those before a final norm, which decoders and
    ModernBERT have: so they compare with the others. Raises UserError where max_length is beyond
    the model's positions, or a hidden state is not finite or beyond float16.
    """
    model = _evaluating(model, max_length)
    index = encode(tokenizer, rows, max_length)
    if tokens:
        index[KEPT] = tokens(is_special_or_first(index["special"], index["example_offsets"]))
    config, offsets = model.config, index["example_offsets"]
    heads = config.num_attention_heads if attention else 0
    done, shown = 0, time.monotonic()
    with writing(
        out_path, index, config.num_hidden_layers, config.hidden_size, heads, dtype
    ) as writer:
        write = partial(
            _extract_batch, model, index, writer=writer, attention=attention, file=str(out_path)
        )
        for batch, _ in in_parts(
            equal_lengths(np.diff(offsets), batch_tokens), write, str(out_path)
        ):
            done += len(batch)
            if time.monotonic() - shown > PROGRESS_SECONDS:
                shown = time.monotonic()
                print(f"{out_path}: {done} of {len(rows)} inputs", file=sys.stderr, flush=True)


def _extract_batch(
    model, index, batch: list[int], writer: Writer, attention: bool, file: str
) -> None:
    """Write a layer's states and maps as soon as they are known, so that memory holds one
    layer's."""

    def states(layer: int, found: torch.Tensor) -> None:
        if not found.isfinite().all():
            raise UserError(
                f"{file}: hidden states of layer {layer} are not finite; name another checkpoint."
            )
        write(writer.hidden, layer, found)

    def write(put: Callable, layer: int, found: torch.Tensor) -> None:
        for example, values in zip(batch, found.cpu().numpy(), strict=True):
            put(layer, example, values)

    maps = partial(write, writer.attention) if attention else None
    with torch.inference_mode():
        visit(model, states, maps, **_unpadded(model, index, batch))


def _unpadded(model, index, batch: list[int]) -> dict[str, torch.Tensor]:
    at = token_positions(index["example_offsets"], batch)
    return model_inputs(
        model.device, input_ids=index["token_ids"][at], token_type_ids=index["segment"][at]
    )


def unpadded_attention(
    model, tokenizer, rows: Sequence[dict], max_length: int, batch_tokens: int = BATCH_TOKENS
) -> Iterator[tuple[list[int], dict[str, np.ndarray], torch.Tensor]]:
    """Yield, batch by batch, (numbers of its rows, the index of `encode`, [batch, layers, heads,
    length, length]).

    As `extract`, for what reads each map once: nothing is stored. Raises as `extract` does.
    """
    model = _evaluating(model, max_length)
    index = encode(tokenizer, rows, max_length)

    @torch.inference_mode()
    def maps(batch: list[int]) -> torch.Tensor:
        return torch.stack(read(model, True, **_unpadded(model, index, batch))[1], dim=1)

    batches = equal_lengths(np.diff(index["example_offsets"]), batch_tokens)
    for batch, found in in_parts(batches, maps, "attention maps"):
        yield batch, index, found


def padded_attention(
    model, tokenizer, rows: Sequence[dict], pad_to: int, batch_size: int = 8
) -> Iterator[tuple[torch.Tensor, ...]]:
    """Yield, batch by batch, each layer's [batch, heads, pad_to, pad_to] maps of inputs padded to
    `pad_to`.

    The rows of padded queries are there as the model computes them: a softmax over the real keys.
    A whole set of these maps would fill a disk, so they are never stored.
    """
    model = _evaluating(model, pad_to)
    index = encode(tokenizer, rows, pad_to)
    offsets = index["example_offsets"]
    pad_to_row = np.arange(pad_to)
    for first in range(0, len(rows), batch_size):
        starts, ends = (
            offsets[:-1][first : first + batch_size, None],
            offsets[1:][first : first + batch_size, None],
        )
        real = starts + pad_to_row < ends
        positions = np.where(real, starts + pad_to_row, 0)
        inputs = model_inputs(
            model.device,
            input_ids=np.where(real, index["token_ids"][positions], tokenizer.pad_token_id),
            token_type_ids=np.where(real, index["segment"][positions], 0),
            attention_mask=real,
        )
        with torch.inference_mode():
            found = read(model, True, **inputs)[1]
        yield found


def token_positions(offsets: np.ndarray, batch: Sequence[int]) -> np.ndarray:
    """Compute the positions [examples, tokens] of examples of one length, given where each example
    begins."""
    return offsets[batch][:, None] + np.arange(offsets[batch[0] + 1] - offsets[batch[0]])


def model_inputs(device: torch.device, **values: np.ndarray) -> dict[str, torch.Tensor]:
    """Move arrays of whole numbers to `device` as a model's inputs."""
    return {
        name: torch.from_numpy(array.astype(np.int64)).to(device) for name, array in values.items()
    }


def _evaluating(model, max_length: int):
    positions = longest_input(model)
    if max_length > positions:
        raise UserError(
            f"max_length {max_length} is beyond the model's {positions} positions: write a smaller"
            " max_length for these stimuli."
        )
    return model.eval().float().to("cuda" if torch.cuda.is_available() else "cpu")


def equal_lengths(lengths: np.ndarray, batch_tokens: int = BATCH_TOKENS) -> Iterator[list[int]]:
    """Yield batches of examples of one length, longest first: what does not fit in memory fails at
    once."""
    order = np.argsort(-lengths, kind="stable").tolist()
    for length, same in groupby(order, key=lengths.__getitem__):
        examples, size = list(same), max(1, batch_tokens // int(length))
        for first in range(0, len(examples), size):
            yield examples[first : first + size]
