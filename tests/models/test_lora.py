"""Adapters of every family: what is trained, what they compute, and that merging changes nothing but the form."""

import pytest
import torch
from made_encoders import DECODERS, ENCODERS, LAYERS, WIDTH, WITHOUT_ROW, inputs_of, model_of

from bertshift.errors import UserError
from bertshift.models.adapters import merge_adapters
from bertshift.models.family import family_of, matrix, run
from bertshift.models.lora import add_adapters, projections_of

HOW = {"rank": 3, "alpha": 16, "dropout": 0.0, "seed": 1}


def states(model, kind):
    return run(model, **inputs_of(kind)).last_hidden_state


def trained(model):
    """Set B of every adapter to random numbers: after one step of training it is no longer 0."""
    torch.manual_seed(2)
    for name, weight in model.named_parameters():
        if ".lora_B." in name:
            weight.data.normal_(0, 0.05)
    return model


@pytest.mark.parametrize("kind", ["bert", "albert", "deberta-v2", "modernbert", "gpt2", "gpt_neox", "llama"])
@torch.no_grad()
def test_a_merged_model_computes_what_the_adapters_did(kind):
    plain, model = model_of(kind), model_of(kind)
    before = states(plain, kind)
    add_adapters(model, **HOW)
    free = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert all(".lora_" in name or name.startswith("pooler.") for name in free)
    assert torch.equal(states(model, kind), before)  # B is 0

    with_adapters, adapted = states(trained(model), kind), model.state_dict()
    merge_adapters(model)
    rounding = 2e-6 * with_adapters.abs().max()
    assert (states(model, kind) - with_adapters).abs().max() < rounding
    assert (with_adapters - before).abs().max() > 1e3 * rounding
    merged, old = model.state_dict(), plain.state_dict()
    assert type(model) is type(plain) and merged.keys() == old.keys()
    paths = [name for name, module in model.named_modules() if module in projections_of(model).values()]
    for path in paths:
        a, b = (adapted[f"{path}.lora_{side}.default.weight"] for side in "AB")
        found, weight = matrix(model.get_submodule(path)), matrix(plain.get_submodule(path))
        torch.testing.assert_close(found, weight + 16 / 3 * b @ a)
    outside = old.keys() - {f"{path}.weight" for path in paths}
    assert paths and all(torch.equal(merged[name], old[name]) for name in outside)


def test_draws_depend_on_the_seed_alone_and_leave_torchs_own_state():
    def drawn(seed):
        torch.manual_seed(seed + 7)
        before = torch.random.get_rng_state()
        model = model_of("bert")
        add_adapters(model, **HOW | {"seed": seed})
        assert torch.equal(torch.random.get_rng_state(), before)
        return [weight for name, weight in model.named_parameters() if ".lora_A." in name]

    first, again, other = drawn(1), drawn(1), drawn(2)
    assert len(first) == 4 * LAYERS and all(map(torch.equal, first, again))
    assert not any(map(torch.equal, first, other)) and not torch.equal(first[0], first[1])
    assert 0.9 * WIDTH**-0.5 < max(weight.abs().max() for weight in first) <= WIDTH**-0.5


@pytest.mark.parametrize("kind", WITHOUT_ROW[:1])
def test_a_family_without_a_row_is_refused(kind):
    with pytest.raises(UserError, match=f"LoRA is not possible: .* {kind} model"):
        add_adapters(model_of(kind), **HOW)


@pytest.mark.parametrize(("kind", "most"), [("bert", 32), ("gpt2", 32), ("llama", 16)])
def test_a_rank_above_the_width_is_refused(kind, most):
    add_adapters(model_of(kind), **HOW | {"rank": most})
    with pytest.raises(UserError, match=f"lora{most + 1} .*from 1 to {most}"):
        add_adapters(model_of(kind), **HOW | {"rank": most + 1})


@pytest.mark.parametrize("kind", ENCODERS + DECODERS)
def test_a_row_names_all_four_projections_of_a_layer(kind):
    model = model_of(kind)
    count = len(model.get_submodule(family_of(model).layers))
    assert len(projections_of(model)) == count * (2 if family_of(model).fused else 4)
