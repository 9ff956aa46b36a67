import pytest
import torch
from made_training import TASKS, case
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import BertForPreTraining

from bertshift.training import loop
from bertshift.training.forward import forward_pass, moved, padding_bias
from bertshift.training.settings import TrainSettings

torch.set_num_threads(1)
KINDS = [*TASKS, "pretraining"]
# What a program waits for the GPU with: the first are asked for in Python, the others are what torch makes of them.
WAITS = {"item", "tolist", "numpy", "cpu", "__bool__", "__float__", "__int__", "__index__", "__array__",
         "nonzero", "masked_select", "unique", "equal", "is_nonzero", "_local_scalar_dense"}  # fmt: skip


class Calls(TorchFunctionMode):
    """Note the name of everything that is asked of torch in Python."""

    def __init__(self, noted):
        super().__init__()
        self.noted = noted

    def __torch_function__(self, function, types, arguments=(), named=None):
        self.noted(getattr(function, "__name__", ""))
        return function(*arguments, **(named or {}))


class Operations(TorchDispatchMode):
    """Note the name of everything that torch makes of it."""

    def __init__(self, noted):
        super().__init__()
        self.noted = noted

    def __torch_dispatch__(self, operation, types, arguments=(), named=None):
        name = operation.overloadpacket.__name__
        indices = arguments[1] if name in ("index", "index_put_") else []
        by_mask = any(index is not None and index.dtype == torch.bool for index in indices)
        self.noted("nonzero" if by_mask else name)
        return operation(*arguments, **(named or {}))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("precision", ["bfloat16"])
def test_a_step_never_waits_for_the_gpu(kind, precision, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "STEPS_BETWEEN_READS", {"cpu": 1000})
    model, collate, loss, examples = case(kind)
    steps, padded, waits = [], [], []

    def counted(model, batch):
        steps.append(1)
        padded.append(batch["attention_mask"] is not None)
        return loss(model, batch)

    def noted(name):
        if steps and name in WAITS:
            waits.append((len(steps), name))

    settings = TrainSettings(
        learning_rate=1e-2, batch_size=3, epochs=2, norms_every=1, precision=precision, checkpoint_minutes=0
    )
    with Calls(noted), Operations(noted):
        loop.train(model, examples, collate, counted, settings, 1, tmp_path)
    assert any(padded[:-1]) and len(steps) == 6
    # The losses are read after the last step.
    assert waits and {step for step, _ in waits} == {6}


def gradients(model, value):
    value.backward()
    found = {name: weight.grad for name, weight in model.named_parameters()}
    model.zero_grad()
    return value.detach(), found


def encoder_of(model):
    return model.bert if isinstance(model, BertForPreTraining) else model.encoder


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
def test_loss_and_gradients_are_those_of_transformers_and_autocast_to_the_bit(kind, dtype):
    model, collate, loss, examples = case(kind)
    model.train()
    encoder_of(model).embeddings.requires_grad_(False)
    encoder_of(model).encoder.layer[0].requires_grad_(False)
    batch = collate(examples[:5])
    torch.manual_seed(0)
    with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
        value = loss(model, batch)
    expected = gradients(model, value)
    torch.manual_seed(0)
    with forward_pass(model, loss, dtype) as compute:
        found = gradients(model, compute(batch))
    assert batch["attention_mask"] is not None and torch.equal(found[0], expected[0])
    for name, gradient in expected[1].items():
        same = gradient is None if found[1][name] is None else torch.equal(found[1][name], gradient)
        assert same, name
    torch.manual_seed(0)  # afterwards the model is as it was
    with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
        assert torch.equal(loss(model, batch), expected[0])


def test_attention_adds_nothing_to_tokens_and_never_sees_padding():
    bias = padding_bias(torch.tensor([[1, 1, 1], [1, 0, 0]]), torch.bfloat16)
    assert bias.shape == (2, 1, 1, 3) and bias.dtype == torch.bfloat16
    assert bias[:, 0, 0].tolist() == [[0, 0, 0], [0, -torch.inf, -torch.inf]]
    assert bias.stride(0) % 8 == 0 and bias.stride(-1) == 1


def test_a_batch_moves_as_one_tensor_of_each_type():
    batch = {"ids": torch.arange(6).view(2, 3), "mask": None, "values": torch.rand(2), "targets": torch.tensor([[[4]]]),
             "name": "toy"}  # fmt: skip
    moves = []
    found = moved(batch, lambda values: moves.append(values.dtype) or values.clone())
    assert list(found) == list(batch) and sorted(map(str, moves)) == ["torch.float32", "torch.int64"]
    for key, value in batch.items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(found[key], value) and found[key].data_ptr() != value.data_ptr()
        else:
            assert found[key] == value
