import numpy as np
import pytest
import scipy.stats
import torch
import torch.nn.functional as F
from made_toys import bert_with, tokenizer_with

from bertshift.errors import UserError
from bertshift.tasks.batching import Encoded
from bertshift.tasks.inference import predict_logits, token_batches
from bertshift.tasks.loading import load_task
from bertshift.tasks.text_classification import encode_pairs, standardise_labels

TOKENIZER = tokenizer_with("abcdefgh")
NLI = {
    "name": "nli",
    "dataset": "toy",
    "kind": "classification",
    "metrics": ["accuracy"],
    "max_length": 16,
}
STS = NLI | {"kind": "regression", "metrics": ["pearson", "spearman"]}
LABELS = {"labels": ["no", "yes"]}


def row(label, text="a b", split="train"):
    return {"id": f"{split}-0", "split": split, "text_a": text, "text_b": "c", "label": label}


def test_pairs_are_joined_with_segments_and_cut_from_the_longer_on_ties_from_the_second():
    [(ids, segments)] = encode_pairs(["a b c d"], ["E f zzz"], TOKENIZER, 8)
    assert TOKENIZER.decode(ids) == "[CLS] a b c [SEP] e f [SEP]"
    assert segments == [0] * 5 + [1] * 3
    [(ids, segments)] = encode_pairs(["a b c d"], None, TOKENIZER, 5)
    assert TOKENIZER.decode(ids) == "[CLS] a b c [SEP]" and segments == [0] * 5


@pytest.mark.parametrize(
    ("settings", "labels", "problem"),
    [
        (NLI, ["yes", "yes"], "split train: all 2 examples have the label 'yes'"),
        (NLI, ["yes", "perhaps"], "split train: label 'perhaps'"),
        (STS, [1.0, float("nan")], "nan .*not a number"),
    ],
)
def test_rows_that_cannot_be_learned_from_are_refused(settings, labels, problem):
    task = load_task(settings, LABELS if settings is NLI else {"labels": None})
    with pytest.raises(UserError, match=problem):
        task.check({"train": [*map(row, labels)], "dev": []})


@pytest.mark.parametrize(
    ("changes", "labels", "problem"),
    [
        ({"metrics": ["pearson"]}, ["no", "yes"], "metrics: 'pearson'"),
        ({"metrics": ["f1"]}, ["x", "y", "z"], "f1 needs two labels"),
        ({"metrics": ["f1"]}, ["no", "yes"], "add accuracy"),
        ({"kind": "parsing"}, ["no", "yes"], "kind: 'parsing'"),
    ],
)
def test_metrics_must_suit_the_task(changes, labels, problem):
    with pytest.raises(UserError, match=problem):
        load_task(NLI | changes, {"labels": labels})


def test_majority_is_that_of_what_is_scored():
    train, dev = ([*map(row, labels)] for labels in (["no", "yes", "yes"], ["no", "no", "yes"]))
    assert load_task(NLI, LABELS).majority(train, dev) == {"accuracy": 2 / 3}
    numbers = [row(1.0), row(2.0), row(4.0)]
    assert load_task(STS, {}).majority(numbers, numbers) == {"pearson": 0, "spearman": 0}


@pytest.mark.parametrize(
    ("settings", "labels", "gold", "loss"),
    [
        (NLI, ["no", "yes", "yes"], [0, 1, 1], F.cross_entropy),
        (STS, [0.0, 1.5, 5.0], [[0.0], [1.5], [5.0]], F.mse_loss),
    ],
)
def test_loss_is_that_of_the_logits(settings, labels, gold, loss):
    task = load_task(settings, LABELS)
    rows = [row(label, text) for label, text in zip(labels, ["a b", "d d d e", "h"], strict=True)]
    model = task.model(bert_with(TOKENIZER, layers=2), seed=1).eval()
    assert model.head.bias.abs().max() == 0 and model.head.weight.abs().max() <= 0.04
    examples = task.training_examples(rows, TOKENIZER)
    expected = loss(torch.stack(predict_logits(model, examples, 0)), torch.tensor(gold))
    batch = task.collate(examples, TOKENIZER.pad_token_id)
    torch.testing.assert_close(task.loss(model, batch), expected)
    assert task.columns(rows, task.predict(model, rows, TOKENIZER))["gold"] == labels


def test_predictions_do_not_depend_on_batches_and_keep_the_order(monkeypatch):
    task = load_task(NLI, LABELS)
    model = task.model(bert_with(TOKENIZER, layers=2), seed=1).train()
    examples = [Encoded([2, *range(5, 5 + n), 3], [0] * (n + 2)) for n in (3, 1, 8, 2, 2)]
    together = torch.stack(predict_logits(model, examples, 0))
    assert model.training
    monkeypatch.setattr("bertshift.tasks.inference.TOKENS_PER_BATCH", 1)
    alone = torch.cat([torch.stack(predict_logits(model, [example], 0)) for example in examples])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)
    assert list(token_batches([3, 9, 5, 4], budget=10)) == [[1], [2, 3], [0]]
    with pytest.raises(UserError, match="19 pieces, but the encoder has 16"):
        predict_logits(model, [Encoded([5] * 19, [0] * 19)], 0)


def test_labels_are_standardised_by_those_of_the_training_split():
    rows = {"train": [row(label) for label in (1.0, 2.0, 6.0)], "dev": [row(5.0, split="dev")]}
    made = standardise_labels(rows)
    expected = scipy.stats.zscore([1.0, 2.0, 6.0])
    assert [entry["label"] for entry in made["train"]] == pytest.approx(expected)
    assert made["dev"][0] == rows["dev"][0] | {"label": pytest.approx(2 / np.sqrt(14 / 3))}
