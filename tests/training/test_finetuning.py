import os
import re
import signal

import numpy as np
import pandas as pd
import pytest
import torch
from fine_tuning import finetune
from made_sidecars import sidecar
from made_toys import SETTINGS as TASK
from made_toys import TOKENIZER, VOCABULARY
from safetensors.torch import load_file
from transformers import BertConfig, BertForPreTraining

from bertshift.errors import UserError
from bertshift.files import read_json, sha256, write_json, write_jsonl
from bertshift.models.heads import load_task_model
from bertshift.models.loading import save_model
from bertshift.models.tokenizer import load_tokenizer
from bertshift.training import finetuning
from bertshift.training.finetuning import trainer, write_snapshots
from bertshift.training.settings import TrainSettings

torch.set_num_threads(1)
SIDECAR = sidecar(train=96, dev=48)
SETTINGS = TrainSettings(
    learning_rate=3e-3, batch_size=8, epochs=4, norms_every=5, checkpoint_minutes=0
)


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(VOCABULARY), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=64, initializer_range=0.1, max_position_embeddings=16)  # fmt: skip
    folder = tmp_path_factory.mktemp("start")
    save_model(folder, BertForPreTraining(config), TOKENIZER)
    return folder


@pytest.fixture(scope="module")
def rows():
    """Yes if there is an "a"."""
    rng = np.random.default_rng(0)

    def row(split, i):
        text = " ".join(rng.choice(list("abcdefgh"), size=rng.integers(2, 6)))
        return {
            "id": f"{split}-{i}",
            "split": split,
            "text_a": text,
            "label": ["no", "yes"]["a" in text],
        }

    return {
        split: [row(split, i) for i in range(size)] for split, size in (("train", 96), ("dev", 40))
    }


def weights(folder):
    state = load_file(folder / "model.safetensors")
    return {re.sub(r"^bert\.", "encoder.", name): weight for name, weight in state.items()}


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


def test_a_run_leaves_a_model_scores_and_predictions(start, rows, tmp_path):
    run = tmp_path / "run"
    longer = TrainSettings(learning_rate=5e-3, batch_size=8, epochs=15)
    result = finetune(TASK, rows, SIDECAR, start, run, longer, 1)
    assert result == read_json(run / "scores.json")
    assert (
        result["metric"] == "f1"
        and result["scores"]["accuracy"] > result["majority"]["accuracy"] + 0.1
    )
    assert result["rows"] == {"train": 96, "dev": 40} and result["sampled"] == {
        "train": False,
        "dev": False,
    }
    predictions = pd.read_csv(run / "predictions.tsv", sep="\t")
    assert list(predictions) == ["id", "gold", "prediction"]
    assert (predictions.gold == predictions.prediction).mean() == pytest.approx(
        result["scores"]["accuracy"]
    )
    assert {"steps.tsv", "layers.tsv", "config.json", "tokenizer.json"} < {
        p.name for p in run.iterdir()
    }
    assert not list(run.glob(".*"))
    assert load_task_model(run).head.out_features == 2


def test_finished_work_is_kept_and_another_recipe_redone(start, rows, tmp_path, monkeypatch):
    first = finetune(TASK, rows, SIDECAR, start, tmp_path, SETTINGS, 1)
    kept = weights(tmp_path)

    with monkeypatch.context() as patch:
        patch.setattr(finetuning, "train", lambda *_: pytest.fail("trained again"))
        assert finetune(TASK, rows, SIDECAR, start, tmp_path, SETTINGS, 1) == first
        (tmp_path / "scores.json").unlink()  # killed between training and scoring
        assert finetune(TASK, rows, SIDECAR, start, tmp_path, SETTINGS, 1) == first
    finetune(TASK, rows, SIDECAR, start, tmp_path, SETTINGS, 2)
    assert not same(weights(tmp_path), kept)


def killed_at_20(monkeypatch):
    """The batches that are made from now on; at the twentieth this process gets a SIGTERM."""
    collate, batches = finetuning.load_task(TASK, SIDECAR).collate, []

    def counted(examples, pad_id):
        batches.append(examples)
        if len(batches) == 20:
            os.kill(os.getpid(), signal.SIGTERM)
        return collate(examples, pad_id)

    monkeypatch.setattr(
        "bertshift.tasks.text_classification.TextClassification.collate", staticmethod(counted)
    )
    return batches


def test_snapshots_are_a_runs_models_on_its_way(start, rows, tmp_path):
    whole = tmp_path / "whole"
    scores = finetune(TASK, rows, SIDECAR, start, whole, SETTINGS, 1)
    inputs = finetuning.Inputs(TASK, rows, SIDECAR, start)
    counts = {0: 0, 11: 5, 12: 6, 99: 48}  # steps of 48 by per cent
    folders = {share: tmp_path / f"at{share}" for share in counts}
    write_snapshots(inputs, start, folders, SETTINGS, 1)
    steps = (whole / "steps.tsv").read_text().splitlines()
    files = {path.name for path in whole.iterdir()} - {"recipe.json"}
    told = {share: read_json(folder / "scores.json") for share, folder in folders.items()}
    for share, count in counts.items():
        assert (folders[share] / "steps.tsv").read_text().splitlines() == steps[: count + 1]
        assert {path.name for path in folders[share].iterdir()} == files
        assert told[share]["epochs"] == count / 12
        assert told[share]["scores"] == scores_of(folders[share], rows)
    untrained = finetuning.starting_model(inputs.task, start, 1).state_dict()
    assert all(torch.equal(one, untrained[key]) for key, one in weights(folders[0]).items())
    assert same(weights(folders[99]), weights(whole))
    assert told[99] == scores and told[0]["loss"] is None


