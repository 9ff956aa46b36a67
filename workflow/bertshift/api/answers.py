"""The answers of two models: whether they can be compared, and how they differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from bertshift.activations.extract import equal_lengths, model_inputs, token_positions
from bertshift.activations.sampling import is_special_or_first
from bertshift.activations.store import Activations
from bertshift.api.given import check_answers, is_loaded
from bertshift.api.models import called
from bertshift.errors import UserError
from bertshift.metrics import behaviour
from bertshift.metrics.forgetting import hidden_words
from bertshift.metrics.pairs import Pair
from bertshift.models.answering import CLASSES, MASKED, NEXT, Answering, Head, load_answering
from bertshift.models.tokenizer import load_tokenizer
from bertshift.rows.table import Table, concat
from bertshift.tasks.inference import best_device

COLUMNS = ["measure", "value", "low", "high", "n"]
ANSWERS = ["init", "seed", "position", "text", "change"]
TEXTS = {"text_a": "text", "text_b": "text_pair"}  # columns of `Answers.texts`, by keys of a row
ELEMENTS = 2**23  # of logits that are compared at a time: 64 MB each in float64


@dataclass(frozen=True)
class Answers:
    """How the answers of a model and its reference differ.

    kind: classes, masked or next; empty where there are no answers, and then `reason` says why.
    labels: the names of classes; one of a regression. results: the table of every replicate, with
    measure, value and n, if there are answers. texts: of every replicate and text, its position in
    the texts from 0, the text and the second of a pair, the change of its answer (JS or KL in
    nats, or the difference of outputs), and with classes or outputs answer, reference_answer and,
    with labels, label and outcome (lost, won or empty).
    """

    kind: str = ""
    labels: tuple[str, ...] = ()
    reason: str = ""
    results: Table | None = field(default=None, repr=False)
    texts: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=ANSWERS), repr=False)

    @cached_property
    def table(self) -> pd.DataFrame:
        """Means over replicates with their intervals, in the columns COLUMNS."""
        if self.results is None:
            return pd.DataFrame(columns=COLUMNS)
        n = self.results.rows.groupby("measure")["n"].first()
        means = self.results.averaged(["measure"])
        return means.assign(n=means["measure"].map(n))[COLUMNS]


@dataclass(frozen=True)
class Question:
    """What two models are asked: the head that both have, or the reason why there is none, and the
    right answers of the texts if they are known: numbers of classes, or of a regression."""

    head: Head
    labels: np.ndarray | None = None


def question_of(heads: Sequence[tuple[str, Head]], labels: Any, texts: int) -> Question:
    """Find what all models, (name, head), can be asked. UserError for labels that are not one for
    each text, or no answers of these models."""
    values = None if labels is None else _list_labels(labels, texts)
    head = _common_head(heads)
    if values is None:
        return Question(head)
    if head.kind != CLASSES:
        reason = head.reason or "these models predict words"
        raise UserError(f"{reason}, so labels of texts have no use; leave labels= out.")
    convert = _number_of_class if len(head.labels) > 1 else _number_of_regression
    numbers = [convert(number, value, head.labels) for number, value in enumerate(values, 1)]
    return Question(head, np.array(numbers))


def _common_head(heads: Sequence[tuple[str, Head]]) -> Head:
    """Return the head that all models have, or one with the reason why they have none in
    common."""
    for _, head in heads:
        if not head.kind:
            return head
    (first_name, first), *others = heads
    for name, head in others:
        is_alike = head.kind == first.kind and len(head.labels) == len(first.labels)
        if not is_alike:
            return Head(reason=f"{first_name} {_says(first)} and {name} {_says(head)}")
        # The output of a regression may have any name.
        if len(first.labels) > 1 and {*head.labels} != {*first.labels}:
            return Head(
                reason=f"{first_name} has the labels {', '.join(first.labels)} and {name} has"
                f" {', '.join(head.labels)}, so that no label of one has its like in the other"
            )
    return first


def _says(head: Head) -> str:
    if head.kind != CLASSES:
        return f"predicts {head.kind} words"
    if len(head.labels) == 1:
        return "gives a number"
    return f"has the labels {', '.join(head.labels)}"


def _list_labels(labels: Any, texts: int) -> list:
    if isinstance(labels, (str, bytes)):
        raise UserError(
            "labels is one string; give a list, or with columns= the name of a column."
        )
    try:
        values = list(labels)
    except TypeError:
        raise UserError(
            f"labels is of type {type(labels).__name__}; give a list, one for each text."
        ) from None
    if len(values) != texts:
        raise UserError(f"there are {len(values)} labels and {texts} texts; give one for each.")
    return values


def _number_of_class(number: int, value: Any, names: Sequence[str]) -> int:
    """Find the class that label `number` is, by its name or by its number from 0."""
    if str(value) in names:
        return list(names).index(str(value))
    try:
        position = int(str(value))
    except ValueError:
        position = -1
    if not 0 <= position < len(names):
        raise UserError(
            f"label {number} is {value!r:.40}; write {', '.join(names)}, or their numbers 0 to"
            f" {len(names) - 1}."
        )
    return position


def _number_of_regression(number: int, value: Any, _) -> float:
    try:
        result = float(value)
    except (TypeError, ValueError):
        result = np.nan
    if not np.isfinite(result):
        raise UserError(f"label {number} is {value!r:.40}; write a number, as the models do.")
    return result


@dataclass(frozen=True)
class Asked:
    """A model that is asked: its name, the folder that was prepared for it, its head, and the
    model as it was given."""

    name: str
    folder: Path
    head: Head
    given: Any


def measure(
    pairs: Sequence[Pair], asked: Mapping[Path, Asked], question: Question, rows: Sequence[dict]
) -> Answers:
    """Compare the answers of each pair.

    asked: the model behind each activation file
    rows: the texts

    UserError for a head that cannot be asked.
    """
    head = question.head
    texts = pd.DataFrame(rows).rename(columns=TEXTS).filter(TEXTS.values())
    tables, frames = [], []
    reference_file, reference = None, None
    for pair in pairs:
        if pair.reference != reference_file:
            reference = None  # frees the memory of the one before
            reference = _Asking(pair.reference, asked[pair.reference], pair.stimuli)
            reference_file = pair.reference
        model = _Asking(pair.model, asked[pair.model], pair.stimuli)
        compared, of_texts = _compare(model, reference, question)
        tables.append(_make_table(compared).assign(**pair.keys))
        keys = {key: pair.keys[key] for key in ("init", "seed")}
        of_texts = texts.assign(**keys, position=texts.index, **of_texts)
        frames.append(of_texts[list(dict.fromkeys([*ANSWERS, *of_texts]))])
    return Answers(
        head.kind,
        head.labels,
        results=concat(tables),
        texts=pd.concat(frames, ignore_index=True),
    )


class _Asking:
    """A model with its head, on the texts of its activation file."""

    def __init__(self, file: Path, asked: Asked, stimuli: str):
        self.activations, self.labels = Activations(file), asked.head.labels
        kind = asked.head.kind
        with called({str(asked.folder): asked.name}):
            model = load_answering(asked.folder, kind).to(best_device())
            self.answering = Answering(model, kind, asked.name)
        if is_loaded(asked.given):
            check_answers(asked.given, self.answering, asked.name)
        if kind == CLASSES:
            self._check(self._last_states(0), [0], self.activations.token_ids)
            return
        index = {
            "special": self.activations.special,
            "example_offsets": self.activations.offsets,
        }
        if kind == NEXT:
            self.positions = _next_tokens(index)
            self._check(self._last_states(0), [0], self.activations.token_ids)
            self.states = self._states_before()
        else:
            self.positions = hidden_words(index, False, stimuli)
            self.states = self._states_at_masks(load_tokenizer(asked.folder).mask_token_id)

    def _inputs(self, batch: list[int], ids: np.ndarray) -> dict[str, torch.Tensor]:
        positions = token_positions(self.activations.offsets, batch)
        segments = self.activations.segment[positions]
        device = self.answering.model.device
        return model_inputs(device, input_ids=ids[positions], token_type_ids=segments)

    def _check(self, states: torch.Tensor, batch: list[int], ids: np.ndarray) -> None:
        self.answering.check(states, self._inputs(batch, ids))

    def _last_states(self, text: int) -> torch.Tensor:
        """Take the base model's last states [1, tokens, width] of a text."""
        start, end = self.activations.offsets[text : text + 2]
        return self._to_last_states(np.arange(start, end))

    def _to_last_states(self, positions: np.ndarray) -> torch.Tensor:
        last = self.activations.states(self.activations.layers, positions)
        states = torch.from_numpy(np.array(last, np.float32))[None]
        return self.answering.after(states.to(self.answering.model.device))

    def _states_before(self) -> torch.Tensor:
        """Take the last states [tokens, width] before the predicted tokens."""
        return self._to_last_states(self.positions - 1)[0]

    def _states_at_masks(self, mask: int | None) -> torch.Tensor:
        """Run the base model on texts whose tokens at `positions` are masked: its last states
        there, [tokens, width]."""
        if mask is None:
            raise UserError(f"{self.answering.name} predicts masked words without having a mask.")
        shown = self.activations.token_ids.copy()
        shown[self.positions] = mask
        states = torch.empty(len(self.positions), self.activations.width)
        rows = np.full(len(shown), -1)
        rows[self.positions] = np.arange(len(self.positions))
        for number, batch in enumerate(equal_lengths(self.activations.lengths)):
            read = self.answering.read(**self._inputs(batch, shown))
            if number == 0:
                self._check(read[:1], batch[:1], shown)
            of_batch = rows[token_positions(self.activations.offsets, batch)]
            is_masked = of_batch >= 0
            states[of_batch[is_masked]] = read[torch.from_numpy(is_masked)].cpu()
        return states

    def class_logits(self) -> np.ndarray:
        """Compute logits [texts, classes], text by text, so that none is padded."""
        ids, logits = self.activations.token_ids, []
        for text in range(self.activations.examples):
            inputs = self._inputs([text], ids)
            logits.append(self.answering.logits(self._last_states(text), inputs["input_ids"]))
        return torch.cat(logits).double().cpu().numpy()

    def word_logits(self, part: slice) -> torch.Tensor:
        """Compute logits [tokens, vocabulary] of some of the predicted tokens."""
        states = self.states[part][None].to(self.answering.model.device)
        ids = torch.zeros(states.shape[:2], dtype=torch.long, device=states.device)
        return self.answering.logits(states, ids)[0]


