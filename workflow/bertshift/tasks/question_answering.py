"""SQuAD 1.1 and 2.0 as in run_squad of google-research/bert.

There are three differences. A predicted answer is cut out of the passage by the characters of its
pieces, where the original aligned a detokenised text with whole words. The answer to learn has the
pieces at the characters from `answer_start` on, where the original took the first equal pieces
among the answer's words. And padding takes no part in a softmax, so that a window's loss does not
depend on its batch.
"""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from bertshift.tasks.batching import Encoded, pad, scale_to_batch
from bertshift.tasks.inference import predict_logits

log = logging.getLogger(__name__)

METRICS = ("f1", "exact_match")
NO_SPAN = "empty"  # the original's answer where no span is allowed


@dataclass(frozen=True)
class TokenizedPassage:
    """A context in pieces: their ids, and the characters [start, end) of each [n, 2]."""

    text: str
    ids: list[int]
    characters: np.ndarray

    def cut(self, first: int, last: int) -> str:
        """Cut out the text of pieces `first` to `last`."""
        start, end = self.characters[first, 0], self.characters[last, 1]
        return self.text[start:end]


@dataclass(frozen=True)
class Window:
    """`[CLS] question [SEP] part of the passage [SEP]`, or the tokenizer's own form of two texts.
    The passage begins at input token `offset`."""

    row: int
    encoded: Encoded
    offset: int
    first: int  # the passage's piece at `offset`
    best: np.ndarray  # mask of the pieces with more context here than in any other window


# RoBERTa and its kin write four special tokens around a question and a passage.
MOST_SPECIAL = 4


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
    most = np.full(sum(windows[-1]), -1.0)
    owners = np.zeros(len(most), dtype=int)
    for number, (start, length) in enumerate(windows):
        left = np.arange(length)
        context = np.minimum(left, left[::-1]) + 0.01 * length
        window = slice(start, start + length)
        is_better = context > most[window]
        most[window][is_better] = context[is_better]
        owners[window][is_better] = number
    return [
        owners[start : start + length] == number for number, (start, length) in enumerate(windows)
    ]


