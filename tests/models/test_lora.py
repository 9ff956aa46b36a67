"""Adapters of every family: what is trained, what they compute, and that merging changes nothing
but the form."""

import pytest
import torch
from made_encoders import LAYERS, WIDTH, changed, copied, inputs_of, model_of

from bertshift.errors import UserError
from bertshift.models.adapters import merge_adapters
from bertshift.models.family import matrix, run
from bertshift.models.lora import add_adapters, projections_of

SETTINGS = {"rank": 3, "alpha": 16, "dropout": 0.0, "seed": 1}


@pytest.mark.parametrize(
    "kind", ["bert", "albert", "deberta-v2", "modernbert", "gpt2", "gpt_neox", "llama"]
)
@torch.no_grad()
def test_a_merged_model_computes_what_the_adapters_did(kind):
    def states():
        return run(model, **inputs_of(kind)).last_hidden_state

    model = model_of(kind)
    before, old = states(), copied(model)
    add_adapters(model, **SETTINGS)
    assert torch.equal(states(), before)  # B is 0

    torch.manual_seed(2)
    for name, weight in model.named_parameters():
        if ".lora_B." in name:
            weight.normal_(0, 0.05)  # after one step of training it is no longer 0
    with_adapters, adapted = states(), model.state_dict()
    merge_adapters(model)
    rounding = 2e-6 * with_adapters.abs().max()
    assert (states() - with_adapters).abs().max() < rounding
    assert (with_adapters - before).abs().max() > 1e3 * rounding
    assert type(model) is type(model_of(kind)) and model.state_dict().keys() == old.keys()
    projections = projections_of(model).values()
    paths = [name for name, module in model.named_modules() if module in projections]
    for path in paths:
        a, b = (adapted[f"{path}.lora_{side}.default.weight"] for side in "AB")
        module = model.get_submodule(path)
        merged = matrix(module).clone()
        module.weight.copy_(old[f"{path}.weight"])
        torch.testing.assert_close(merged, matrix(module) + 16 / 3 * b @ a)
    assert paths and not changed(old, model)


def test_draws_depend_on_the_seed_alone_and_leave_torchs_random_state():
    def drawn(seed):
        model, random_state = model_of("bert"), torch.random.get_rng_state()
        add_adapters(model, **SETTINGS | {"seed": seed})
        assert torch.equal(torch.random.get_rng_state(), random_state)
        torch.rand(1)
        named = model.named_parameters()
        return torch.stack([weight.flatten() for name, weight in named if ".lora_A." in name])

    first, same, different = drawn(1), drawn(1), drawn(2)
    assert len(first) == 4 * LAYERS and torch.equal(first, same)
    assert not (first == different).all(1).any() and not torch.equal(first[0], first[1])
    assert 0.9 * WIDTH**-0.5 < first.abs().max() <= WIDTH**-0.5


@pytest.mark.parametrize(("kind", "largest"), [("bert", 32), ("gpt2", 32), ("llama", 16)])
def test_a_rank_above_the_width_is_refused(kind, largest):
    add_adapters(model_of(kind), **SETTINGS | {"rank": largest})
    with pytest.raises(UserError, match=f"lora{largest + 1} .*from 1 to {largest}"):
        add_adapters(model_of(kind), **SETTINGS | {"rank": largest + 1})
