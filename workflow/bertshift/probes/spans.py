"""Edge targets: from spans of words in records to batches of the tokens inside those spans.

S is the number of spans of a target (1, or 2: a pair), R the records, T the targets of a split, C
the labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bertshift.activations.store import Activations
from bertshift.errors import UserError

Sentence = tuple[str, ...]


@dataclass(frozen=True)
class WordTargets:
    """The targets of one split, in words.

    sentences [R]: row of each record's sentence among the stimuli; record [T], ascending; start,
    end [S, T]: half-open spans of words; labels [T, C] bool; phrases [T]: the words of all spans
    of a target.
    """

    sentences: np.ndarray
    record: np.ndarray
    start: np.ndarray
    end: np.ndarray
    labels: np.ndarray
    phrases: list[tuple[Sentence, ...]]

    def __len__(self) -> int:
        return len(self.record)


def read_targets(
    records: Sequence[dict],
    spans: int,
    labels: Sequence[str],
    rows: Mapping[Sentence, int],
    where: str,
) -> WordTargets:
    """Check and index records of {"words", "targets": [{"span1", perhaps "span2", "label"}]}.

    labels: the label vocabulary; rows: the stimuli's row of each sentence; where: what an error
    names. Spans may overlap, and a span may have several targets. Raises UserError for a span that
    is empty or outside its sentence, a missing second span, an unknown label, and a sentence that
    is not among the stimuli.
    """
    column = {label: number for number, label in enumerate(labels)}
    names = [f"span{side}" for side in range(1, spans + 1)]
    sentences, record, limits, khot, phrases = [], [], [], [], []
    for number, item in enumerate(records):
        words = tuple(item["words"])
        if words not in rows:
            raise UserError(
                f"{where}, record {number + 1}: its sentence {' '.join(words)[:60]!r} is not among"
                " the stimuli; make the stimuli of the probes again."
            )
        sentences.append(rows[words])
        for target in item["targets"]:
            given = [target.get(name) for name in names]
            if None in given or not all(0 <= start < end <= len(words) for start, end in given):
                raise UserError(
                    f"{where}, record {number + 1}: the target {target} needs"
                    f" {' and '.join(names)} as [start, end) with 0 <= start < end <= {len(words)}"
                    " words."
                )
            said = [target["label"]] if isinstance(target["label"], str) else target["label"]
            if unknown := sorted(set(said) - column.keys()):
                raise UserError(
                    f"{where}, record {number + 1}: label {unknown[0]!r} is not in edges.json;"
                    " convert it again."
                )
            record.append(number)
            limits.append(given)
            khot.append([column[label] for label in said])
            phrases.append(tuple(words[start:end] for start, end in given))
    limits = np.array(limits, np.int64).reshape(-1, spans, 2)
    matrix = np.zeros((len(khot), len(labels)), bool)
    for target, columns in enumerate(khot):
        matrix[target, columns] = True
    return WordTargets(
        np.array(sentences, np.int64),
        np.array(record, np.int64),
        limits[..., 0].T,
        limits[..., 1].T,
        matrix,
        phrases,
    )


@dataclass(frozen=True)
class PieceTargets:
    """The targets of one split, in tokens of an activation file.

    sentence [R]; record [T], ascending; start, end [S, T]: half-open spans of rows of the
    activation file; kept [T]: which of the word targets they are; dropped: how many were outside
    the window.
    """

    sentence: np.ndarray
    record: np.ndarray
    start: np.ndarray
    end: np.ndarray
    kept: np.ndarray
    dropped: int


def align(targets: WordTargets, activations: Activations) -> PieceTargets:
    """Turn spans of words into spans of word pieces, [first piece of the first word, last piece of
    the last word].

    A target with a word that the window (max_length) cut off is dropped, and counted.
    """
    sentence = targets.sentences[targets.record]
    word = activations.word_offsets[sentence]
    first = activations.word_first[word + targets.start]
    last = activations.word_last[word + targets.end - 1]
    kept = np.flatnonzero(((first >= 0) & (last >= 0)).all(axis=0))
    token = activations.offsets[sentence[kept]]
    return PieceTargets(
        targets.sentences,
        targets.record[kept],
        token + first[:, kept],
        token + last[:, kept] + 1,
        kept,
        len(targets) - len(kept),
    )


def ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Concatenate the ranges starts[i] .. starts[i] + lengths[i]."""
    shift = starts - (np.cumsum(lengths) - lengths)
    return np.repeat(shift, lengths) + np.arange(lengths.sum())


