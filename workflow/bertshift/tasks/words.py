"""Tasks with one label for each word of a treebank's sentence."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import NamedTuple

from transformers import PreTrainedTokenizerBase

from bertshift.models.tokenizer import join, layout_of, word_pieces

log = logging.getLogger(__name__)


class EncodedWords(NamedTuple):
    """A sentence as the encoder reads it, up to the last word that fits."""

    input_ids: list[int]
    token_type_ids: list[int]
    starts: list[int]  # position of the first piece of each word that is read
    pieces: list[int]  # number of pieces of each word, read or not


def encode_words(
    rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase, max_length: int
) -> Iterator[EncodedWords]:
    """Encode the words of each row, in at most `max_length` pieces."""
    before, after = map(len, layout_of(tokenizer).one)
    for pieces in word_pieces(tokenizer, [row["words"] for row in rows]):
        counts = [len(ids) for ids in pieces]
        bounds = list(accumulate(counts, initial=before))
        starts, ends = bounds[:-1], bounds[1:]
        read = sum(end <= max_length - after for end in ends)
        input_ids, token_type_ids = join(tokenizer, flatten(pieces[:read]))
        yield EncodedWords(input_ids, token_type_ids, starts[:read], counts)


def warn_of_unknown(
    labels: Sequence[str], known: Iterable[str], kind: str, dataset: str, split: str
) -> None:
    """Log how many of the labels of a split are not known from training; `kind` names labels."""
    if unknown := set(labels).difference(known):
        log.warning(
            "%s: %d of %d words of split %s have %s that split train lacks (%s); none is ever"
            " predicted.",
            dataset,
            sum(label in unknown for label in labels),
            len(labels),
            split,
            kind,
            ", ".join(sorted(unknown)),
        )


def flatten(lists: Iterable[Iterable]) -> list:
    return list(chain.from_iterable(lists))
