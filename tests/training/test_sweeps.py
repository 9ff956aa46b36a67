import json
import shutil
import sys
from multiprocessing import Pipe
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from made_tables import in_columns
from made_toys import SETTINGS, TOKENIZER, bert_with
from training.toy_data import toy_rows, write_data

from bertshift.errors import UserError
from bertshift.models.loading import save_model
from bertshift.rows.blocks import BLOCKS
from bertshift.rows.losses import thinned
from bertshift.training.sweeps import _ConnectionStream, _receive, _work, sweep, sweep_tables

TASK = SETTINGS | {"metrics": ["accuracy"]}
TRAINING = {"learning_rate": 3e-3, "batch_size": 8, "epochs": 2, "norms_every": 5}
RUNS = {
    name: {"task": TASK, "training": TRAINING, "variants": name.split(".")[1:], "seed": 1}
    for name in ("toy", "toy.reinit1", "toy.reinitL2H1")
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """(start, data): a small encoder with dropout, and a data set."""
    start, data = tmp_path_factory.mktemp("start"), tmp_path_factory.mktemp("data")
    encoder = bert_with(TOKENIZER, layers=2, hidden_size=16, intermediate_size=32)
    save_model(start, encoder, TOKENIZER)
    write_data(data, toy_rows(train=48, dev=24), kind="sentence")
    return start, data


def bytes_of(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def in_turn(folders, tmp_path_factory):
    folder = tmp_path_factory.mktemp("in_turn")
    return folder, sweep(RUNS, *folders, folder)


def test_in_parallel_is_the_same_to_the_bit(folders, in_turn, tmp_path):
    folder, scores = in_turn
    assert sweep(RUNS, *folders, tmp_path, at_once=2) == scores and list(scores) == list(RUNS)
    assert json.dumps(sweep(RUNS, *folders, folder)) == json.dumps(scores)  # of the earlier call
    assert bytes_of(tmp_path) == bytes_of(folder) and not list(folder.rglob("*.safetensors"))


def test_runs_that_were_finished_before_an_error_are_kept(folders, in_turn, tmp_path):
    shutil.copytree(in_turn[0] / "toy", tmp_path / "toy")
    scores = tmp_path / "toy/scores.json"
    finished = scores.stat().st_mtime_ns
    bad = {"toy.reinit9": RUNS["toy"] | {"variants": ["reinit9"]}}
    with pytest.raises(UserError, match="write 1 to 2, or 3 for none"):
        sweep(bad | RUNS, *folders, tmp_path)
    assert sweep(RUNS, *folders, tmp_path) == in_turn[1]
    assert scores.stat().st_mtime_ns == finished


def test_a_worker_that_was_killed_is_told_from_one_that_is_done():
    def receive(status):
        ours, theirs = Pipe()
        theirs.close()
        workers = {ours: SimpleNamespace(join=lambda: None, exitcode=status)}
        try:
            return _receive(ours, workers)
        finally:
            assert not workers

    assert receive(0) == ("ended", None)
    with pytest.raises(RuntimeError, match="exit status -9; was it short of memory"):
        receive(-9)


def test_a_workers_error_is_sent_with_its_traceback(folders, tmp_path, monkeypatch):
    """In this process: what `_work` does in one of its own."""
    monkeypatch.setattr("sys.stderr", sys.stderr)
    ours, theirs = Pipe()
    ours.send(("toy.reinit9", RUNS["toy"] | {"variants": ["reinit9"]}))
    _work(theirs, 1, (*folders, tmp_path))
    kind, error = ours.recv()
    assert kind == "failed" and isinstance(error, UserError)
    assert "write 1 to 2, or 3 for none" in str(error) and "Traceback" in error.__notes__[0]


def test_parts_of_a_line_are_sent_as_one():
    ours, theirs = Pipe()
    stream = _ConnectionStream(theirs)
    print("epoch 1", "loss 0.5", file=stream)
    assert ours.recv() == ("printed", "epoch 1 loss 0.5\n") and not ours.poll()


def test_tables_have_a_row_for_each_run(in_turn):
    folder, scores = in_turn
    row = {
        name: {"model": name, "init": 1, "seed": 1, "position": i} for i, name in enumerate(RUNS)
    }
    provenance = {"task": "toy", "scale": "demo", "checkpoints": {"1": {"label": "made"}}}
    runs = {name: folder / name for name in RUNS}
    settings = {"row": row, "layers": 2, "provenance": provenance}
    of_scores, losses = sweep_tables(dict(reversed(scores.items())), runs, settings, ["no", "yes"])
    table, losses = (rows.set_index("model") for rows in (in_columns(of_scores), losses))
    assert [*table.index] == list(RUNS) and (table["epochs"] == 2).all()
    assert {*table["data"]} == {"toys train 48 of 48 (generated); toys dev 24 of 24 (generated)"}
    # The last of 24 examples is in one block with the one before.
    predictions = pd.read_csv(folder / "toy.reinit1/predictions.tsv", sep="\t")[:23]
    accuracy = (predictions["gold"] == predictions["prediction"]).mean()
    assert table.loc["toy.reinit1", f"without{BLOCKS}"] == pytest.approx(accuracy)
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