@dataclass(frozen=True)
class SpanBatch:
    """Some records: tokens [n] (each once a record), record [T] and targets [T] (numbers within
    the split).

    sides [S]: the tokens that are in a first or in a second span, as indices of `tokens`; None for
    all of them. spans follow target by target, a pair together: members [M] are their tokens, as
    indices of all sides one after the other, and bags [T * S] say where each span begins among
    them.
    """

    tokens: np.ndarray
    record: np.ndarray
    targets: np.ndarray
    sides: list[np.ndarray | None]
    members: np.ndarray
    bags: np.ndarray


class SpanTokens:
    """The tokens inside the target spans of a split, indexed so that a batch costs a few gathers.

    sentence [R], record [T]: as in PieceTargets; tokens: rows of the activation file. A probe
    projects and pools tokens one by one, so that the rest of a sentence never matters to it.
    """

    def __init__(self, targets: PieceTargets):
        records = np.arange(len(targets.sentence) + 1)
        self.sentence, self.record, self.sides = (
            targets.sentence,
            targets.record,
            len(targets.start),
        )
        self._targets = np.searchsorted(targets.record, records)
        self._lengths = (targets.end - targets.start).T  # [T, S]
        sizes = self._lengths.ravel()
        inside = ranges(targets.start.T.ravel(), sizes)
        self._first_member = np.append(0, np.cumsum(self._lengths.sum(1)))[self._targets]

        # A token of two records is in the list twice: records are drawn one by one.
        width = 1 + max(inside, default=0)
        owner = np.repeat(targets.record, self._lengths.sum(1))
        keys, self._members = np.unique(owner * width + inside, return_inverse=True)
        self.tokens = keys % width
        self._first_token = np.searchsorted(keys // width, records)
        # For each side: its tokens, None for all, and where a record's begin.
        self._own = [(None, self._first_token)]
        if self.sides > 1:
            side = np.repeat(np.tile(np.arange(self.sides), len(targets.record)), sizes)
            self._own = [self._only(side == number) for number in range(self.sides)]

    def _only(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Select one side's tokens, and where a record's begin; `members` [M] bool are its own,
        and count its tokens hereafter."""
        tokens, self._members[members] = np.unique(self._members[members], return_inverse=True)
        return tokens, np.searchsorted(tokens, self._first_token)

    def batch(self, records: np.ndarray) -> SpanBatch:
        """Make the batch of these records, in this order; `tokens` are rows of the activation
        file."""
        tokens, token_shift = _taken(self._first_token, records)
        targets, _ = _taken(self._targets, records)
        inside, _ = _taken(self._first_member, records)
        sides, shifts, before = [], [], 0
        for own, starts in self._own:
            chosen, shift = _taken(starts, records)
            shifts.append(shift + before)
            sides.append(
                None
                if own is None
                else own[chosen] + np.repeat(token_shift, _sizes(starts, records))
            )
            before += len(chosen)
        spans = np.repeat(np.stack(shifts, 1), _sizes(self._targets, records), axis=0)
        lengths = self._lengths[targets].ravel()
        return SpanBatch(
            self.tokens[tokens],
            self.record[targets],
            targets,
            sides,
            self._members[inside] + np.repeat(spans.ravel(), lengths),
            np.cumsum(lengths) - lengths,
        )


def _sizes(starts: np.ndarray, records: np.ndarray) -> np.ndarray:
    return starts[records + 1] - starts[records]


def _taken(starts: np.ndarray, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find where the records' items lie, one record after the other, and by how much each record's
    indices shift."""
    sizes = _sizes(starts, records)
    return ranges(starts[records], sizes), np.cumsum(sizes) - sizes - starts[records]