def answer_pieces(passage: TokenizedPassage, answer: dict) -> tuple[int, int] | None:
    """Find the first and last piece of an answer {"text", "start"}, by the characters that it
    shares with them; None if the passage has another text there."""
    start = answer["start"]
    end = start + len(answer["text"])
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

    `logits` [tokens, 2]. A span is allowed inside the passage, with at most `longest` pieces, if
    this window gives its start more context than any other. Ties go to the lower-numbered start,
    then end.
    """
    start_logits, end_logits = logits[:, 0], logits[:, 1]
    starts = np.argsort(-start_logits, kind="stable")[:n_best]
    ends = np.argsort(-end_logits, kind="stable")[:n_best]
    # Pieces of this window: rows are starts, columns are ends.
    first = starts[:, None] - window.offset
    last = ends[None, :] - window.offset
    size = len(window.best)
    is_inside = (first >= 0) & (last < size)
    is_span = (last >= first) & (last - first < longest)
    has_most_context = np.append(window.best, False)[np.clip(first, -1, size)]
    is_allowed = is_inside & is_span & has_most_context
    if not is_allowed.any():
        return None
    totals = start_logits[starts][:, None] + end_logits[ends][None, :]
    totals = np.where(is_allowed, totals, -np.inf)
    row, column = np.unravel_index(np.argmax(totals), totals.shape)
    first_piece = int(first[row, 0]) + window.first
    last_piece = int(last[0, column]) + window.first
    return float(totals[row, column]), first_piece, last_piece


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
        scores.check_metrics(self.metrics, METRICS, self.name)
        shortest = self.max_query_length + MOST_SPECIAL + 1
        if self.max_length < shortest:
            raise UserError(
                f"tasks.{self.name}: max_length {self.max_length} leaves no room for a passage"
                f" beside a question of max_query_length {self.max_query_length}; write at least"
                f" {shortest}."
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
    ) -> tuple[list[Window], list[TokenizedPassage]]:
        """Cut every row into its windows, in order, and return each row's passage too."""
        passages = read_passages([row["context"] for row in rows], tokenizer)
        questions = pieces(tokenizer, [row["question"] for row in rows])
        before, between, after = map(len, layout_of(tokenizer).two)
        windows = []
        for number, (passage, question) in enumerate(zip(passages, questions, strict=True)):
            question = question[: self.max_query_length]
            offset = before + len(question) + between
            room = self.max_length - offset - after
            parts = split_windows(len(passage.ids), room, self.doc_stride)
            for (start, length), best in zip(parts, most_context(parts), strict=True):
                part = passage.ids[start : start + length]
                encoded = Encoded(*join(tokenizer, question, part))
                windows.append(Window(number, encoded, offset, start, best))
        return windows, passages

    def training_examples(
        self, rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase
    ) -> list[Encoded]:
        """Make one example a window. Its target is the answer's first and last token, or (0, 0),
        [CLS], if the window lacks the answer.

        Questions whose answer is not in the passage at its start are left out, and counted in the
        log.
        """
        windows, passages = self.windows(rows, tokenizer)
        answers = []
        for row, passage in zip(rows, passages, strict=True):
            if row["impossible"]:
                answers.append((-1, -1))
            else:
                answers.append(answer_pieces(passage, row["answers"][0]))
        if lost := answers.count(None):
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
        examples = []
        for window in windows:
            answer = answers[window.row]
            if answer is not None:
                target = _find_target_tokens(window, *answer)
                examples.append(replace(window.encoded, target=target))
        return examples

    @staticmethod
    def collate(examples: Sequence[Encoded], pad_id: int) -> dict[str, Tensor | None]:
        batch = pad(examples, pad_id)
        batch["targets"] = torch.tensor([example.target for example in examples])
        return batch

    @staticmethod
    def loss(
        model: nn.Module, batch: dict[str, Tensor | None], full_batch: dict | None = None
    ) -> Tensor:
        """Average the cross-entropies of start and end, each over the window's tokens."""
        inputs = dict(batch)
        targets = inputs.pop("targets")
        logits = model(**inputs)
        start_loss = F.cross_entropy(logits[..., 0], targets[:, 0])
        end_loss = F.cross_entropy(logits[..., 1], targets[:, 1])
        return scale_to_batch((start_loss + end_loss) / 2, targets, full_batch)

    def predict(
        self, model: nn.Module, rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase
    ) -> list[Answer]:
        windows, passages = self.windows(rows, tokenizer)
        examples = [window.encoded for window in windows]
        logits = predict_logits(model, examples, tokenizer.pad_token_id)
        return self.decode(windows, passages, [values.numpy() for values in logits])

    def decode(
        self,
        windows: Sequence[Window],
        passages: Sequence[TokenizedPassage],
        logits: Sequence[np.ndarray],
    ) -> list[Answer]:
        """Choose the best span of each row over its windows; its null score is the lowest [CLS]
        score of any window."""
        null_scores = [math.inf] * len(passages)
        best: list[tuple[float, int, int] | None] = [None] * len(passages)
        for window, values in zip(windows, logits, strict=True):
            row = window.row
            null_scores[row] = min(null_scores[row], float(values[0].sum()))
            span = best_span(values, window, self.n_best, self.max_answer_length)
            if span is not None and (best[row] is None or span[0] > best[row][0]):
                best[row] = span
        answers = []
        for passage, span, null_score in zip(passages, best, null_scores, strict=True):
            if math.isinf(null_score):  # an empty passage has no window
                null_score = 0.0
            if span is None:
                answers.append(Answer(NO_SPAN, null_score))
            else:
                score, first, last = span
                answers.append(Answer(passage.cut(first, last), null_score - score))
        return answers

    def score(self, rows: Sequence[dict], predictions: Sequence[Answer]) -> dict[str, float]:
        """Score answers by exact_match and f1 as the official scripts define them.

        Where some questions are impossible, these are the scores at threshold 0 (no answer if that
        scores higher). Then there are the scores of both kinds of questions too, and those at the
        best threshold ("best_f1", "best_f1_threshold", ...).
        """
        by_question = self._score_questions(rows, predictions)
        result = {name: float(by_question[name].mean()) for name in METRICS}
        is_impossible = _mask_impossible(rows)
        if not is_impossible.any():
            return result
        for name in METRICS:
            values = by_question[name]
            result[f"no_answer_{name}"] = float(values[is_impossible].mean())
            if not is_impossible.all():
                result[f"has_answer_{name}"] = float(values[~is_impossible].mean())
        gold = _list_references(rows)
        margins = [answer.margin for answer in predictions]
        with_answer = scores.squad_scores(gold, [answer.text for answer in predictions])
        without_answer = scores.squad_scores(gold, [""] * len(rows))
        for name in METRICS:
            best, threshold = scores.best_threshold(
                margins, with_answer[name], without_answer[name]
            )
            result |= {f"best_{name}": best, f"best_{name}_threshold": threshold}
        return result

    def _score_questions(
        self, rows: Sequence[dict], predictions: Sequence[Answer]
    ) -> dict[str, np.ndarray]:
        return scores.squad_scores(_list_references(rows), _choose_texts(rows, predictions))

    def majority(self, train: Sequence[dict], dev: Sequence[dict]) -> dict[str, float]:
        """Score on `dev` always giving the answer that is correct for most of its questions,
        normalised as for scoring.

        Of equally frequent answers, take the one more frequent in `train`. The answer to
        impossible questions is the empty one.
        """
        dev_answers, train_answers = _list_distinct_answers(dev), _list_distinct_answers(train)
        text = scores.most_frequent(sorted(set(dev_answers)), dev_answers, train_answers)
        by_question = scores.squad_scores(_list_references(dev), [text] * len(dev))
        return {name: float(by_question[name].mean()) for name in METRICS}

    def columns(self, rows: Sequence[dict], predictions: Sequence[Answer]) -> dict[str, list]:
        """Make the columns of predictions.tsv. Texts have single spaces, and are "" where there is
        no answer."""
        texts = _choose_texts(rows, predictions)
        gold = ["" if row["impossible"] else row["answers"][0]["text"] for row in rows]
        by_question = self._score_questions(rows, predictions)
        return {
            "gold": [" ".join(text.split()) for text in gold],
            "prediction": [" ".join(text.split()) for text in texts],
            "null_margin": [answer.margin for answer in predictions],
            **{name: values.tolist() for name, values in by_question.items()},
        }


