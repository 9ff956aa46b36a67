"""Part-of-speech tagging: one universal tag for each word of a treebank."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from bertshift.errors import UserError
from bertshift.models.heads import TokenClassifier
from bertshift.models.tokenizer import join, layout_of, word_pieces
from bertshift.tasks import scores
from bertshift.tasks.batching import IGNORED, Encoded, cross_entropy, pad
from bertshift.tasks.inference import evaluated

log = logging.getLogger(__name__)

NONE = IGNORED
UNREAD = "_"  # said of a word that the encoder did not see


@dataclass(frozen=True)
class Tagging:
    """Rows are sentences of a treebank: id, words, upos. A word's first piece stands for it.

    A sentence is read up to the last word that fits into `max_length` pieces. `labels` are the
    tags of the training split, sorted.
    """

    name: str
    dataset: str
    metrics: tuple[str, ...]
    max_length: int
    labels: tuple[str, ...]

    def __post_init__(self):
        scores.pick(self.metrics, {"accuracy": scores.accuracy}, self.name)

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
            tags = _flat(row["upos"] for row in members)
            if unknown := set(tags).difference(self.labels):
                log.warning(
                    "%s: %d of %d words of split %s have tags that split train lacks (%s); none is"
                    " ever predicted.",
                    self.dataset,
                    sum(tag in unknown for tag in tags),
                    len(tags),
                    split,
                    ", ".join(sorted(unknown)),
                )

    def encode(self, rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase) -> list[Encoded]:
        """Make inputs. The target is a (first token, tag) for every word that is read, NONE for an
        unknown tag."""
        number = {tag: i for i, tag in enumerate(self.labels)}
        examples = []
        for row, pieces in zip(
            rows, word_pieces(tokenizer, [row["words"] for row in rows]), strict=True
        ):
            before, after = map(len, layout_of(tokenizer).one)
            starts = list(accumulate(map(len, pieces), initial=before))
            read = sum(end <= self.max_length - after for end in starts[1:])
            target = [
                (start, number.get(tag, NONE)) for start, tag in zip(starts[:read], row["upos"])
            ]
            examples.append(Encoded(*join(tokenizer, _flat(pieces[:read])), target))
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
        return pad(examples, pad_id) | {
            "targets": pad_sequence(targets, batch_first=True, padding_value=NONE)
        }

    @staticmethod
    def loss(
        model: nn.Module, batch: dict[str, Tensor | None], whole: dict | None = None
    ) -> Tensor:
        """Average the cross-entropy over words."""
        inputs = dict(batch)
        first, tags = inputs.pop("targets").unbind(-1)
        logits = model(**inputs, first=first).float()
        return cross_entropy(
            logits.flatten(0, 1), tags.flatten(), whole and whole["targets"][..., 1]
        )

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
        for batch, found in evaluated(model, examples, collate, best_tags):
            for i, best in zip(batch, found, strict=True):
                said = [self.labels[number] for number in best[: len(examples[i].target)]]
                tags[i] = said + [UNREAD] * (len(rows[i]["words"]) - len(said))
        if unread := _flat(tags).count(UNREAD):
            log.warning(
                "%s: %d words lie beyond %d pieces and count as wrong.",
                self.dataset,
                unread,
                self.max_length,
            )
        return tags

    def score(self, rows: Sequence[dict], tags: Sequence[Sequence[str]]) -> dict[str, float]:
        """Score tags by accuracy: the share of words that are right, punctuation included."""
        right = scores.accuracy(_flat(row["upos"] for row in rows), _flat(tags))
        return dict.fromkeys(self.metrics, right)

    def majority(self, train: Sequence[dict], dev: Sequence[dict]) -> dict[str, float]:
        """Score on `dev` giving every word the tag most frequent there; of equals, the more
        frequent in `train`."""
        tag = scores.most_frequent(
            self.labels, *(_flat(row["upos"] for row in rows) for rows in (dev, train))
        )
        return self.score(dev, [[tag] * len(row["words"]) for row in dev])

    def columns(self, rows: Sequence[dict], tags: Sequence[Sequence[str]]) -> dict[str, list]:
        """Make the columns of predictions.tsv: the tags of a sentence, and the share of its words
        that are right."""
        gold = [row["upos"] for row in rows]
        return {
            "gold": list(map(" ".join, gold)),
            "prediction": list(map(" ".join, tags)),
            "correct": [scores.accuracy(*pair) for pair in zip(gold, tags, strict=True)],
        }


def _flat(parts) -> list:
    return list(chain.from_iterable(parts))
