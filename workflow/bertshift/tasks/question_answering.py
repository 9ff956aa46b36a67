"""SQuAD 1.1 and 2.0 as run_squad of google-research/bert did it.

Three things are ours. A predicted answer is cut out of the passage by the characters that its
pieces came from, where the original aligned a detokenised text with whole words. The answer to
learn is the pieces at the characters from `answer_start` on, where the original took the first
pieces like them among the answer's words. And padding takes no part in a softmax, so that a
window's loss does not depend on its batch.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from bertshift.errors import UserError
from bertshift.models.heads import SpanClassifier
from bertshift.models.tokenizer import join, layout_of, pieces, spans
from bertshift.tasks import scores
from bertshift.tasks.batching import Encoded, pad
from bertshift.tasks.inference import predict_logits

log = logging.getLogger(__name__)

METRICS = ("f1", "exact_match")
NO_SPAN = "empty"  # what the original answers where no span is allowed


@dataclass(frozen=True)
class Passage:
    """A context in pieces: their ids, and the characters [start, end) of each [n, 2]."""

    text: str
    ids: list[int]
    characters: np.ndarray

    def cut(self, first: int, last: int) -> str:
        """Cut out the text of pieces `first` to `last`."""
        return self.text[self.characters[first, 0] : self.characters[last, 1]]


@dataclass(frozen=True)
class Window:
    """`[CLS] question [SEP] part of the passage [SEP]`, or as the tokenizer joins two texts, whose
    first passage piece is input token `offset`."""

    row: int
    encoded: Encoded
    offset: int
    first: int  # the passage's piece at `offset`
    # For each passage piece here: has it more context here than in any other window?
    best: np.ndarray


class Answer(NamedTuple):
    """The best span's text, and how much higher "no answer" scored."""

    text: str
    margin: float


def split_windows(pieces: int, room: int, stride: int) -> list[tuple[int, int]]:
    """Split a passage into overlapping windows of at most `room` pieces, (start, length) each; the
    last one ends with the passage."""
    windows, start = [], 0
    while start < pieces:
        length = min(pieces - start, room)
        windows.append((start, length))
        if start + length == pieces:
            break
        start += min(length, stride)
    return windows


def most_context(windows: Sequence[tuple[int, int]]) -> list[np.ndarray]:
    """Mask for each window the pieces that have more context there than elsewhere; ties go to the
    earlier window.

    Context is min(pieces to the left, to the right) + 0.01 * length of the window.
    """
    if not windows:
        return []
    record = np.full(sum(windows[-1]), -1.0)
    owner = np.zeros(len(record), dtype=int)
    for number, (start, length) in enumerate(windows):
        left = np.arange(length)
        context = np.minimum(left, left[::-1]) + 0.01 * length
        here = slice(start, start + length)
        better = context > record[here]
        record[here][better] = context[better]
        owner[here][better] = number
    return [
        owner[start : start + length] == number for number, (start, length) in enumerate(windows)
    ]


def answer_pieces(passage: Passage, answer: dict) -> tuple[int, int] | None:
    """Find the first and last piece of an answer {"text", "start"}, by the characters that it
    shares with them; None if the passage does not say it there."""
    start, end = answer["start"], answer["start"] + len(answer["text"])
    if passage.text[start:end].split() != answer["text"].split():
        return None
    first = int(np.searchsorted(passage.characters[:, 1], start, side="right"))
    last = int(np.searchsorted(passage.characters[:, 0], end, side="left")) - 1
    return (first, last) if first <= last else None


def best_span(
    logits: np.ndarray, window: Window, n_best: int, longest: int
) -> tuple[float, int, int] | None:
    """Find (score, first, last piece of the passage) of the best allowed span among the `n_best`
    starts and ends.

    `logits` [tokens, 2]. Allowed: inside the passage, at most `longest` pieces, and started where
    this window gives the start more context than any other. Ties go to the lower-numbered start,
    then end.
    """
    starts, ends = (np.argsort(-logits[:, side], kind="stable")[:n_best] for side in (0, 1))
    first, last = starts[:, None] - window.offset, ends[None, :] - window.offset
    size = len(window.best)
    allowed = (first >= 0) & (last < size) & (last >= first) & (last - first < longest)
    allowed &= np.append(window.best, False)[np.clip(first, -1, size)]
    if not allowed.any():
        return None
    totals = np.where(allowed, logits[starts, 0][:, None] + logits[ends, 1][None, :], -np.inf)
    i, j = np.unravel_index(np.argmax(totals), totals.shape)
    return float(totals[i, j]), int(first[i, 0]) + window.first, int(last[0, j]) + window.first


