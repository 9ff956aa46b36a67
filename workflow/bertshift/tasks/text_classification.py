"""Sentence and sentence-pair tasks: classes, or one real number."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from bertshift.errors import UserError
from bertshift.models.heads import SequenceClassifier
from bertshift.models.tokenizer import join, longest_first, pieces, special_tokens
from bertshift.tasks import scores
from bertshift.tasks.batching import Encoded, pad, scale_to_batch
from bertshift.tasks.inference import predict_logits


def encode_pairs(
    firsts: Sequence[str],
    seconds: Sequence[str] | None,
    tokenizer: PreTrainedTokenizerBase,
    max_length: int,
) -> list[tuple[list[int], list[int]]]:
    """Encode one text (`[CLS] a [SEP]`) or two: the tokenizer's (input_ids, token_type_ids), cut
    to `max_length`."""
    room = max_length - special_tokens(tokenizer, pair=seconds is not None)
    first_ids = pieces(tokenizer, firsts)
    if seconds is None:
        return [join(tokenizer, ids[:room]) for ids in first_ids]
    second_ids = pieces(tokenizer, seconds)
    inputs = []
    for a, b in zip(first_ids, second_ids, strict=True):
        keep_a, keep_b = longest_first(len(a), len(b), room)
        inputs.append(join(tokenizer, a[:keep_a], b[:keep_b]))
    return inputs


def standardise_labels(rows: Mapping[str, Sequence[dict]]) -> dict[str, list[dict]]:
    """Shift and scale the labels of a regression, by split, such that those of `train` have the
    mean 0 and the variance 1. A new head then need not learn the offset of the labels first."""
    labels = np.array([row["label"] for row in rows["train"]], dtype=np.float64)
    mean, deviation = labels.mean(), labels.std()
    return {
        split: [row | {"label": float((row["label"] - mean) / deviation)} for row in members]
        for split, members in rows.items()
    }


@dataclass(frozen=True)
class TextClassification:
    """One task; `labels` is the ordered list of classes, None for a regression.

    Rows have text_a, perhaps text_b, and label: one of `labels`, or a number.
    """

    name: str
    dataset: str
    metrics: tuple[str, ...]
    max_length: int
    labels: tuple[str, ...] | None

    def __post_init__(self):
        scores.check_metrics(self.metrics, self._suitable_scores(), self.name)
        if "f1" in self.metrics and len(self.labels) != 2:
            raise UserError(
                f"tasks.{self.name}.metrics: f1 needs two labels, {self.dataset} has"
                f" {len(self.labels)}; write macro_f1."
            )
        if self.metrics[0] == "f1" and "accuracy" not in self.metrics:
            raise UserError(
                f"tasks.{self.name}.metrics: f1 does not tell whether a run failed to train; add"
                " accuracy after it."
            )

    def _suitable_scores(self) -> dict[str, Callable]:
        return scores.REGRESSION_SCORES if self.labels is None else scores.CLASS_SCORES

    def model(self, encoder: PreTrainedModel, seed: int) -> SequenceClassifier:
        outputs = 1 if self.labels is None else len(self.labels)
        return SequenceClassifier(encoder, outputs, seed)

    def check(self, rows: dict[str, list[dict]]) -> None:
        """Raise UserError for an unknown label, or a training split from which nothing can be
        learned."""
        for split, members in rows.items():
            for row in members:
                self._parse_target(row, split)
        distinct = {row["label"] for row in rows["train"]}
        if len(distinct) < 2:
            raise UserError(
                f"{self.dataset}, split train: all {len(rows['train'])} examples have the label"
                f" {distinct.pop()!r}, so there is nothing to learn; give a split with several"
                " labels, or raise max_train."
            )

    def _parse_target(self, row: dict, split: str) -> int | float:
        label = row["label"]
        if self.labels is None:
            if isinstance(label, str) or not math.isfinite(label):
                raise UserError(
                    f"{self.dataset}, split {split}: label {label!r} of {row['id']} is not a"
                    " number."
                )
            return float(label)
        if label not in self.labels:
            raise UserError(
                f"{self.dataset}, split {split}: label {label!r} of {row['id']} is not one of"
                f" {', '.join(self.labels)}; list it under the data set's labels in"
                " config/datasets.yaml."
            )
        return self.labels.index(label)

    def targets(self, rows: Sequence[dict]) -> np.ndarray:
        """Return the targets [examples]: class numbers (int64), or values (float64)."""
        return np.array([self._parse_target(row, row.get("split", "dev")) for row in rows])

    def encode(self, rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase) -> list[Encoded]:
        has_pairs = bool(rows) and "text_b" in rows[0]
        firsts = [row["text_a"] for row in rows]
        seconds = [row["text_b"] for row in rows] if has_pairs else None
        inputs = encode_pairs(firsts, seconds, tokenizer, self.max_length)
        targets = self.targets(rows).tolist()
        return [
            Encoded(input_ids, token_type_ids, target)
            for (input_ids, token_type_ids), target in zip(inputs, targets, strict=True)
        ]

    def training_examples(
        self, rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase
    ) -> list[Encoded]:
        return self.encode(rows, tokenizer)

    @staticmethod
    def collate(examples: Sequence[Encoded], pad_id: int) -> dict[str, Tensor | None]:
        targets = torch.tensor([example.target for example in examples])
        if targets.is_floating_point():
            targets = targets.float()
        batch = pad(examples, pad_id)
        batch["targets"] = targets
        return batch

    @staticmethod
    def loss(
        model: nn.Module, batch: dict[str, Tensor | None], full_batch: dict | None = None
    ) -> Tensor:
        """Average over the batch the cross-entropy over classes, or for a regression the squared
        error."""
        inputs = dict(batch)
        targets = inputs.pop("targets")
        logits = model(**inputs).float()
        if targets.is_floating_point():
            value = F.mse_loss(logits[:, 0], targets)
        else:
            value = F.cross_entropy(logits, targets)
        return scale_to_batch(value, targets, full_batch)

    def predict(
        self, model: nn.Module, rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase
    ) -> np.ndarray:
        """Predict class numbers [examples], or values for a regression."""
        logits = predict_logits(model, self.encode(rows, tokenizer), tokenizer.pad_token_id)
        return self.decide(torch.stack(logits).numpy())

    def decide(self, logits: np.ndarray) -> np.ndarray:
        """Turn logits [examples, outputs] into class numbers [examples], or values for a
        regression."""
        if self.labels is None:
            return logits[:, 0].astype(np.float64)
        return logits.argmax(1)

    def score(self, rows: Sequence[dict], predictions: np.ndarray) -> dict[str, float]:
        metrics, gold = self._suitable_scores(), self.targets(rows)
        return {name: metrics[name](gold, predictions) for name in self.metrics}

    def majority(self, train: Sequence[dict], dev: Sequence[dict]) -> dict[str, float]:
        """Score on `dev` always predicting its most frequent label, the most accurate constant; in
        a regression its mean.

        Of labels equally frequent on `dev`, predict the one more frequent in `train`, then the
        first.
        """
        targets = self.targets(dev).tolist()
        if self.labels is None:
            constant = fmean(targets)
        else:
            classes = range(len(self.labels))
            train_targets = self.targets(train).tolist()
            constant = scores.most_frequent(classes, targets, train_targets)
        return self.score(dev, np.full(len(dev), constant))

    def columns(self, rows: Sequence[dict], predictions: np.ndarray) -> dict[str, list]:
        """Make the columns gold and prediction of predictions.tsv."""
        if self.labels is None:
            predicted = predictions.tolist()
        else:
            predicted = [self.labels[number] for number in predictions]
        return {"gold": [row["label"] for row in rows], "prediction": predicted}
