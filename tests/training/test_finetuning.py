import os
import re
import signal
from dataclasses import asdict, replace
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import torch
from fine_tuning import finetune
from made_encoders import changed
from made_sidecars import sidecar
from made_toys import SETTINGS as TASK
from made_toys import TOKENIZER, bert_with
from safetensors.torch import load_file
from training.toy_data import toy_rows, write_data
from transformers import BertForPreTraining

from bertshift.errors import UserError
from bertshift.files import read_json
from bertshift.models.heads import load_task_model
from bertshift.models.loading import save_model
from bertshift.models.tokenizer import load_tokenizer
from bertshift.tasks.text_classification import TextClassification
from bertshift.training import finetuning
from bertshift.training.finetuning import trainer, write_snapshots
from bertshift.training.settings import TrainSettings

SIDECAR = sidecar(train=96, dev=48)
SETTINGS = TrainSettings(
    learning_rate=3e-3, batch_size=8, epochs=4, norms_every=5, checkpoint_minutes=0
)


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    encoder = bert_with(TOKENIZER, layers=2, initializer_range=0.1)
    folder = tmp_path_factory.mktemp("start")
    save_model(folder, BertForPreTraining(encoder.config), TOKENIZER)
    return folder


@pytest.fixture(scope="module")
def rows():
    return toy_rows(train=96, dev=40)


def weights(folder):
    state = load_file(folder / "model.safetensors")
    return {re.sub(r"^bert\.", "encoder.", name): weight for name, weight in state.items()}