@dataclass(frozen=True)
class AnswerSpans:
    """Question answering by spans. Rows have question, context, answers [{"text", "start"}] and
    impossible (never true in SQuAD 1.1)."""

    name: str
    dataset: str
    metrics: tuple[str, ...] = METRICS
    max_length: int = 384
    doc_stride: int = 128
    max_query_length: int = 64
    max_answer_length: int = 30
    n_best: int = 20

    def __post_init__(self):
        scores.pick(self.metrics, dict.fromkeys(METRICS), self.name)
        if self.max_length < self.max_query_length + 4:
            raise UserError(
                f"tasks.{self.name}: max_length {self.max_length} leaves no room for a passage"
                f" beside a question of max_query_length {self.max_query_length}; write at least"
                f" {self.max_query_length + 4}."
            )

    def model(self, encoder: PreTrainedModel, seed: int) -> SpanClassifier:
        return SpanClassifier(encoder, seed=seed)

    def check(self, rows: dict[str, list[dict]]) -> None:
        for split, members in rows.items():
            for row in members:
                if not row["impossible"] and not row["answers"]:
                    raise UserError(
                        f"{self.dataset}, split {split}: question {row['id']} has no answers but"
                        " is not marked impossible; give it one or the other."
                    )

    def windows(
        self, rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase
    ) -> tuple[list[Window], list[Passage]]:
        """Cut every row into its windows, in order; with each row's passage."""
        passages = read_passages([row["context"] for row in rows], tokenizer)
        questions = pieces(tokenizer, [row["question"] for row in rows])
        before, between, after = layout_of(tokenizer).two
        windows = []
        for number, (passage, question) in enumerate(zip(passages, questions, strict=True)):
            question = question[: self.max_query_length]
            offset = len(before) + len(question) + len(between)
            parts = split_windows(
                len(passage.ids), self.max_length - offset - len(after), self.doc_stride
            )
            for (start, length), best in zip(parts, most_context(parts), strict=True):
                encoded = Encoded(*join(tokenizer, question, passage.ids[start : start + length]))
                windows.append(Window(number, encoded, offset, start, best))
        return windows, passages

    def training_examples(
        self, rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase
    ) -> list[Encoded]:
        """Make one example a window, its target the answer's first and last token, or (0, 0),
        [CLS], if it is not there.

        Questions whose answer is not in the passage where it should be are left out, and counted
        in the log.
        """
        windows, passages = self.windows(rows, tokenizer)
        wanted = [None if row["impossible"] else row["answers"][0] for row in rows]
        found = [
            (-1, -1) if answer is None else answer_pieces(passage, answer)
            for passage, answer in zip(passages, wanted, strict=True)
        ]
        if lost := found.count(None):
            log.warning(
                "%s: %d of %d answers are not in their passages and left out.",
                self.dataset,
                lost,
                len(rows),
            )
        if lost == len(rows):
            raise UserError(
                f"{self.dataset}, split train: no answer is found at its start; check answer_start"
                " there."
            )
        return [
            Encoded(
                window.encoded.input_ids,
                window.encoded.token_type_ids,
                _target(window, *found[window.row]),
            )
            for window in windows
            if found[window.row] is not None
        ]

    @staticmethod
    def collate(examples: Sequence[Encoded], pad_id: int) -> dict[str, Tensor | None]:
        return pad(examples, pad_id) | {
            "targets": torch.tensor([example.target for example in examples])
        }

    @staticmethod
    def loss(
        model: nn.Module, batch: dict[str, Tensor | None], whole: dict | None = None
    ) -> Tensor:
        """Average the cross-entropies of start and end, each over the window's tokens."""
        inputs = dict(batch)
        targets = inputs.pop("targets")
        logits = model(**inputs)
        value = (
            F.cross_entropy(logits[..., 0], targets[:, 0])
            + F.cross_entropy(logits[..., 1], targets[:, 1])
        ) / 2
        return value if whole is None else value * (len(targets) / len(whole["targets"]))

    def predict(
        self, model: nn.Module, rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase
    ) -> list[Answer]:
        windows, passages = self.windows(rows, tokenizer)
        logits = predict_logits(
            model, [window.encoded for window in windows], tokenizer.pad_token_id
        )
        return self.decode(windows, passages, [values.numpy() for values in logits])

    def decode(
        self, windows: Sequence[Window], passages: Sequence[Passage], logits: Sequence[np.ndarray]
    ) -> list[Answer]:
        """Choose the best span of each row over its windows; its null score is the lowest [CLS]
        score of any window."""
        null = np.full(len(passages), np.inf)
        found: list[tuple[float, int, int] | None] = [None] * len(passages)
        for window, values in zip(windows, logits, strict=True):
            null[window.row] = min(null[window.row], float(values[0].sum()))
            span, before = (
                best_span(values, window, self.n_best, self.max_answer_length),
                found[window.row],
            )
            if span is not None and (before is None or span[0] > before[0]):
                found[window.row] = span
        null[np.isinf(null)] = 0.0  # an empty passage has no window
        answers = []
        for passage, span, silence in zip(passages, found, null.tolist(), strict=True):
            score, text = (0.0, NO_SPAN) if span is None else (span[0], passage.cut(*span[1:]))
            answers.append(Answer(text, silence - score))
        return answers

    def score(self, rows: Sequence[dict], predictions: Sequence[Answer]) -> dict[str, float]:
        """Score answers by exact_match and f1 as the official scripts define them.

        Where some questions are impossible, they are at threshold 0 (no answer if that scores
        higher), with the scores of both kinds of questions and those at the best threshold
        ("best_f1", "best_f1_threshold", ...).
        """
        each = self._each(rows, predictions)
        result = {name: float(each[name].mean()) for name in METRICS}
        impossible = _impossible(rows)
        if not impossible.any():
            return result
        for name in METRICS:
            result[f"no_answer_{name}"] = float(each[name][impossible].mean())
            if not impossible.all():
                result[f"has_answer_{name}"] = float(each[name][~impossible].mean())
        gold, margin = _references(rows), [answer.margin for answer in predictions]
        spoken = scores.squad_scores(gold, [answer.text for answer in predictions])
        silent = scores.squad_scores(gold, [""] * len(rows))
        for name in METRICS:
            best, threshold = scores.best_threshold(margin, spoken[name], silent[name])
            result |= {f"best_{name}": best, f"best_{name}_threshold": threshold}
        return result

    def _each(self, rows: Sequence[dict], predictions: Sequence[Answer]) -> dict[str, np.ndarray]:
        return scores.squad_scores(_references(rows), _texts(rows, predictions))

    def majority(self, train: Sequence[dict], dev: Sequence[dict]) -> dict[str, float]:
        """Score on `dev` always giving the answer that is right for most of its questions,
        normalised as for scoring.

        Of answers that are right for as many, the one that is so in `train`. For impossible
        questions that is no answer.
        """
        right = [
            [
                text
                for each in _references(rows)
                for text in set(map(scores.normalise_answer, each))
            ]
            for rows in (dev, train)
        ]
        text = scores.most_frequent(sorted(set(right[0])), *right)
        each = scores.squad_scores(_references(dev), [text] * len(dev))
        return {name: float(each[name].mean()) for name in METRICS}

    def columns(self, rows: Sequence[dict], predictions: Sequence[Answer]) -> dict[str, list]:
        """Make the columns of predictions.tsv. Texts have single spaces, and are "" where there is
        no answer."""
        texts = _texts(rows, predictions)
        first = ["" if row["impossible"] else row["answers"][0]["text"] for row in rows]
        return {
            "gold": [" ".join(text.split()) for text in first],
            "prediction": [" ".join(text.split()) for text in texts],
            "null_margin": [answer.margin for answer in predictions],
            **{name: values.tolist() for name, values in self._each(rows, predictions).items()},
        }


