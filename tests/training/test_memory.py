"""Out of memory: only the error of a forward pass of too many tokens is simulated."""

from contextlib import contextmanager

import numpy as np
import pytest
import torch
from made_toys import TOKENIZER, model_of
from made_training import TASKS, case
from transformers import BertModel

from bertshift.errors import UserError
from bertshift.running import memory
from bertshift.running.memory import how_many_fit
from bertshift.training import loop
from bertshift.training.settings import TrainSettings


@contextmanager
def memory_for(tokens):
    """Give BERT memory for this number of tokens of a batch, padding included."""
    forward = BertModel.forward

    def limited(self, input_ids, *arguments, **options):
        if input_ids.numel() > tokens:
            raise torch.cuda.OutOfMemoryError
        return forward(self, input_ids, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BertModel, "forward", limited)
        yield


@pytest.mark.parametrize("kind", [*TASKS, "pretraining"])
def test_parts_add_up_to_the_batch(kind):
    model, collate, loss, examples = case(kind)
    weights = [weight for weight in model.double().parameters() if weight.requires_grad]
    batch = collate(examples)
    parts = [collate(examples[i : i + 3]) for i in range(0, len(examples), 3)]
    losses = loss(model, batch), sum(loss(model, part, batch) for part in parts)
    torch.testing.assert_close(*losses, rtol=1e-6, atol=1e-6)
    gradients = [torch.autograd.grad(value, weights, allow_unused=True) for value in losses]
    torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-6)


def train(folder, tokens):
    model, collate, loss, examples = case("tags")
    settings = TrainSettings(learning_rate=1e-3, batch_size=4, epochs=3)

    def without_dropout(model, *batches):
        return loss(model.eval(), *batches)

    with memory_for(tokens):
        loop.train(model, examples, collate, without_dropout, settings, 1, folder)


def test_a_batch_that_does_not_fit_is_learnt_from_in_parts_as_if_it_were_whole(tmp_path, capsys):
    losses = {}
    for tokens in (1000, 40, 14):
        train(tmp_path / str(tokens), tokens)
        losses[tokens] = np.loadtxt(tmp_path / str(tokens) / "steps.tsv", skiprows=1)
    assert "out of memory at batches of 3: going on with 2 x 2" in capsys.readouterr().err
    np.testing.assert_allclose(losses[40], losses[1000], rtol=1e-5)
    np.testing.assert_allclose(losses[14], losses[1000], rtol=1e-5)


def test_one_example_that_does_not_fit_is_an_error_that_says_what_to_do(tmp_path):
    with pytest.raises(UserError, match="one example of .*stuck.* write a smaller max_length"):
        train(tmp_path / "stuck", 8)
    task, rows = TASKS["classification"]
    with memory_for(4), pytest.raises(UserError, match="one input is more than .* max_length"):
        task.predict(model_of(task), rows, TOKENIZER)


@pytest.mark.parametrize("kind", TASKS)
def test_predictions_stay_the_same(kind, capsys):
    task, rows = TASKS[kind]
    model = model_of(task)
    expected = task.predict(model, rows, TOKENIZER)
    with memory_for(100 if len(rows) > 7 else 40):
        predictions = task.predict(model, rows, TOKENIZER)
    assert "out of memory at batches of" in capsys.readouterr().err
    if isinstance(expected, np.ndarray):
        np.testing.assert_allclose(predictions, expected, atol=1e-5)
    else:
        assert [answer[0] for answer in predictions] == [answer[0] for answer in expected]


@pytest.mark.parametrize(
    ("free", "needed", "expected"),
    [
        (0, 3, 1),  # no GPU
        (3, 3, 1),  # too small for one: it goes on in parts
        (8.8, 3, 1),  # two would leave nothing free
        (8.9, 3, 2),
        (80, 3, 8),
        (80, 17, 4),
    ],
)
def test_as_many_runs_go_side_by_side_as_memory_holds(free, needed, expected):
    assert how_many_fit(free * 1e9, needed * 1e9, most=8) == expected


def test_what_would_fill_a_gpu_stays_where_it_is(monkeypatch, capsys):
    values = torch.zeros(10)
    monkeypatch.setattr(memory, "free_bytes", lambda: values.nbytes)
    assert memory.on_device(values, torch.device("cuda"), "hidden states") is values
    assert "hidden states: 0.0 GB do not fit" in capsys.readouterr().err