def identical(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


def test_a_run_leaves_a_model_scores_and_predictions(start, rows, tmp_path):
    longer = TrainSettings(learning_rate=5e-3, batch_size=8, epochs=15)
    sampled = TASK | {"max_train": 100, "max_dev": 30}
    result = finetune(sampled, rows, SIDECAR, start, tmp_path, longer, 1)
    assert result["rows"] == {"train": 96, "dev": 30}
    assert result["sampled"] == {"train": False, "dev": True}
    assert result == read_json(tmp_path / "scores.json") and result["metric"] == "f1"
    accuracy = result["scores"]["accuracy"]
    assert accuracy > result["majority"]["accuracy"] + 0.1
    predictions = pd.read_csv(tmp_path / "predictions.tsv", sep="\t")
    assert list(predictions) == ["id", "gold", "prediction"]
    assert (predictions.gold == predictions.prediction).mean() == pytest.approx(accuracy)
    assert not list(tmp_path.glob(".*"))
    assert load_task_model(tmp_path).head.out_features == 2


def test_standardised_labels_are_learnt_and_predicted(start, rows, tmp_path):
    rated = {
        split: [row | {"label": 3.0 + (row["label"] == "yes")} for row in members]
        for split, members in rows.items()
    }
    task = TASK | {"kind": "regression", "metrics": ["pearson"], "standardise_labels": True}
    settings = replace(SETTINGS, epochs=0, steps=1)
    finetune(task, rated, sidecar(train=96, dev=48), start, tmp_path, settings, 1)
    train = np.array([row["label"] for row in rated["train"]])
    dev = np.array([row["label"] for row in rated["dev"]])
    gold = pd.read_csv(tmp_path / "predictions.tsv", sep="\t").gold
    np.testing.assert_allclose(gold, (dev - train.mean()) / train.std())


def test_finished_work_is_kept_and_another_recipe_redone(start, rows, tmp_path, monkeypatch):
    def run(**changes):
        settings = replace(SETTINGS, epochs=1, **changes)
        return finetune(TASK, rows, SIDECAR, start, tmp_path, settings, 1)

    first = run()
    monkeypatch.setattr(finetuning, "train", Mock(side_effect=RuntimeError("trained again")))
    assert run() == first
    (tmp_path / "scores.json").unlink()  # killed between training and scoring
    assert run() == first
    with pytest.raises(RuntimeError, match="trained again"):
        run(code="another")


def test_a_run_that_was_killed_while_it_was_scored_is_not_trained_again(
    start, rows, tmp_path, monkeypatch, capfd
):
    settings = replace(SETTINGS, epochs=1, checkpoint_minutes=1e-9)

    def run(folder):
        return finetune(TASK, rows, SIDECAR, start, folder, settings, 1)

    killed, whole = tmp_path / "killed", tmp_path / "whole"
    scores = run(whole)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(finetuning, "evaluate", Mock(side_effect=KeyboardInterrupt))
        run(killed)
    for file in killed.glob("[!.]*"):  # as Snakemake does with the outputs of a failed job
        file.unlink()
    capfd.readouterr()
    assert run(killed) == scores and identical(weights(killed), weights(whole))
    assert "resuming after step 11 of 12" in capfd.readouterr().err
    assert not list(killed.glob(".*"))


def killed_at_20(monkeypatch):
    """A list of the batches from now on; at the twentieth this process gets a SIGTERM."""
    collate, batches = TextClassification.collate, []

    def counted(examples, pad_id):
        batches.append(examples)
        if len(batches) == 20:
            os.kill(os.getpid(), signal.SIGTERM)
        return collate(examples, pad_id)

    monkeypatch.setattr(TextClassification, "collate", staticmethod(counted))
    return batches


def test_snapshots_are_the_models_that_a_run_passes_through(start, rows, tmp_path):
    finished = tmp_path / "finished"
    scores = finetune(TASK, rows, SIDECAR, start, finished, SETTINGS, 1)
    inputs = finetuning.Inputs(TASK, rows, SIDECAR, start)
    counts = {0: 0, 11: 5, 12: 6, 99: 48}  # steps of 48 by per cent
    folders = {share: tmp_path / f"at{share}" for share in counts}
    write_snapshots(inputs, start, folders, SETTINGS, 1)
    steps = (finished / "steps.tsv").read_text().splitlines()
    files = {path.name for path in finished.iterdir()} - {"recipe.json"}
    summaries = {share: read_json(folder / "scores.json") for share, folder in folders.items()}
    for share, count in counts.items():
        assert (folders[share] / "steps.tsv").read_text().splitlines() == steps[: count + 1]
        assert {path.name for path in folders[share].iterdir()} == files
        assert summaries[share]["epochs"] == count / 12
        assert summaries[share]["scores"] == scores_of(folders[share], rows)
    untrained = finetuning.starting_model(inputs.task, start, 1)
    assert not changed(weights(folders[0]), untrained)
    assert identical(weights(folders[99]), weights(finished))
    assert summaries[99] == scores and summaries[0]["loss"] is None


def scores_of(folder, rows):
    """Return the dev scores of the model in a folder."""
    task = finetuning.load_task(TASK, SIDECAR)
    model, tokenizer = load_task_model(folder), load_tokenizer(folder)
    return finetuning.evaluate(task, model, rows["dev"], tokenizer)[0]


@pytest.fixture
def adapted(start, rows, tmp_path):
    """A function that fine-tunes `toy.lora2` into a folder of this name, or its snapshots into
    folders by their shares."""
    data = tmp_path / "data"
    write_data(data, rows)
    training = asdict(SETTINGS) | {"learning_rate": 2e-2, "lora_dropout": 0.1}

    def run(name, alpha=16, shares=()):
        settings = {"task": TASK, "variants": ["lora2"], "seed": 1}
        settings["training"] = training | {"lora_alpha": alpha}
        folders = {share: tmp_path / f"{name}{share}" for share in shares} or tmp_path / name
        return trainer(start, data)(settings, folders), folders

    return run


def test_adapters_are_trained_and_merged_in_snapshots_too(start, rows, adapted):
    scores, run = adapted("run")
    _, snapshots = adapted("at", shares=(50,))
    before = weights(start)
    encoder = {key for key in before if not key.startswith("cls.")}
    projections = {
        f"encoder.encoder.layer.{layer}.attention.{part}.weight"
        for layer in (0, 1)
        for part in ("self.query", "self.key", "self.value", "output.dense")
    }
    for folder in (run, snapshots[50]):
        after = weights(folder)
        assert after.keys() == encoder | {"head.weight", "head.bias"}
        moved = {key for key in encoder if not torch.equal(before[key], after[key])}
        assert moved == projections | {"encoder.pooler.dense.weight", "encoder.pooler.dense.bias"}
        for key in projections:
            assert torch.linalg.matrix_rank((after[key] - before[key]).double(), rtol=1e-4) == 2
        assert read_json(folder / "scores.json")["scores"] == scores_of(folder, rows)
    assert scores["epochs"] == 4 and scores_of(snapshots[50], rows) != scores["scores"]


def test_a_killed_run_with_adapters_ends_with_the_same_bytes(adapted, monkeypatch):
    _, uninterrupted = adapted("uninterrupted")
    batches = killed_at_20(monkeypatch)
    with pytest.raises(SystemExit) as stopped:
        adapted("killed")
    assert stopped.value.code == 143 and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    _, killed = adapted("killed")
    assert len(batches) == 48
    contents = {path.name: path.read_bytes() for path in uninterrupted.iterdir()}
    assert {path.name: path.read_bytes() for path in killed.iterdir()} == contents
    assert contents.keys() > {"model.safetensors", "layers.tsv"}
    adapted("killed", alpha=8)  # is another model, so it is trained
    assert len(batches) == 96


def test_shuffled_labels_are_learnt_from_and_true_ones_scored(start, rows, tmp_path):
    data = tmp_path / "data"
    write_data(data, rows)
    train = trainer(start, data)
    shuffled = {}
    for name, variants, seed in (
        ("true", [], 1),
        ("one", ["shuffled"], 1),
        ("two", ["shuffled"], 2),
    ):
        run = {"task": TASK, "variants": variants, "seed": seed, "training": asdict(SETTINGS)}
        scores = train(run, tmp_path / name)
        shuffled[name] = scores["shuffled"], scores["data"]["train"].endswith("labels dealt anew")
        assert scores["scores"] == scores_of(tmp_path / name, rows)
        assert scores["majority"] == train(run | {"variants": []}, tmp_path / "true")["majority"]
    assert shuffled == {"true": (False, False), "one": (True, True), "two": (True, True)}
    logs = [pd.read_csv(tmp_path / name / "steps.tsv", sep="\t") for name in ("true", "one")]
    # The same batches under the same head, with other labels.
    assert len(logs[0]) == len(logs[1]) and logs[0]["loss"][0] != logs[1]["loss"][0]
    rows_read = {name: read_json(tmp_path / name / "recipe.json")["rows"] for name in shuffled}
    assert len({*rows_read.values()}) == 3


def test_a_head_can_be_carried_to_the_next_task(start, tmp_path):
    task = finetuning.load_task(TASK, SIDECAR)
    model = finetuning.starting_model(task, start, 1)
    torch.nn.init.normal_(model.head.weight)
    save_model(tmp_path, model, TOKENIZER)
    trained, fresh = model.state_dict(), finetuning.starting_model(task, tmp_path, 2)
    assert changed(trained, fresh) == {"head.weight"}
    carried = finetuning.starting_model(task, tmp_path, 2, head_from=tmp_path)
    assert not changed(trained, carried)
    three = finetuning.load_task(TASK | {"metrics": ["accuracy"]}, {"labels": ["x", "y", "z"]})
    with pytest.raises(UserError, match="2 outputs of width 32, task toy needs 3"):
        finetuning.starting_model(three, tmp_path, 2, head_from=tmp_path)


@pytest.mark.parametrize("split", ["train", "dev"])
def test_a_split_without_rows_is_named(start, rows, tmp_path, split):
    with pytest.raises(UserError, match=f"toys has no rows in split {split}"):
        finetune(TASK, rows | {split: []}, SIDECAR, start, tmp_path, SETTINGS, 1)


def test_texts_beyond_the_positions_of_the_encoder_are_told(start, rows, tmp_path):
    long = [row | {"text_a": "a b c " * 9} for row in rows["train"]]
    with pytest.raises(UserError, match="write max_length 16"):
        finetune(
            TASK | {"max_length": 32},
            rows | {"train": long},
            SIDECAR,
            start,
            tmp_path,
            SETTINGS,
            1,
        )