def read_passages(
    contexts: Sequence[str], tokenizer: PreTrainedTokenizerBase
) -> list[TokenizedPassage]:
    """Cut contexts into passages; contexts that several questions share are cut into pieces
    once."""
    distinct = list(dict.fromkeys(contexts))
    passages = {}
    for text, cut in zip(distinct, spans(tokenizer, distinct), strict=True):
        ids = [number for number, _, _ in cut]
        characters = np.array([(start, end) for _, start, end in cut], dtype=int)
        passages[text] = TokenizedPassage(text, ids, characters.reshape(-1, 2))
    return [passages[text] for text in contexts]


def _find_target_tokens(window: Window, first: int, last: int) -> tuple[int, int]:
    """Find the input tokens of the answer's first and last piece; (0, 0) if the window lacks
    one."""
    if first < window.first or last >= window.first + len(window.best):
        return 0, 0
    shift = window.offset - window.first
    return first + shift, last + shift


def _mask_impossible(rows: Sequence[dict]) -> np.ndarray:
    return np.array([row["impossible"] for row in rows], dtype=bool)


def _list_references(rows: Sequence[dict]) -> list[list[str]]:
    """List the correct answers to each question; [""] if there is none."""
    references = []
    for row in rows:
        texts = []
        if not row["impossible"]:
            texts = [answer["text"] for answer in row["answers"]]
        references.append([text for text in texts if scores.normalise_answer(text)] or [""])
    return references


def _list_distinct_answers(rows: Sequence[dict]) -> list[str]:
    """List the normalised answers to all questions; each answer is listed once a question."""
    answers = []
    for texts in _list_references(rows):
        answers += {scores.normalise_answer(text) for text in texts}
    return answers


def _choose_texts(rows: Sequence[dict], predictions: Sequence[Answer]) -> list[str]:
    """Choose the answers at threshold 0. No answer is an option only where the data have
    impossible questions."""
    if not _mask_impossible(rows).any():
        return [answer.text for answer in predictions]
    return ["" if answer.margin > 0 else answer.text for answer in predictions]