def _next_tokens(index: Mapping[str, np.ndarray]) -> np.ndarray:
    """Find the tokens that a decoder predicts: neither special nor the first of a text."""
    positions = np.flatnonzero(~is_special_or_first(index["special"], index["example_offsets"]))
    if not len(positions):
        raise UserError("no text has a second token, which a decoder would predict.")
    return positions


def _compare(
    model: _Asking, reference: _Asking, question: Question
) -> tuple[list[dict], dict[str, Any]]:
    """Compare two models: rows of `behaviour`, and columns of `Answers.texts`."""
    if question.head.kind == CLASSES:
        if len(question.head.labels) == 1:
            return _compare_outputs(model, reference, question.labels)
        return _compare_classes(model, reference, question)
    words = _compare_words(model, reference)
    change = {"change": words.kl / np.maximum(words.tokens, 1)}
    if question.head.kind == MASKED:
        return behaviour.of_masked(words), change
    return behaviour.of_next(words, _count_characters(model.activations)), change


def _compare_outputs(
    model: _Asking, reference: _Asking, labels: np.ndarray | None
) -> tuple[list[dict], dict[str, Any]]:
    outputs, others = model.class_logits()[:, 0], reference.class_logits()[:, 0]
    columns = {"change": np.abs(outputs - others), "answer": outputs, "reference_answer": others}
    if labels is not None:
        columns["label"] = labels
    return behaviour.of_outputs(outputs, others, labels), columns