def scores_of(folder, rows):
    """Return the dev scores of the model as it lies in a folder."""
    task = finetuning.load_task(TASK, SIDECAR)
    return finetuning.evaluate(task, load_task_model(folder), rows["dev"], load_tokenizer(folder))[
        0
    ]


@pytest.fixture
def adapted(start, rows, tmp_path):
    """A function (folder, alpha) that fine-tunes `toy.lora2` into that folder, or writes its
    snapshots into those of shares."""
    data = tmp_path / "data"
    write_jsonl(data / "examples.jsonl", [row for split in rows.values() for row in split])
    write_json(
        data / "dataset.json", SIDECAR | {"examples_sha256": sha256(data / "examples.jsonl")}
    )
    how = {
        "learning_rate": 2e-2,
        "batch_size": 8,
        "epochs": 4,
        "norms_every": 5,
        "checkpoint_minutes": 0,
    }

    def run(name, alpha=16, shares=()):
        training = how | {"lora_alpha": alpha, "lora_dropout": 0.1}
        settings = {"task": TASK, "training": training, "variants": ["lora2"], "seed": 1}
        folders = {share: tmp_path / f"{name}{share}" for share in shares}
        return trainer(start, data)(
            settings, folders or tmp_path / name
        ), folders or tmp_path / name

    return run


def test_adapters_are_trained_and_merged_in_snapshots_too(start, rows, adapted):
    scores, run = adapted("run")
    _, snapshots = adapted("at", shares=(50,))
    before = weights(start)
    same_names = {key for key in before if not key.startswith("cls.")}
    projections = {
        f"encoder.encoder.layer.{layer}.attention.{part}.weight"
        for layer in (0, 1)
        for part in ("self.query", "self.key", "self.value", "output.dense")
    }
    for folder in (run, snapshots[50]):
        after = weights(folder)
        assert after.keys() == same_names | {"head.weight", "head.bias"}
        moved = {key for key in same_names if not torch.equal(before[key], after[key])}
        assert moved == projections | {"encoder.pooler.dense.weight", "encoder.pooler.dense.bias"}
        for key in projections:
            assert torch.linalg.matrix_rank((after[key] - before[key]).double(), rtol=1e-4) == 2
        assert read_json(folder / "scores.json")["scores"] == scores_of(folder, rows)
    assert scores["epochs"] == 4 and scores_of(snapshots[50], rows) != scores["scores"]


def test_a_killed_run_with_adapters_ends_with_the_same_bytes(adapted, monkeypatch):
    _, whole = adapted("whole")
    batches = killed_at_20(monkeypatch)
    with pytest.raises(SystemExit) as stopped:
        adapted("killed")
    assert stopped.value.code == 143 and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    _, killed = adapted("killed")
    assert len(batches) == 48
    files = {path.name for path in whole.iterdir()}
    assert files == {path.name for path in killed.iterdir()} > {"model.safetensors", "layers.tsv"}
    assert all((whole / name).read_bytes() == (killed / name).read_bytes() for name in files)
    adapted("killed", alpha=8)  # is another model, so it is trained
    assert len(batches) == 96


def test_a_head_can_be_carried_to_the_next_task(start, tmp_path):
    task = finetuning.load_task(TASK, SIDECAR)
    model = finetuning.starting_model(task, start, 1)
    torch.nn.init.normal_(model.head.weight)
    save_model(tmp_path, model, TOKENIZER)
    fresh = finetuning.starting_model(task, tmp_path, 2).state_dict()
    carried = finetuning.starting_model(task, tmp_path, 2, head_from=tmp_path).state_dict()
    assert same(carried, model.state_dict())
    assert {key for key in fresh if not torch.equal(fresh[key], carried[key])} == {"head.weight"}
    three = finetuning.load_task(TASK | {"metrics": ["accuracy"]}, {"labels": ["x", "y", "z"]})
    with pytest.raises(UserError, match="2 outputs of width 32, task toy needs 3"):
        finetuning.starting_model(three, tmp_path, 2, head_from=tmp_path)


def test_sampled_runs_say_so(start, rows, tmp_path):
    settings, task = SETTINGS, TASK | {"max_train": 20, "max_dev": 50}
    result = finetune(task, rows, SIDECAR, start, tmp_path, settings, 1)
    assert result["rows"] == {"train": 20, "dev": 40}
    assert result["sampled"] == {"train": True, "dev": False}


@pytest.mark.parametrize(
    ("words", "change", "rate"),
    [
        ("toys has no rows in split dev", lambda rows: rows | {"dev": []}, 1e-3),
        ("toys has no rows in split train", lambda rows: {"dev": rows["dev"]}, 1e-3),
        ("all .* label 'no'", lambda rows: rows | {"train": [r for r in rows["train"] if r["label"] == "no"]}, 1e-3),
        ("the loss of .* is (nan|inf)", lambda rows: rows, 1e30),
        ("write max_length 16", lambda rows: rows | {"train": [r | {"text_a": "a b c " * 9} for r in rows["train"]]}, 1e-3),
    ],
)  # fmt: skip
def test_what_cannot_be_trained_is_refused(start, rows, tmp_path, words, change, rate):
    settings = TrainSettings(learning_rate=rate, batch_size=8, epochs=2, max_grad_norm=0)
    with pytest.raises(UserError, match=words):
        finetune(TASK | {"max_length": 32}, change(rows), SIDECAR, start, tmp_path, settings, 1)
    assert not (tmp_path / "scores.json").exists()
