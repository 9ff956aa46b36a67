import pytest
import torch
from made_training import TASKS, case

from bertshift.training.forward import forward_pass, to_device

KINDS = [*TASKS, "pretraining"]


def backward(model, loss):
    loss.backward()
    gradients = {name: weight.grad for name, weight in model.named_parameters()}
    model.zero_grad()
    return loss.detach(), {key: value for key, value in gradients.items() if value is not None}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
def test_loss_and_gradients_are_those_of_transformers_and_autocast_to_the_bit(kind, dtype):
    model, collate, loss, examples = case(kind)
    model.train()
    encoder = model.bert if kind == "pretraining" else model.encoder
    encoder.embeddings.requires_grad_(False)
    encoder.encoder.layer[0].requires_grad_(False)
    batch = collate(examples[:5])
    assert batch["attention_mask"] is not None

    def compute_with_autocast():
        torch.manual_seed(0)
        with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
            return loss(model, batch)

    expected, gradients = backward(model, compute_with_autocast())
    torch.manual_seed(0)
    with forward_pass(model, loss, dtype) as compute:
        value, ours = backward(model, compute(batch))
    assert torch.equal(value, expected) and ours.keys() == gradients.keys()
    assert all(torch.equal(ours[name], gradients[name]) for name in gradients)
    assert torch.equal(compute_with_autocast(), expected)  # the model is as it was


def test_a_batch_is_copied_to_a_gpu_as_one_tensor_of_each_type(monkeypatch):
    batch = {
        "ids": torch.arange(6).view(2, 3),
        "values": torch.rand(2),
        "targets": torch.tensor([[[4]]]),
        "mask": None,
        "name": "toy",
    }
    copied = []
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor)
    monkeypatch.setattr(
        torch.Tensor, "to", lambda tensor, *_, **__: copied.append(tensor.dtype) or tensor.clone()
    )
    moved = to_device(batch, torch.device("cuda"))
    assert set(copied) == {torch.int64, torch.float32} and len(copied) == 2
    assert moved.keys() == batch.keys() and (moved["mask"], moved["name"]) == (None, "toy")
    assert all(torch.equal(moved[name], batch[name]) for name in ("ids", "values", "targets"))