def _compare_classes(
    model: _Asking, reference: _Asking, question: Question
) -> tuple[list[dict], dict[str, Any]]:
    names = np.array(question.head.labels)
    logits, others = (_in_order(each, question.head.labels) for each in (model, reference))
    answers, reference_answers = logits.argmax(1), others.argmax(1)
    columns = {
        "change": behaviour.divergences(logits, others),
        "answer": names[answers],
        "reference_answer": names[reference_answers],
    }
    if question.labels is not None:
        columns["label"] = names[question.labels]
        columns["outcome"] = behaviour.outcomes_of(answers, reference_answers, question.labels)
    return behaviour.of_classes(logits, others, question.labels), columns


def _in_order(asked: _Asking, labels: Sequence[str]) -> np.ndarray:
    """Compute logits of classes in the order of these labels."""
    order = [asked.labels.index(label) for label in labels]
    return asked.class_logits()[:, order]


def _compare_words(model: _Asking, reference: _Asking) -> behaviour.Words:
    activations, positions = model.activations, model.positions
    targets = torch.from_numpy(activations.token_ids[positions].astype(np.int64))
    size = max(1, ELEMENTS // model.answering.model.config.vocab_size)
    done = []
    for first in range(0, len(positions), size):
        part = slice(first, first + size)
        logits, others = model.word_logits(part), reference.word_logits(part)
        if logits.shape != others.shape:
            raise UserError(
                f"{model.answering.name} predicts one of {logits.shape[-1]} words and"
                f" {reference.answering.name} one of {others.shape[-1]}."
            )
        done.append(behaviour.of_tokens(logits, others, targets[part].to(logits.device)).cpu())
    text = activations.example_of_token()[positions]
    sums = [np.bincount(text, row, activations.examples) for row in torch.cat(done, 1).numpy()]
    return behaviour.Words(*sums, np.bincount(text, minlength=activations.examples))


def _count_characters(activations: Activations) -> np.ndarray:
    """Count the characters [texts] of the predicted tokens: of each text of an input from its
    first character to the end of its last token, but without an input's first token, if that is
    not special."""
    characters = np.zeros(activations.examples)
    text = activations.example_of_token()
    for segment in np.unique(activations.segment):
        ends = np.zeros(activations.examples, np.int64)
        is_inside = activations.segment == segment
        np.maximum.at(ends, text[is_inside], activations.char_end[is_inside])
        characters += ends
    return characters - activations.char_end[activations.offsets[:-1]]


def _make_table(rows: list[dict]) -> Table:
    """Make the table of rows of `behaviour`, in their ranges."""
    rows = [dict(row) for row in rows]
    bounds = [row.pop("bounds") for row in rows]
    examples = [row.pop("examples") for row in rows]
    table = Table.of_records(rows).within(zip(*bounds, strict=True))
    return replace(table, examples=np.array(examples, np.float64))
