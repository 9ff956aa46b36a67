"""The answers of models that the workflow has fine-tuned, by heads of its own."""

import shutil

import numpy as np
import pandas as pd
import pytest
from fine_tuning import finetune
from made_toys import SETTINGS, TOKENIZER, bert_with
from training.toy_data import toy_rows, write_data
from transformers import BertForMaskedLM

import bertshift
from bertshift.api.models import head_of
from bertshift.models.heads import load_task_model
from bertshift.models.loading import save_model
from bertshift.models.tokenizer import load_tokenizer
from bertshift.tasks.batching import Encoded
from bertshift.tasks.inference import predict_logits
from bertshift.training.settings import TrainSettings

TRAINING = TrainSettings(learning_rate=5e-3, batch_size=8, epochs=6)
ROWS = toy_rows(train=96, dev=24)
TEXTS = [row["text_a"] for row in ROWS["dev"]]
LABELS = [row["label"] for row in ROWS["dev"]]
SIDECAR = {"labels": ["no", "yes"], "origin": "world", "published": None, "name": "toys"}


def in_pairs(rows, regression=False):
    """Give each text a second one, which has fewer letters."""
    rows = [row | {"text_b": row["text_a"][:1]} for row in rows]
    if regression:
        rows = [row | {"label": float(len(row["text_a"]))} for row in rows]
    return rows


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Two seeds of a classifier, one of pairs and one of a regression, as the workflow leaves
    them, and the model that they began with."""
    folder = tmp_path_factory.mktemp("results")
    write_data(folder / "data/toys", ROWS)
    start = folder / "pretrained/base/init1"
    encoder = bert_with(TOKENIZER, layers=1, initializer_range=0.1)
    save_model(start, BertForMaskedLM(encoder.config), TOKENIZER)

    def train(name, rows, seed, **task):
        task = SETTINGS | {"metrics": ["accuracy"]} | task
        run = folder / f"models/{name}/init1_seed{seed}"
        data = SIDECAR | {"rows": {split: len(part) for split, part in rows.items()}}
        finetune(task, rows, data, start, run, TRAINING, seed)

    pairs = {split: in_pairs(rows) for split, rows in ROWS.items()}
    numbers = {split: in_pairs(rows, regression=True) for split, rows in ROWS.items()}
    train("toy", ROWS, 1)
    train("toy", ROWS, 2)
    train("pairs", pairs, 1)
    train("length", numbers, 1, dataset="lengths", kind="regression", metrics=["pearson"])
    return folder


def run_of(results, name, seed=1):
    return results / f"models/{name}/init1_seed{seed}"


def predictions(run):
    """The answers on dev that the fine-tuning itself has written."""
    return pd.read_csv(run / "predictions.tsv", sep="\t")["prediction"]


def compared(model, reference, texts=TEXTS, **options):
    return bertshift.compare(model, reference, texts, measures="rsa", made=False, **options)


def test_two_seeds_answer_as_they_were_scored(results):
    change = compared(run_of(results, "toy"), run_of(results, "toy", 2), labels=LABELS)
    for column, seed in (("answer", 1), ("reference_answer", 2)):
        expected = predictions(run_of(results, "toy", seed))
        assert change.answers.texts[column].tolist() == expected.tolist()
        assert {*expected} == {"no", "yes"}
    table = change.behaviour.set_index("measure")["value"]
    assert table["accuracy"] == (change.answers.texts["answer"] == LABELS).mean()
    assert table["js"] > 0 and "gets another answer" in change.report[1]


def test_pairs_are_answered_as_pairs(results):
    run, pairs = run_of(results, "pairs"), in_pairs(ROWS["dev"])
    texts = [(row["text_a"], row["text_b"]) for row in pairs]
    found = compared(run, run, texts).answers.texts["answer"]
    model, tokenizer = load_task_model(run), load_tokenizer(run)
    encoded = [tokenizer(*pair, return_token_type_ids=True) for pair in texts]
    examples = [Encoded(one["input_ids"], one["token_type_ids"], 0) for one in encoded]
    logits = np.stack(predict_logits(model, examples, tokenizer.pad_token_id))
    assert found.tolist() == np.array(["no", "yes"])[logits.argmax(1)].tolist()


def test_a_regression_gives_its_number(results):
    run = run_of(results, "length")
    texts = [(row["text_a"], row["text_b"]) for row in in_pairs(ROWS["dev"])]
    outputs = compared(run, run, texts).answers.texts["answer"]
    np.testing.assert_allclose(outputs, predictions(run), rtol=1e-4)


def test_what_has_no_answer_in_common_is_said(results):
    base, toy = results / "pretrained/base/init1", run_of(results, "toy")
    change = compared(toy, base)
    assert change.behaviour.empty
    assert f"{toy} has the labels no, yes and {base} predicts masked words" in change.report[1]
    change = compared(toy, run_of(results, "length"))
    assert f"{run_of(results, 'length')} gives a number" in change.report[1]


def test_classes_of_a_folder_elsewhere_have_numbers(results, tmp_path):
    run = tmp_path / "a/b/c"
    shutil.copytree(run_of(results, "toy"), run)
    assert head_of(run).labels == ("toys 0", "toys 1")
    change = compared(run, run, labels=[0] * len(TEXTS))
    assert set(change.answers.texts["answer"]) <= {"toys 0", "toys 1"}
    (run / "scores.json").unlink()
    assert "has no scores.json, which says" in head_of(run).reason


def test_other_heads_are_not_asked(results, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(run_of(results, "toy"), run)
    config = (run / "config.json").read_text()
    (run / "config.json").write_text(config.replace("SequenceClassifier", "SpanClassifier"))
    reason = head_of(run).reason
    assert reason == f"{run} (SpanClassifier) has a head that does not classify texts"
