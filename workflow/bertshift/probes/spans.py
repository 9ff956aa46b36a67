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

    sentences: [R], row of each record's sentence among the stimuli
    record: [T], ascending
    start, end: [S, T], half-open spans of words
    labels: [T, C] bool
    phrases: [T], the words of all spans of a target
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

    Spans may overlap, and a span may have several targets.

    labels: the label vocabulary
    rows: the stimuli's row of each sentence
    where: what an error names

    UserError for a span that is empty or outside its sentence, a missing second span, an unknown
    label, and a sentence that is not among the stimuli.
    """
    column = {label: number for number, label in enumerate(labels)}
    names = [f"span{side}" for side in range(1, spans + 1)]
    sentences, record_numbers, bounds, label_columns, phrases = [], [], [], [], []
    for number, record in enumerate(records):
        words = tuple(record["words"])
        if words not in rows:
            raise UserError(
                f"{where}, record {number + 1}: its sentence {' '.join(words)[:60]!r} is not among"
                " the stimuli; make the stimuli of the probes again."
            )
        sentences.append(rows[words])
        for target in record["targets"]:
            pair = [target.get(name) for name in names]
            if None in pair or not all(0 <= start < end <= len(words) for start, end in pair):
                raise UserError(
                    f"{where}, record {number + 1}: the target {target} needs"
                    f" {' and '.join(names)} as [start, end) with 0 <= start < end <= {len(words)}"
                    " words."
                )
            label = target["label"]
            target_labels = [label] if isinstance(label, str) else label
            if unknown := sorted(set(target_labels) - column.keys()):
                raise UserError(
                    f"{where}, record {number + 1}: label {unknown[0]!r} is not in edges.json;"
                    " convert it again."
                )
            record_numbers.append(number)
            bounds.append(pair)
            label_columns.append([column[label] for label in target_labels])
            phrases.append(tuple(words[start:end] for start, end in pair))
    bounds = np.array(bounds, np.int64).reshape(-1, spans, 2)
    k_hot = np.zeros((len(label_columns), len(labels)), bool)
    for target, columns in enumerate(label_columns):
        k_hot[target, columns] = True
    return WordTargets(
        sentences=np.array(sentences, np.int64),
        record=np.array(record_numbers, np.int64),
        start=bounds[..., 0].T,
        end=bounds[..., 1].T,
        labels=k_hot,
        phrases=phrases,
    )


@dataclass(frozen=True)
class PieceTargets:
    """The targets of one split, in tokens of an activation file.

    sentence: [R]
    record: [T], ascending
    start, end: [S, T], half-open spans of rows of the activation file
    inside: [T], which of the word targets they are, as others are outside the window
    dropped: the number of these others
    """

    sentence: np.ndarray
    record: np.ndarray
    start: np.ndarray
    end: np.ndarray
    inside: np.ndarray
    dropped: int


def align(targets: WordTargets, activations: Activations) -> PieceTargets:
    """Turn spans of words into spans of word pieces,
    [first piece of the first word, last piece of the last word].

    A target with a word that the window (max_length) cut off is dropped, and counted.
    """
    sentence = targets.sentences[targets.record]
    word = activations.word_offsets[sentence]
    first = activations.word_first[word + targets.start]
    last = activations.word_last[word + targets.end - 1]
    inside = np.flatnonzero(((first >= 0) & (last >= 0)).all(axis=0))
    token = activations.offsets[sentence[inside]]
    return PieceTargets(
        sentence=targets.sentences,
        record=targets.record[inside],
        start=token + first[:, inside],
        end=token + last[:, inside] + 1,
        inside=inside,
        dropped=len(targets) - len(inside),
    )


def ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Concatenate the ranges starts[i] .. starts[i] + lengths[i]."""
    shift = starts - (np.cumsum(lengths) - lengths)
    return np.repeat(shift, lengths) + np.arange(lengths.sum())


@dataclass(frozen=True)
class SpanBatch:
    """Some records.

    tokens: [n], each once a record
    record, targets: [T], numbers within the split
    sides: [S], the tokens that are in a first or in a second span, as indices of `tokens`; None
        for all of them
    members: [M], the tokens of all spans, ordered by target and then by side, as indices into the
        concatenated sides
    bags: [T * S], the index in `members` where each span begins
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
        self.sentence = targets.sentence
        self.record = targets.record
        self.sides = len(targets.start)
        self._first_target = np.searchsorted(targets.record, records)
        self._lengths = (targets.end - targets.start).T  # [T, S]
        span_lengths = self._lengths.ravel()
        target_lengths = self._lengths.sum(1)
        rows = ranges(targets.start.T.ravel(), span_lengths)
        self._first_member = np.append(0, np.cumsum(target_lengths))[self._first_target]

        # A token of two records is in the list twice: records are drawn one by one.
        record_of_row = np.repeat(targets.record, target_lengths)
        base = 1 + rows.max(initial=0)
        keys, self._members = np.unique(record_of_row * base + rows, return_inverse=True)
        self.tokens = keys % base
        self._first_token = np.searchsorted(keys // base, records)
        # For each side: its tokens (None for all), and where each record's tokens begin.
        self._sides = [(None, self._first_token)]
        if self.sides > 1:
            side = np.repeat(np.tile(np.arange(self.sides), len(targets.record)), span_lengths)
            self._sides = [self._index_side(side == number) for number in range(self.sides)]

    def _index_side(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """List one side's tokens, and find where each record's tokens begin. The side's `members`
        [M] bool become indices of this list."""
        tokens, self._members[members] = np.unique(self._members[members], return_inverse=True)
        return tokens, np.searchsorted(tokens, self._first_token)

    def batch(self, records: np.ndarray) -> SpanBatch:
        """Make the batch of these records, in this order; `tokens` are rows of the activation
        file."""
        tokens, token_shift = _take_records(self._first_token, records)
        targets, _ = _take_records(self._first_target, records)
        members, _ = _take_records(self._first_member, records)
        sides, shifts, tokens_before = [], [], 0
        for side_tokens, starts in self._sides:
            taken, shift = _take_records(starts, records)
            shifts.append(shift + tokens_before)
            tokens_before += len(taken)
            if side_tokens is None:
                sides.append(None)
            else:
                sides.append(side_tokens[taken] + np.repeat(token_shift, _sizes(starts, records)))
        target_counts = _sizes(self._first_target, records)
        span_shifts = np.repeat(np.stack(shifts, 1), target_counts, axis=0)
        lengths = self._lengths[targets].ravel()
        return SpanBatch(
            tokens=self.tokens[tokens],
            record=self.record[targets],
            targets=targets,
            sides=sides,
            members=self._members[members] + np.repeat(span_shifts.ravel(), lengths),
            bags=np.cumsum(lengths) - lengths,
        )


def _sizes(starts: np.ndarray, records: np.ndarray) -> np.ndarray:
    return starts[records + 1] - starts[records]


def _take_records(starts: np.ndarray, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Concatenate the indices of the records' items, and return by how much each record's indices
    shift."""
    sizes = _sizes(starts, records)
    first = starts[records]
    first_in_batch = np.cumsum(sizes) - sizes
    return ranges(first, sizes), first_in_batch - first
