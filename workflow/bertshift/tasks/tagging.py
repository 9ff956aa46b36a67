"""Part-of-speech tagging: one universal tag for each word of a treebank."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from bertshift.errors import UserError
from bertshift.models.heads import TokenClassifier
from bertshift.tasks import scores
from bertshift.tasks.batching import IGNORED, Encoded, cross_entropy, pad
from bertshift.tasks.inference import evaluated
from bertshift.tasks.words import encode_words, flatten, warn_of_unknown

log = logging.getLogger(__name__)

NONE = IGNORED
UNREAD = "_"  # the tag of a word that the encoder did not read


@dataclass(frozen=True)
class Tagging:
    """Rows are sentences of a treebank: id, words, upos. A word is tagged at its first piece.

    A sentence is read up to the last word that fits into `max_length` pieces. `labels` are the
    tags of the training split, sorted.
    """

    name: str
    dataset: str
    metrics: tuple[str, ...]
    max_length: int
    labels: tuple[str, ...]

    def __post_init__(self):
        scores.check_metrics(self.metrics, ["accuracy"], self.name)

    def model(self, encoder: PreTrainedModel, seed: int) -> TokenClassifier:
        return TokenClassifier(encoder, self.labels, seed)

    def check(self, rows: dict[str, list[dict]]) -> None:
        """Raise UserError for a sentence whose words and tags differ in number; unknown tags are
        counted in the log."""
        for split, members in rows.items():
            for row in members:
                if len(row["words"]) != len(row["upos"]):
                    raise UserError(
                        f"{self.dataset}, split {split}, {row['id']}: {len(row['words'])} words"
                        f" and {len(row['upos'])} tags; fetch the treebank again or correct it."
                    )
            warn_of_unknown(_list_gold_tags(members), self.labels, "tags", self.dataset, split)

    def encode(self, rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase) -> list[Encoded]:
        """Make inputs. The target is a (first token, tag) for every word that is read, NONE for an
        unknown tag."""
        number = {tag: index for index, tag in enumerate(self.labels)}
        examples = []
        sentences = encode_words(rows, tokenizer, self.max_length)
        for row, sentence in zip(rows, sentences, strict=True):
            tags = [number.get(tag, NONE) for tag in row["upos"]]
            target = list(zip(sentence.starts, tags))
            examples.append(Encoded(sentence.input_ids, sentence.token_type_ids, target))
        return examples

    def training_examples(
        self, rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase
    ) -> list[Encoded]:
        examples = [example for example in self.encode(rows, tokenizer) if example.target]
        if not examples:
            raise UserError(
                f"tasks.{self.name}: no word of {self.dataset} fits into max_length"
                f" {self.max_length}; write a larger max_length."
            )
        return examples

    @staticmethod
    def collate(examples: Sequence[Encoded], pad_id: int) -> dict[str, Tensor | None]:
        """Pad examples; `targets` are [sentences, longest, 2] as in `encode`, NONE for padding."""
        targets = [
            torch.tensor(example.target, dtype=torch.int64).reshape(-1, 2) for example in examples
        ]
        batch = pad(examples, pad_id)
        batch["targets"] = pad_sequence(targets, batch_first=True, padding_value=NONE)
        return batch

    @staticmethod
    def loss(
        model: nn.Module, batch: dict[str, Tensor | None], full_batch: dict | None = None
    ) -> Tensor:
        """Average the cross-entropy over words."""
        inputs = dict(batch)
        first, tags = inputs.pop("targets").unbind(-1)
        logits = model(**inputs, first=first).float()
        all_tags = None if full_batch is None else full_batch["targets"][..., 1]
        return cross_entropy(logits.flatten(0, 1), tags.flatten(), all_tags)

    @torch.inference_mode()
    def predict(
        self, model: nn.Module, rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase
    ) -> list[list[str]]:
        """Predict the tags of each sentence.

        Words beyond `max_length` get UNREAD, which is wrong, and are counted in the log.
        """
        examples = self.encode(rows, tokenizer)
        tags: list[list[str] | None] = [None] * len(rows)

        def best_tags(inputs: dict) -> list[list[int]]:
            first, _ = inputs.pop("targets").unbind(-1)
            return model(**inputs, first=first).argmax(-1).tolist()

        collate = partial(self.collate, pad_id=tokenizer.pad_token_id)
        for batch, best_of_batch in evaluated(model, examples, collate, best_tags):
            for index, best in zip(batch, best_of_batch, strict=True):
                read = len(examples[index].target)
                unread = len(rows[index]["words"]) - read
                tags[index] = [self.labels[number] for number in best[:read]]
                tags[index] += [UNREAD] * unread
        if unread := flatten(tags).count(UNREAD):
            log.warning(
                "%s: %d words lie beyond %d pieces and count as wrong.",
                self.dataset,
                unread,
                self.max_length,
            )
        return tags

    def score(self, rows: Sequence[dict], tags: Sequence[Sequence[str]]) -> dict[str, float]:
        """Score tags by accuracy: the share of correct words, punctuation included."""
        accuracy = scores.accuracy(_list_gold_tags(rows), flatten(tags))
        return dict.fromkeys(self.metrics, accuracy)

    def majority(self, train: Sequence[dict], dev: Sequence[dict]) -> dict[str, float]:
        """Score on `dev` giving every word the tag most frequent there; of equals, the more
        frequent in `train`."""
        tag = scores.most_frequent(self.labels, _list_gold_tags(dev), _list_gold_tags(train))
        return self.score(dev, [[tag] * len(row["words"]) for row in dev])

    def columns(self, rows: Sequence[dict], tags: Sequence[Sequence[str]]) -> dict[str, list]:
        """Make the columns of predictions.tsv: the tags of a sentence, and the share of its words
        that are correct."""
        gold = [row["upos"] for row in rows]
        return {
            "gold": [" ".join(sentence) for sentence in gold],
            "prediction": [" ".join(sentence) for sentence in tags],
            "correct": [scores.accuracy(*pair) for pair in zip(gold, tags, strict=True)],
        }


def _list_gold_tags(rows: Sequence[dict]) -> list[str]:
    return flatten(row["upos"] for row in rows)
