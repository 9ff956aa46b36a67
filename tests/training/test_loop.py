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
from bertshift.training.loop import train
from bertshift.training.norms import LayerNorms, layer_groups
from bertshift.training.settings import TrainSettings

CONFIG = BertConfig(
    vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = BertModel(CONFIG)
        self.head = nn.Linear(16, 2)


def new_model() -> Classifier:
    torch.manual_seed(0)
    return Classifier()


def new_examples(n: int = 44, seed: int = 0) -> list[Encoded]:
    generator = np.random.default_rng(seed)
    rows = [generator.integers(5, 50, generator.integers(3, 12)).tolist() for _ in range(n)]
    return [Encoded(row, [0] * len(row), row[1] % 2) for row in rows]


def collate(examples):
    return pad(examples, 0) | {"labels": torch.tensor([example.target for example in examples])}


def loss(model, batch):
    inputs = {key: batch[key] for key in ("input_ids", "token_type_ids", "attention_mask")}
    return cross_entropy(model.head(model.encoder(**inputs).pooler_output), batch["labels"])


def settings(**changes) -> TrainSettings:
    values = {
        "learning_rate": 3e-3,
        "batch_size": 8,
        "epochs": 3,
        "norms_every": 4,
        "checkpoint_minutes": 1e-9,
    }
    return TrainSettings(**values | changes)


def outcome(model, run_dir):
    files = [(run_dir / name).read_bytes() for name in ("steps.tsv", "layers.tsv")]
    return {name: weight.clone() for name, weight in model.state_dict().items()}, files


def run(run_dir, loss=loss, model=None, new_epoch=None, snapshots=None, **changes):
    model = new_model() if model is None else model
    more = {"new_epoch": new_epoch, "snapshots": snapshots}
    train(model, new_examples(), collate, loss, settings(**changes), 7, run_dir, **more)
    return model


def assert_same(one, other):
    assert one[1] == other[1]
    for name, weight in one[0].items():
        assert torch.equal(weight, other[0][name]), name


def failing(step: int, how):
    """`loss`, but `how` is called at the update `step` of the process."""
    calls = iter(range(1, 1000))

    def failing_loss(model, batch):
        if next(calls) == step:
            how()
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


@pytest.mark.parametrize(
    ("optimizer", "redraw"), [("adamw", None), ("bertadam", lambda epoch: new_examples(44, epoch))]
)
def test_a_killed_run_ends_as_one_that_was_not(tmp_path, optimizer, redraw, capfd):
    options = {"optimizer": optimizer, "new_epoch": redraw}
    expected = outcome(run(tmp_path / "whole", **options), tmp_path / "whole")
    for step in (5, 6, 3):  # mid-epoch, at an epoch's end, soon after a resumption
        killed(tmp_path / "killed", step, **options)
    found = outcome(run(tmp_path / "killed", **options), tmp_path / "killed")
    assert "resuming after step 11 of 18" in capfd.readouterr().err
    assert_same(expected, found)
    assert sorted(path.name for path in (tmp_path / "killed").iterdir()) == [
        "layers.tsv",
        "steps.tsv",
    ]


def snapshots_in(folder, *steps):
    return {step: folder / f".step{step}" for step in steps}


def test_snapshots_of_a_killed_run_are_those_of_one_that_was_not(tmp_path):
    files, whole = (snapshots_in(tmp_path / name, 0, 5, 12) for name in ("killed", "whole"))
    expected = outcome(run(tmp_path / "whole", snapshots=whole), tmp_path / "whole")
    for step in (3, 7):
        killed(tmp_path / "killed", step, snapshots=files)
    files[5].unlink()  # is made again
    assert_same(expected, outcome(run(tmp_path / "killed", snapshots=files), tmp_path / "killed"))
    for step, file in files.items():
        assert_same((checkpoint.weights(whole[step]), []), (checkpoint.weights(file), []))
    left = {path.name for path in (tmp_path / "killed").iterdir()}
    assert left == {"layers.tsv", "steps.tsv", ".step0", ".step5", ".step12"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return outcome(run(folder), folder)


@pytest.mark.parametrize("spoil", ["damaged", "other settings", "other start"])
def test_a_checkpoint_that_does_not_fit_is_not_used(tmp_path, spoil, capfd, whole):
    def interrupt():
        raise KeyboardInterrupt

    model = new_model()
    if spoil == "other start":
        nn.init.zeros_(model.head.weight)
    with pytest.raises(KeyboardInterrupt):
        changes = {"learning_rate": 1e-3} if spoil == "other settings" else {}
        run(tmp_path / "run", failing(9, interrupt), model, **changes)
    saved = tmp_path / "run" / ".checkpoint"
    if spoil == "damaged":
        saved.write_bytes(saved.read_bytes()[:1000])
    assert_same(whole, outcome(run(tmp_path / "run"), tmp_path / "run"))
    assert "starting again from step 0" in capfd.readouterr().err


def test_loss_that_is_not_a_number_is_named(tmp_path):
    calls = iter(range(1, 100))

    def diverging(model, batch):
        return loss(model, batch) * (float("nan") if next(calls) == 6 else 1)

    with pytest.raises(UserError, match="nan at step 6 of 18, at learning rate 0.002"):
        run(tmp_path, diverging)


def test_empty_training_set_and_frozen_model_are_named(tmp_path):
    with pytest.raises(UserError, match="is empty"):
        train(new_model(), [], collate, loss, settings(), 0, tmp_path)
    with pytest.raises(UserError, match="frozen"):
        run(tmp_path, model=new_model().requires_grad_(False))


def test_training_logs_every_step_and_leaves_the_random_state(tmp_path):
    model, random_state = new_model(), torch.get_rng_state()
    run(tmp_path, model=model, epochs=None, steps=20, learning_rate=1e-2, warmup=0.1)
    steps = pd.read_csv(tmp_path / "steps.tsv", sep="\t")
    assert list(steps) == ["step", "loss", "learning_rate"] and list(steps.step) == list(
        range(1, 21)
    )
    assert steps.learning_rate.max() == pytest.approx(1e-2) and steps.learning_rate[0] == 0
    assert not model.training and torch.equal(torch.get_rng_state(), random_state)


def test_norms_are_those_of_the_weights(tmp_path):
    start, model = new_model(), new_model()
    model.encoder.embeddings.requires_grad_(False)
    run(tmp_path, model=model)
    rows = pd.read_csv(tmp_path / "layers.tsv", sep="\t")
    assert list(rows) == ["step", "layer", "gradient_norm", "update_norm", "distance_from_start"]
    assert sorted(rows.step.unique()) == [1, 4, 8, 12, 16, 18]
    last = rows[rows.step == 18].set_index("layer").distance_from_start
    before, after = (
        {layer: parameters_to_vector(part).double() for layer, part in layer_groups(one).items()}
        for one in (start, model)
    )
    assert list(last.index) == ["embeddings", "1", "2", "pooler", "head"]
    for layer, distance in last.items():
        moved = (after[layer] - before[layer]).norm().item()
        assert distance == pytest.approx(moved, rel=1e-6), layer
    assert last["embeddings"] == 0 < last["1"]


def test_norms_are_accumulated_in_float64():
    """A sum of many small squares beside a large one is lost in float32."""
    layer = nn.Linear(4096, 1025, bias=False)
    norms = LayerNorms(layer)
    gradient = torch.full_like(layer.weight, 1e-4)
    gradient[0, 0] = 100
    layer.weight.grad = gradient
    found, _ = norms.before_update()
    assert found.item() == pytest.approx(gradient.double().norm().item(), rel=1e-12)
