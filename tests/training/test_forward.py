import pytest
import torch
from made_training import TASKS, case
from transformers import BertForPreTraining

from bertshift.training.forward import forward_pass

torch.set_num_threads(1)
KINDS = [*TASKS, "pretraining"]


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
        same = (
            gradient is None if found[1][name] is None else torch.equal(found[1][name], gradient)
        )
        assert same, name
    torch.manual_seed(0)  # afterwards the model is as it was
    with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
        assert torch.equal(loss(model, batch), expected[0])
