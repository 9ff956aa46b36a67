import multiprocessing
import os
import signal

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils import parameters_to_vector
from transformers import BertConfig, BertModel

from bertshift.errors import UserError
from bertshift.running import checkpoint
from bertshift.tasks.batching import Encoded, pad
from bertshift.training.loop import on_plateau, remove_checkpoint, train
from bertshift.training.norms import LayerNorms, layer_groups
from bertshift.training.settings import TrainSettings

CONFIG = BertConfig(
    vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.encoder = BertModel(CONFIG)
        self.head = nn.Linear(16, 2)


def new_examples(seed=0):
    rng = np.random.default_rng(seed)
    rows = [rng.integers(5, 50, rng.integers(3, 12)).tolist() for _ in range(44)]
    return [Encoded(row, [0] * len(row), row[1] % 2) for row in rows]


def collate(examples):
    return pad(examples, 0) | {"labels": torch.tensor([example.target for example in examples])}


def loss(model, batch):
    inputs = {key: batch[key] for key in ("input_ids", "token_type_ids", "attention_mask")}
    return cross_entropy(model.head(model.encoder(**inputs).pooler_output), batch["labels"])


def settings(**changes):
    values = {"learning_rate": 3e-3, "batch_size": 8, "epochs": 3, "norms_every": 4}
    return TrainSettings(**values | {"checkpoint_minutes": 1e-9} | changes)


def run(run_dir, loss=loss, model=None, new_epoch=None, snapshots=None, **changes):
    """Train a model; return its weights and the bytes of its logs."""
    model = model or Classifier()
    more = {"new_epoch": new_epoch, "snapshots": snapshots}
    train(model, new_examples(), collate, loss, settings(**changes), 7, run_dir, **more)
    logs = [(run_dir / name).read_bytes() for name in ("steps.tsv", "layers.tsv")]
    return model.state_dict(), logs


def assert_same(outcome, expected):
    assert outcome[1:] == expected[1:]
    torch.testing.assert_close(outcome[0], expected[0], rtol=0, atol=0)


def failing(step: int, fail):
    """`loss`, but `fail` is called at the update `step` of the process."""
    calls = iter(range(1, 1000))

    def failing_loss(model, batch):
        if next(calls) == step:
            fail()
        return loss(model, batch)

    return failing_loss


def killed(run_dir, step, **options):
    """A run in a process of its own that is killed at the update `step` of that process."""
    arguments = run_dir, failing(step, lambda: os.kill(os.getpid(), signal.SIGKILL))
    process = multiprocessing.get_context("fork").Process(
        target=run, args=arguments, kwargs=options
    )
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


@pytest.mark.parametrize(("optimizer", "redraw"), [("adamw", None), ("bertadam", new_examples)])
def test_a_killed_run_and_its_snapshots_end_as_if_it_were_not(tmp_path, optimizer, redraw, capfd):
    folder, options = tmp_path / "killed", {"optimizer": optimizer, "new_epoch": redraw}
    files, expected_files = (
        {step: tmp_path / f"{name}{step}" for step in (0, 5, 18)} for name in ("killed", "whole")
    )
    expected = run(tmp_path / "whole", snapshots=expected_files, **options)
    for step in (5, 6, 3):  # mid-epoch, at an epoch's end, soon after a resumption
        killed(folder, step, snapshots=files, **options)
    assert_same(run(folder, snapshots=files, **options), expected)
    assert "resuming after step 11 of 18" in capfd.readouterr().err
    for step, file in files.items():
        assert_same([checkpoint.weights(file)], [checkpoint.weights(expected_files[step])])
    files[5].unlink()
    run(folder, snapshots=files, **options)
    assert files[5].exists()  # is made again
    remove_checkpoint(folder)
    assert {path.name for path in folder.iterdir()} == {"layers.tsv", "steps.tsv"}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    return run(tmp_path_factory.mktemp("uninterrupted"))


@pytest.mark.parametrize("difference", ["damaged", "settings", "start"])
def test_a_checkpoint_that_does_not_fit_is_not_used(tmp_path, difference, capfd, uninterrupted):
    def interrupt():
        raise KeyboardInterrupt

    model = Classifier()
    if difference == "start":
        nn.init.zeros_(model.head.weight)
    changes = {"learning_rate": 1e-3} if difference == "settings" else {}
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, failing(9, interrupt), model, **changes)
    saved = tmp_path / ".checkpoint"
    if difference == "damaged":
        saved.write_bytes(saved.read_bytes()[:1000])
    assert_same(run(tmp_path), uninterrupted)
    assert "starting again from step 0" in capfd.readouterr().err