def read_passages(contexts: Sequence[str], tokenizer: PreTrainedTokenizerBase) -> list[Passage]:
    """Cut contexts into passages; contexts that several questions share are cut into pieces
    once."""
    distinct = list(dict.fromkeys(contexts))
    if not distinct:
        return []
    passages = {
        text: Passage(
            text,
            [number for number, *_ in cut],
            np.array([span for _, *span in cut], dtype=int).reshape(-1, 2),
        )
        for text, cut in zip(distinct, spans(tokenizer, distinct), strict=True)
    }
    return [passages[text] for text in contexts]


def _target(window: Window, first: int, last: int) -> tuple[int, int]:
    if first < window.first or last >= window.first + len(window.best):
        return 0, 0
    return first - window.first + window.offset, last - window.first + window.offset


def _impossible(rows: Sequence[dict]) -> np.ndarray:
    return np.array([row["impossible"] for row in rows], dtype=bool)


def _references(rows: Sequence[dict]) -> list[list[str]]:
    texts = (
        [] if row["impossible"] else [answer["text"] for answer in row["answers"]] for row in rows
    )
    return [[text for text in each if scores.normalise_answer(text)] or [""] for each in texts]


def _texts(rows: Sequence[dict], predictions: Sequence[Answer]) -> list[str]:
    """Choose the answers at threshold 0; silence is an option only where the data have impossible
    questions."""
    may_be_silent = _impossible(rows).any()
    return ["" if may_be_silent and answer.margin > 0 else answer.text for answer in predictions]
