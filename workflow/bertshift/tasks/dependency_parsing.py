"""Dependency parsing as Merchant et al. 2020 fine-tune for it: given words, without tags."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from bertshift.data import conllu
from bertshift.errors import UserError
from bertshift.models.biaffine import DependencyParser
from bertshift.tasks import scores
from bertshift.tasks.batching import IGNORED, Encoded, cross_entropy, pad
from bertshift.tasks.inference import evaluated
from bertshift.tasks.spanning_tree import best_tree
from bertshift.tasks.words import encode_words, flatten, warn_of_unknown

log = logging.getLogger(__name__)

METRICS = (
    "las_ud",
    "las_full",
    "las_nopunct",
    "uas",
    "label_accuracy_gold_heads",
    "las_wordpiece",
)
CHAINS = ("previous", "next")
NONE = IGNORED
UNREAD = (-1, "_")  # head and label of a word that the encoder did not read


class Parse(NamedTuple):
    """A parsed sentence: each word's (head, label), its best label under the gold head, and its
    number of pieces."""

    arcs: list[tuple[int, str]]
    under_gold: list[str]
    pieces: list[int]


@dataclass(frozen=True)
class DependencyParsing:
    """Rows are sentences of a treebank: id, words, upos, heads (from 1; 0 is the root), deprels.

    The root is represented by [CLS], a word by its first piece. A sentence of more than
    `max_length` pieces is left out of training, and parsed up to the last word that fits. `labels`
    are the relations of the training split, sorted.
    """

    name: str
    dataset: str
    metrics: tuple[str, ...]
    max_length: int
    labels: tuple[str, ...]

    def __post_init__(self):
        scores.check_metrics(self.metrics, METRICS, self.name)

    def model(self, encoder: PreTrainedModel, seed: int) -> DependencyParser:
        return DependencyParser(encoder, self.labels, seed)

    def check(self, rows: dict[str, list[dict]]) -> None:
        """Raise UserError for a sentence that is not a tree. Labels that cannot be learned are
        counted in the log."""
        for split, members in rows.items():
            for row in members:
                conllu.check(row, f"{self.dataset}, split {split}, {row['id']}")
            labels = flatten(row["deprels"] for row in members)
            warn_of_unknown(labels, self.labels, "relations", self.dataset, split)

    def encode(
        self, rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase
    ) -> tuple[list[Encoded], list[list[int]]]:
        """Make inputs, and count each word's pieces.

        The target is a (first token, head, label) for the root and every word that is read; NONE
        for the root's head and label, for a head that is not read, and for an unknown label.
        """
        number = {label: index for index, label in enumerate(self.labels)}
        examples, counts = [], []
        sentences = encode_words(rows, tokenizer, self.max_length)
        for row, sentence in zip(rows, sentences, strict=True):
            read = len(sentence.starts)
            heads = [head if head <= read else NONE for head in row["heads"]]
            labels = [number.get(label, NONE) for label in row["deprels"]]
            target = [(0, NONE, NONE), *zip(sentence.starts, heads, labels)]
            examples.append(Encoded(sentence.input_ids, sentence.token_type_ids, target))
            counts.append(sentence.pieces)
        return examples, counts

    def training_examples(
        self, rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase
    ) -> list[Encoded]:
        examples, _ = self.encode(rows, tokenizer)
        complete = [
            example
            for example, row in zip(examples, rows, strict=True)
            if not _count_unread(example, row)
        ]
        if lost := len(rows) - len(complete):
            log.warning(
                "%s: %d of %d sentences have more than %d pieces and are left out of training.",
                self.dataset,
                lost,
                len(rows),
                self.max_length,
            )
        if not complete:
            raise UserError(
                f"tasks.{self.name}: no sentence of {self.dataset} has at most max_length"
                f" {self.max_length} pieces; write a larger max_length."
            )
        return complete

    @staticmethod
    def collate(examples: Sequence[Encoded], pad_id: int) -> dict[str, Tensor | None]:
        """Pad examples; `targets` are [sentences, longest, 3] as in `encode`, NONE throughout for
        padding."""
        targets = [torch.tensor(example.target) for example in examples]
        batch = pad(examples, pad_id)
        batch["targets"] = pad_sequence(targets, batch_first=True, padding_value=NONE)
        return batch

    @staticmethod
    def loss(
        model: nn.Module, batch: dict[str, Tensor | None], full_batch: dict | None = None
    ) -> Tensor:
        """Add the cross-entropies of the heads and of the labels under the gold heads, each
        averaged over words."""
        inputs = dict(batch)
        first, heads, labels = inputs.pop("targets").unbind(-1)
        states = model(**inputs, first=first)
        arc_scores = model.head.arc_scores(states, first >= 0)
        label_scores = model.head.label_scores(states, heads.clamp(min=0))
        all_heads = all_labels = None
        if full_batch is not None:
            _, all_heads, all_labels = full_batch["targets"].unbind(-1)
        arc_loss = cross_entropy(arc_scores.mT, heads, all_heads)
        label_loss = cross_entropy(label_scores.mT, labels, all_labels)
        return arc_loss + label_loss

    def predict(
        self, model: nn.Module, rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase
    ) -> list[Parse]:
        """Predict the best tree with one root for each sentence, and the best label of each of its
        arcs.

        Words beyond `max_length` get UNREAD, which is wrong, and are counted in the log.
        """
        examples, counts = self.encode(rows, tokenizer)
        unread = [_count_unread(example, row) for example, row in zip(examples, rows, strict=True)]
        if any(unread):
            log.warning(
                "%s: %d words of %d sentences lie beyond %d pieces and count as wrong.",
                self.dataset,
                sum(unread),
                np.count_nonzero(unread),
                self.max_length,
            )
        parses: list[Parse | None] = [None] * len(rows)
        collate = partial(self.collate, pad_id=tokenizer.pad_token_id)
        for batch, best in evaluated(model, examples, collate, partial(best_parses, model)):
            for index, heads, labels, under_gold in zip(batch, *best, strict=True):
                words = slice(1, len(examples[index].target))
                arcs = list(
                    zip(heads[words].tolist(), self._name_labels(labels[words]), strict=True)
                )
                arcs += [UNREAD] * unread[index]
                names = self._name_labels(under_gold[words])
                names += [UNREAD[1]] * unread[index]
                parses[index] = Parse(arcs, names, counts[index])
        return parses

    def _name_labels(self, labels: np.ndarray) -> list[str]:
        """Name relations by number; an unread word has -1."""
        return [UNREAD[1] if label == -1 else self.labels[label] for label in labels]

    def score(self, rows: Sequence[dict], parses: Sequence[Parse]) -> dict[str, float]:
        """Score parses by shares of correct words, with punctuation and without subtypes of
        relations ("obl:tmod"), except where the metric says otherwise.

        las_ud: head and relation are correct. las_full: the subtype too. las_nopunct: las_ud of
        words whose upos is not PUNCT. uas: the head is correct. label_accuracy_gold_heads: the
        relation with its subtype, under the gold head. las_wordpiece: las_ud of word pieces, where
        all pieces of a read word but its first count as correct.
        """
        gold = flatten(_list_gold_arcs(row) for row in rows)
        predicted = flatten(parse.arcs for parse in parses)
        correct = scores.attachment(gold, predicted)
        values = {name: is_correct.mean() for name, is_correct in correct.items()}
        las_ud = correct["las_ud"]
        is_word = np.array(flatten(row["upos"] for row in rows)) != "PUNCT"
        values["las_nopunct"] = las_ud.sum(where=is_word) / max(1, is_word.sum())
        values["label_accuracy_gold_heads"] = scores.accuracy(
            flatten(row["deprels"] for row in rows), flatten(parse.under_gold for parse in parses)
        )
        is_read = np.array([arc != UNREAD for arc in predicted])
        pieces = np.array(flatten(parse.pieces for parse in parses))
        correct_pieces = las_ud + is_read * (pieces - 1)
        values["las_wordpiece"] = correct_pieces.sum() / pieces.sum()
        return {name: float(values[name]) for name in self.metrics}

    def majority(self, train: Sequence[dict], dev: Sequence[dict]) -> dict[str, float]:
        """Score on `dev` attaching every word to the one before it, or every word to the next,
        with one label.

        Direction and label are those that are correct for more words of `dev` (las_ud), then of
        `train`; the word at the chain's end is the root. There is no las_wordpiece, for want of
        word pieces.
        """
        labels = sorted({scores.without_subtype(label) for label in self.labels})
        direction, label = scores.most_frequent(
            product(CHAINS, labels), _list_correct_chain_arcs(dev), _list_correct_chain_arcs(train)
        )
        parses = []
        for row in dev:
            size = len(row["words"])
            arcs = [(head, label) for head in _make_chain_heads(direction, size)]
            parses.append(Parse(arcs, [label] * size, [1] * size))
        values = self.score(dev, parses)
        return {name: value for name, value in values.items() if name != "las_wordpiece"}

    def columns(self, rows: Sequence[dict], parses: Sequence[Parse]) -> dict[str, list]:
        """Make the columns of predictions.tsv: "head:label" of each word, and the share of correct
        words (las_ud)."""
        columns = {"gold": [], "prediction": [], "correct": []}
        for row, parse in zip(rows, parses, strict=True):
            gold = _list_gold_arcs(row)
            columns["gold"].append(_write_arcs(gold))
            columns["prediction"].append(_write_arcs(parse.arcs))
            las_ud = scores.attachment(gold, parse.arcs)["las_ud"]
            columns["correct"].append(float(las_ud.mean()))
        return columns


@torch.inference_mode()
def best_parses(
    model: DependencyParser, batch: dict[str, Tensor | None]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the best heads, their labels, and the labels under the gold heads, each
    [sentences, longest], column 0 for the root.

    A label under a gold head is -1 where the gold head is NONE.
    """
    inputs = dict(batch)
    first, gold, _ = inputs.pop("targets").unbind(-1)
    states = model(**inputs, first=first)
    is_real = first >= 0
    arc_scores = model.head.arc_scores(states, is_real).cpu().numpy()
    heads = np.zeros(first.shape, dtype=np.int64)
    for row, size in enumerate(is_real.sum(1).tolist()):
        sentence_scores = arc_scores[row, :size, :size]
        heads[row, 1:size] = best_tree(sentence_scores)
    best_heads = torch.from_numpy(heads).to(gold.device)
    labels = model.head.label_scores(states, best_heads).argmax(-1)
    under_gold = model.head.label_scores(states, gold.clamp(min=0)).argmax(-1)
    under_gold = under_gold.masked_fill(gold == NONE, -1)
    return heads, labels.cpu().numpy(), under_gold.cpu().numpy()


def _count_unread(example: Encoded, row: dict) -> int:
    """Count the words that do not fit; the target has an item for the root too."""
    return len(row["words"]) + 1 - len(example.target)


def _make_chain_heads(direction: str, size: int) -> list[int]:
    """Attach every word to the one before it, or to the next one."""
    if direction == "previous":
        return list(range(size))
    return [*range(2, size + 1), 0]


def _list_correct_chain_arcs(rows: Sequence[dict]) -> Iterator[tuple[str, str]]:
    """Yield (direction, relation) of each word that a chain attaches to its gold head."""
    for row, direction in product(rows, CHAINS):
        heads = _make_chain_heads(direction, len(row["heads"]))
        for head, (gold_head, label) in zip(heads, _list_gold_arcs(row), strict=True):
            if head == gold_head:
                yield direction, scores.without_subtype(label)


def _list_gold_arcs(row: dict) -> list[tuple[int, str]]:
    return list(zip(row["heads"], row["deprels"], strict=True))


def _write_arcs(arcs: Sequence[tuple[int, str]]) -> str:
    return " ".join(f"{head}:{label}" for head, label in arcs)