def test_training_ends_at_a_plateau(tmp_path):
    _, [steps, _] = run(tmp_path, epochs=12, schedule="constant", plateau=0.999)
    assert len(steps.splitlines()) == 1 + 3 * 6  # two epochs have nothing before them


def test_a_plateau_is_too_little_gain_over_two_epochs():
    assert not on_plateau([1.0, 0.5] * 2, 2, 0.01)  # two epochs have nothing before them
    assert on_plateau([1.0, 1.0, 1.1, 1.3, 0.995, 0.995], 2, 0.01)
    assert not on_plateau([1.0, 1.0, 1.2, 1.2, 0.98, 0.98], 2, 0.01)


def test_a_loss_that_is_not_a_number_is_named(tmp_path):
    calls = iter(range(1, 100))

    def diverging(model, batch):
        return loss(model, batch) * (float("nan") if next(calls) == 6 else 1)

    with pytest.raises(UserError, match="nan at step 6 of 18, at learning rate 0.002"):
        run(tmp_path, diverging)


def test_an_empty_training_set_and_a_frozen_model_are_named(tmp_path):
    with pytest.raises(UserError, match="is empty"):
        train(Classifier(), [], collate, loss, settings(), 0, tmp_path)
    with pytest.raises(UserError, match="frozen"):
        run(tmp_path, model=Classifier().requires_grad_(False))


def test_training_logs_every_step_and_leaves_the_random_state(tmp_path):
    model, random_state = Classifier(), torch.get_rng_state()
    run(tmp_path, model=model, epochs=None, steps=20, learning_rate=1e-2, warmup=0.1)
    steps = pd.read_csv(tmp_path / "steps.tsv", sep="\t")
    assert list(steps) == ["step", "loss", "learning_rate"]
    assert list(steps.step) == [*range(1, 21)]
    assert steps.learning_rate.max() == pytest.approx(1e-2) and steps.learning_rate[0] == 0
    assert not model.training and torch.equal(torch.get_rng_state(), random_state)


def test_norms_are_those_of_the_weights(tmp_path):
    start, model = Classifier(), Classifier()
    model.encoder.embeddings.requires_grad_(False)
    run(tmp_path, model=model)
    rows = pd.read_csv(tmp_path / "layers.tsv", sep="\t")
    assert list(rows) == ["step", "layer", "gradient_norm", "update_norm", "distance_from_start"]
    assert sorted(rows.step.unique()) == [1, 4, 8, 12, 16, 18]
    distances = rows[rows.step == 18].set_index("layer").distance_from_start
    before, after = (
        {layer: parameters_to_vector(group).double() for layer, group in layer_groups(m).items()}
        for m in (start, model)
    )
    expected = {layer: (after[layer] - before[layer]).norm().item() for layer in before}
    assert list(distances.index) == ["embeddings", "1", "2", "pooler", "head"]
    assert distances.to_dict() == pytest.approx(expected, rel=1e-6)
    assert distances["embeddings"] == 0 < distances["1"]


def test_norms_are_accumulated_in_float64():
    """A sum of many small squares beside a large one is lost in float32."""
    layer = nn.Linear(4096, 1025, bias=False)
    norms = LayerNorms(layer)
    gradient = torch.full_like(layer.weight, 1e-4)
    gradient[0, 0] = 100
    layer.weight.grad = gradient
    expected = gradient.double().norm().item()
    assert norms.before_update()[0].item() == pytest.approx(expected, rel=1e-12)
