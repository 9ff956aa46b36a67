import json
import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from made_sidecars import sidecar
from made_toys import VOCABULARY
from transformers import BertConfig, BertForPreTraining, BertTokenizer

from bertshift.errors import UserError
from bertshift.files import sha256, write_json, write_jsonl
from bertshift.models.loading import save_model
from bertshift.rows.blocks import BLOCKS
from bertshift.rows.losses import thinned
from bertshift.training.loop import on_plateau
from bertshift.training.sweeps import sweep, sweep_tables

torch.set_num_threads(1)
TASK = {
    "name": "toy",
    "dataset": "toys",
    "kind": "classification",
    "metrics": ["accuracy"],
    "max_length": 16,
}
TRAINING = {"learning_rate": 3e-3, "batch_size": 8, "epochs": 2, "norms_every": 5}
RUNS = {
    name: {"task": TASK, "training": TRAINING, "variants": variants, "seed": 1}
    for name, variants in (
        ("toy", []),
        ("toy.reinit1", ["reinit1"]),
        ("toy.reinitL2H1", ["reinitL2H1"]),
    )
}


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """(start, data): a small encoder with dropout, and texts to tell apart by an "a"."""
    start, data = tmp_path_factory.mktemp("start"), tmp_path_factory.mktemp("data")
    torch.manual_seed(0)
    config = BertConfig(vocab_size=13, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                        intermediate_size=32, max_position_embeddings=16, initializer_range=0.2)  # fmt: skip
    tokenizer = BertTokenizer(vocab={word: i for i, word in enumerate(VOCABULARY[:13])})
    save_model(start, BertForPreTraining(config), tokenizer)
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefgh"), size=rng.integers(2, 6))) for _ in range(72)]
    labels = [["no", "yes"]["a" in text] for text in texts]
    rows = [
        {"id": str(i), "split": ["train", "dev"][i >= 48], "text_a": text, "label": label}
        for i, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    write_jsonl(data / "examples.jsonl", rows)
    digest = sha256(data / "examples.jsonl")
    write_json(
        data / "dataset.json", sidecar(train=48, dev=24, kind="sentence", examples_sha256=digest)
    )
    return start, data


def bytes_of(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def in_turn(places, tmp_path_factory):
    folder = tmp_path_factory.mktemp("in_turn")
    return folder, sweep(RUNS, *places, folder)


def test_side_by_side_is_the_same_to_the_bit(places, in_turn, tmp_path, capsys):
    folder, scores = in_turn
    assert sweep(RUNS, *places, tmp_path, at_once=2) == scores and list(scores) == list(RUNS)
    assert json.dumps(sweep(RUNS, *places, folder)) == json.dumps(scores)  # of the earlier call
    assert bytes_of(tmp_path) == bytes_of(folder) and not list(folder.rglob("*.safetensors"))


def test_what_was_finished_before_a_fault_is_kept(places, in_turn, tmp_path):
    shutil.copytree(in_turn[0] / "toy", tmp_path / "toy")
    made = (tmp_path / "toy/scores.json").stat().st_mtime_ns
    bad = RUNS | {"toy.reinit9": RUNS["toy"] | {"variants": ["reinit9"]}}
    with pytest.raises(UserError, match="write 1 to 2, or 3 for none"):
        sweep(dict(reversed(bad.items())), *places, tmp_path)
    assert sweep(RUNS, *places, tmp_path) == in_turn[1]
    assert (tmp_path / "toy/scores.json").stat().st_mtime_ns == made
    edited = {"toy": RUNS["toy"] | {"training": RUNS["toy"]["training"] | {"code": "another"}}}
    sweep(edited, *places, tmp_path)
    assert (tmp_path / "toy/scores.json").stat().st_mtime_ns > made


def test_tables_of_a_row_have_a_row_for_each_run(in_turn):
    folder, scores = in_turn
    row = {
        name: {"model": name, "init": 1, "seed": 1, "position": i} for i, name in enumerate(RUNS)
    }
    provenance = {"task": "toy", "scale": "demo", "checkpoints": {"1": {"label": "made"}}}
    folders = {name: folder / name for name in RUNS}
    settings = {"row": row, "layers": 2, "provenance": provenance}
    made = sweep_tables(dict(reversed(scores.items())), folders, settings, ["no", "yes"])
    table, losses = (one.set_index("model") for one in made)
    assert [*table.index] == list(RUNS) and (table["epochs"] == 2).all()
    assert {*table["data"]} == {"toys train 48 of 48 (generated); toys dev 24 of 24 (generated)"}
    # Of 24 examples, the last is a block with the one before.
    said = pd.read_csv(folder / "toy.reinit1/predictions.tsv", sep="\t")[:23]
    right = (said["gold"] == said["prediction"]).mean()
    assert table.loc["toy.reinit1", f"without{BLOCKS}"] == pytest.approx(right)
    assert losses["failed"].groupby("model").first().equals(table["failed"].sort_index())
    steps = pd.read_csv(folder / "toy/steps.tsv", sep="\t")["loss"]
    assert losses.loc["toy", "value"].to_numpy() == pytest.approx(steps.to_numpy())
    assert table.loc["toy", "loss"] == pytest.approx(steps[6:].mean())


def test_thinned_losses_keep_their_mean_and_end():
    losses = np.random.default_rng(0).normal(1, 0.1, 1037)
    table = thinned(losses, 100)
    steps = table["step"].to_numpy()
    weights = np.diff([0, *steps])
    assert len(steps) == 100 and steps[-1] == 1037
    assert np.average(table["value"], weights=weights) == pytest.approx(losses.mean())
    smoothed = pd.Series(losses).ewm(alpha=0.02).mean()[steps - 1]
    assert table["smoothed"].to_numpy() == pytest.approx(smoothed.to_numpy())


def test_training_goes_on_to_a_plateau(places, tmp_path):
    long = TRAINING | {"epochs": 12, "schedule": "constant"}
    runs = {
        name: RUNS["toy"] | {"training": long | {"plateau": share}}
        for name, share in {"late": 0.001, "early": 0.999}.items()
    }
    scores = sweep(runs, *places, tmp_path)
    assert scores["early"]["epochs"] == 3 < scores["late"]["epochs"]
    for name, found in scores.items():
        losses = pd.read_csv(tmp_path / name / "steps.tsv", sep="\t")["loss"]
        assert found["epochs"] == len(losses) / 6


def test_a_plateau_is_too_little_gain_over_two_epochs():
    assert not on_plateau([1.0, 0.5] * 2, 2, 0.01)  # two epochs have nothing before them
    assert on_plateau([1.0, 1.0, 0.9, 1.1, 0.995, 0.995], 2, 0.01)
    assert not on_plateau([1.0, 1.0, 1.2, 1.2, 0.98, 0.98], 2, 0.01)
