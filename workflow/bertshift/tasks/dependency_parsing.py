"""Dependency parsing as Merchant et al. 2020 fine-tune for it: given words, without tags."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain, product
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from bertshift.data import conllu
from bertshift.errors import UserError
from bertshift.models.biaffine import DependencyParser
from bertshift.models.tokenizer import join, layout_of, word_pieces
from bertshift.tasks import scores
from bertshift.tasks.batching import IGNORED, Encoded, cross_entropy, pad
from bertshift.tasks.inference import evaluated
from bertshift.tasks.spanning_tree import best_tree

log = logging.getLogger(__name__)

METRICS = (
    "las_ud",
    "las_full",
    "las_nopunct",
    "uas",
    "label_accuracy_gold_heads",
    "las_wordpiece",
)
NONE = IGNORED
UNREAD = (-1, "_")  # said of a word that the encoder did not see


class Parse(NamedTuple):
    """A parsed sentence: each word's (head, label), its best label under the gold head, and its
    number of pieces."""

    arcs: list[tuple[int, str]]
    under_gold: list[str]
    pieces: list[int]


@dataclass(frozen=True)
class DependencyParsing:
    """Rows are sentences of a treebank: id, words, upos, heads (from 1; 0 is the root), deprels.

    [CLS] stands for the root, a word's first piece for the word. A sentence of more than
    `max_length` pieces is not trained on, and read up to the last word that fits. `labels` are the
    relations of the training split, sorted.
    """

    name: str
    dataset: str
    metrics: tuple[str, ...]
    max_length: int
    labels: tuple[str, ...]

    def __post_init__(self):
        scores.pick(self.metrics, dict.fromkeys(METRICS), self.name)

    def model(self, encoder: PreTrainedModel, seed: int) -> DependencyParser:
        return DependencyParser(encoder, self.labels, seed)

    def check(self, rows: dict[str, list[dict]]) -> None:
        """Raise UserError for a sentence that is not a tree. Labels that cannot be learned are
        counted in the log."""
        for split, members in rows.items():
            for row in members:
                conllu.check(row, f"{self.dataset}, split {split}, {row['id']}")
            labels = _flat(row["deprels"] for row in members)
            if unknown := set(labels).difference(self.labels):
                log.warning(
                    "%s: %d of %d words of split %s have relations that split train lacks (%s);"
                    " none is ever predicted.",
                    self.dataset,
                    sum(label in unknown for label in labels),
                    len(labels),
                    split,
                    ", ".join(sorted(unknown)),
                )

    def encode(
        self, rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase
    ) -> tuple[list[Encoded], list[list[int]]]:
        """Make inputs, and count each word's pieces.

        The target is a (first token, head, label) for the root and every word that is read; NONE
        for the root's head, for one that is not read, and for a label that is not known.
        """
        number = {label: i for i, label in enumerate(self.labels)}
        examples, counts = [], []
        for row, pieces in zip(
            rows, word_pieces(tokenizer, [row["words"] for row in rows]), strict=True
        ):
            counts.append([len(ids) for ids in pieces])
            before, after = map(len, layout_of(tokenizer).one)
            starts = list(accumulate(counts[-1], initial=before))
            read = sum(end <= self.max_length - after for end in starts[1:])
            target = [
                (start, head if head <= read else NONE, number.get(label, NONE))
                for start, head, label in zip(starts[:read], row["heads"], row["deprels"])
            ]
            inputs = join(tokenizer, _flat(pieces[:read]))
            examples.append(Encoded(*inputs, [(0, NONE, NONE), *target]))
        return examples, counts

    def training_examples(
        self, rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase
    ) -> list[Encoded]:
        examples, counts = self.encode(rows, tokenizer)
        whole = [
            e for e, words in zip(examples, counts, strict=True) if len(e.target) == len(words) + 1
        ]
        if lost := len(rows) - len(whole):
            log.warning(
                "%s: %d of %d sentences have more than %d pieces and are left out of training.",
                self.dataset,
                lost,
                len(rows),
                self.max_length,
            )
        if not whole:
            raise UserError(
                f"tasks.{self.name}: no sentence of {self.dataset} has at most max_length"
                f" {self.max_length} pieces; write a larger max_length."
            )
        return whole

    @staticmethod
    def collate(examples: Sequence[Encoded], pad_id: int) -> dict[str, Tensor | None]:
        """Pad examples; `targets` are [sentences, longest, 3] as in `encode`, NONE throughout for
        padding."""
        targets = [torch.tensor(example.target) for example in examples]
        return pad(examples, pad_id) | {
            "targets": pad_sequence(targets, batch_first=True, padding_value=NONE)
        }

    @staticmethod
    def loss(
        model: nn.Module, batch: dict[str, Tensor | None], whole: dict | None = None
    ) -> Tensor:
        """Add the cross-entropies of the heads and of the labels under the gold heads, each
        averaged over words."""
        inputs = dict(batch)
        first, heads, labels = inputs.pop("targets").unbind(-1)
        states = model(**inputs, first=first)
        arc_scores = model.head.arc_scores(states, first >= 0)
        label_scores = model.head.label_scores(states, heads.clamp(min=0))
        _, all_heads, all_labels = (None,) * 3 if whole is None else whole["targets"].unbind(-1)
        return cross_entropy(arc_scores.mT, heads, all_heads) + cross_entropy(
            label_scores.mT, labels, all_labels
        )

    def predict(
        self, model: nn.Module, rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase
    ) -> list[Parse]:
        """Predict the best tree with one root for each sentence, and the best label of each of its
        arcs.

        Words beyond `max_length` get UNREAD, which is wrong, and are counted in the log.
        """
        examples, counts = self.encode(rows, tokenizer)
        unread = [
            len(words) + 1 - len(e.target) for e, words in zip(examples, counts, strict=True)
        ]
        if any(unread):
            log.warning(
                "%s: %d words of %d sentences lie beyond %d pieces and count as wrong.",
                self.dataset,
                sum(unread),
                np.count_nonzero(unread),
                self.max_length,
            )
        names = [*self.labels, UNREAD[1]]
        parses: list[Parse | None] = [None] * len(rows)
        collate = partial(self.collate, pad_id=tokenizer.pad_token_id)
        for batch, best in evaluated(model, examples, collate, partial(best_parses, model)):
            for i, *found in zip(batch, *best, strict=True):
                words = slice(1, len(examples[i].target))
                heads, labels, under_gold = (
                    np.pad(values[words], (0, unread[i]), constant_values=-1).tolist()
                    for values in found
                )
                arcs = [(head, names[label]) for head, label in zip(heads, labels, strict=True)]
                parses[i] = Parse(arcs, [names[label] for label in under_gold], counts[i])
        return parses

    def score(self, rows: Sequence[dict], parses: Sequence[Parse]) -> dict[str, float]:
        """Score parses by shares of words, punctuation included and subtypes of relations
        ("obl:tmod") ignored, if nothing else is said.

        las_ud: head and relation are right. las_full: the subtype too. las_nopunct: las_ud of
        words whose upos is not PUNCT. uas: the head is right. label_accuracy_gold_heads: the
        relation with its subtype, under the right head. las_wordpiece: las_ud of word pieces, of
        which all but a word's first are right wherever the word was read.
        """
        said = _flat(parse.arcs for parse in parses)
        right = scores.attachment(_flat(map(_gold, rows)), said)
        spoken = np.array(_flat(row["upos"] for row in rows)) != "PUNCT"
        read = np.array([arc != UNREAD for arc in said])
        pieces = np.array(_flat(parse.pieces for parse in parses))
        found = {name: values.mean() for name, values in right.items()} | {
            "las_nopunct": right["las_ud"].sum(where=spoken) / max(1, spoken.sum()),
            "label_accuracy_gold_heads": scores.accuracy(
                _flat(row["deprels"] for row in rows), _flat(parse.under_gold for parse in parses)
            ),
            "las_wordpiece": (right["las_ud"] + read * (pieces - 1)).sum() / pieces.sum(),
        }
        return {name: float(found[name]) for name in self.metrics}

    def majority(self, train: Sequence[dict], dev: Sequence[dict]) -> dict[str, float]:
        """Score on `dev` hanging every word on the one before it, or every word on the next, with
        one label.

        Which of the two, with which label, is right for more words of `dev` (las_ud), then of
        `train`; the word at the chain's end is the root. There is no las_wordpiece, for want of
        word pieces.
        """
        chains = lambda words: [*range(words)], lambda words: [*range(2, words + 1), 0]

        def right(rows: Sequence[dict]) -> Iterable[tuple[int, str]]:
            for row, (i, heads) in product(rows, enumerate(chains)):
                for said, (head, label) in zip(heads(len(row["heads"])), _gold(row), strict=True):
                    if said == head:
                        yield i, label.partition(":")[0]

        labels = sorted({label.partition(":")[0] for label in self.labels})
        i, label = scores.most_frequent(
            product(range(len(chains)), labels), right(dev), right(train)
        )
        sizes = [len(row["words"]) for row in dev]
        parses = [
            Parse([(head, label) for head in chains[i](n)], [label] * n, [1] * n) for n in sizes
        ]
        found = self.score(dev, parses)
        return {name: value for name, value in found.items() if name != "las_wordpiece"}

    def columns(self, rows: Sequence[dict], parses: Sequence[Parse]) -> dict[str, list]:
        """Make the columns of predictions.tsv: "head:label" of each word, and the share of words
        that are right (las_ud)."""
        pairs = [(_gold(row), parse.arcs) for row, parse in zip(rows, parses, strict=True)]
        return {
            "gold": [_written(gold) for gold, _ in pairs],
            "prediction": [_written(said) for _, said in pairs],
            "correct": [float(scores.attachment(*pair)["las_ud"].mean()) for pair in pairs],
        }


@torch.inference_mode()
def best_parses(
    model: DependencyParser, batch: dict[str, Tensor | None]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the best heads, their labels, and the labels under the gold heads, each [sentences,
    longest], column 0 for the root.

    A label under a gold head is -1 where that is NONE.
    """
    inputs = dict(batch)
    first, gold, _ = inputs.pop("targets").unbind(-1)
    states = model(**inputs, first=first)
    arc_scores = model.head.arc_scores(states, first >= 0).cpu().numpy()
    heads = np.zeros(first.shape, dtype=np.int64)
    for row, size in enumerate((first >= 0).sum(1).tolist()):
        heads[row, 1:size] = best_tree(arc_scores[row, :size, :size])
    under = [torch.from_numpy(heads).to(gold.device), gold.clamp(min=0)]
    labels, under_gold = (model.head.label_scores(states, each).argmax(-1) for each in under)
    return heads, labels.cpu().numpy(), under_gold.masked_fill(gold == NONE, -1).cpu().numpy()


def _gold(row: dict) -> list[tuple[int, str]]:
    return list(zip(row["heads"], row["deprels"], strict=True))


def _written(arcs: Sequence[tuple[int, str]]) -> str:
    return " ".join(f"{head}:{label}" for head, label in arcs)


def _flat(parts: Iterable[Iterable]) -> list:
    return list(chain.from_iterable(parts))
