"""Adapters of every family: what is trained, what they compute, and that merging changes nothing but the form."""

import re
import subprocess
import sys

import pytest
import torch
from made_encoders import ENCODERS, FAMILIES, LAYERS, WIDTH, WITHOUT_ROW, inputs_of, model_of, tokenizer_of

from bertshift.errors import UserError
from bertshift.models.adapters import merge_adapters
from bertshift.models.family import family_of, matrix, run
from bertshift.models.heads import SequenceClassifier
from bertshift.models.loading import load_encoder, save_model
from bertshift.models.lora import add_adapters, projections_of

KNOWN = [kind for kind in FAMILIES if kind not in WITHOUT_ROW]
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


@pytest.mark.parametrize("kind", KNOWN)
@torch.no_grad()
def test_a_merged_model_computes_what_the_adapters_did(kind, tmp_path):
    plain, model = model_of(kind), model_of(kind)
    before = states(plain, kind)
    add_adapters(model, **HOW)
    free = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert all(".lora_" in name or name.startswith("pooler.") for name in free)
    torch.testing.assert_close(states(model, kind), before, rtol=0, atol=0)  # B is 0

    with_adapters = states(trained(model), kind)
    merge_adapters(model)
    rounding = 2e-6 * with_adapters.abs().max()
    assert (states(model, kind) - with_adapters).abs().max() < rounding
    assert (with_adapters - before).abs().max() > 1e3 * rounding
    assert type(model) is type(plain) and model.state_dict().keys() == plain.state_dict().keys()

    changed = projections_of(model)
    for name, module in plain.named_modules():
        if name in changed:
            moved = (matrix(changed[name]) - matrix(module)).double()
            assert torch.linalg.matrix_rank(moved, rtol=1e-4) == 3
            assert changed[name].bias is None or torch.equal(changed[name].bias, module.bias)
    outside = {name for name in plain.state_dict() if name.rpartition(".")[0] not in changed}
    assert all(torch.equal(model.state_dict()[name], plain.state_dict()[name]) for name in outside)

    save_model(tmp_path, model, tokenizer_of(kind))
    torch.testing.assert_close(
        states(load_encoder(tmp_path), kind), states(model, kind), rtol=1e-4, atol=1e-5
    )


def test_alpha_over_rank_multiplies_the_product():
    plain, model = model_of("bert"), model_of("bert")
    add_adapters(model, **HOW)
    trained(model)
    state = model.state_dict()
    path = "encoder.layer.2.attention.output.dense"
    product = state[f"{path}.lora_B.default.weight"] @ state[f"{path}.lora_A.default.weight"]
    merge_adapters(model)
    expected = plain.get_submodule(path).weight + 16 / 3 * product
    torch.testing.assert_close(model.get_submodule(path).weight, expected)


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


def test_gradients_reach_adapters_pooler_and_head_alone():
    encoder = model_of("bert")
    add_adapters(encoder, **HOW)
    model = SequenceClassifier(trained(encoder), 2, seed=1)
    model(**inputs_of("bert")).square().sum().backward()
    got = {name for name, weight in model.named_parameters() if weight.grad is not None}
    assert {re.sub(r".*(lora_[AB]).*|.*(pooler|head).*", r"\1\2", name) for name in got} == {
        "lora_A", "lora_B", "pooler", "head",
    }  # fmt: skip
    assert len(got) == 2 * 4 * LAYERS + 4


@pytest.mark.parametrize("kind", WITHOUT_ROW)
def test_a_family_without_a_row_says_so(kind):
    with pytest.raises(UserError, match=f"LoRA is not possible: .* a {kind} model .* is not known; name"):
        add_adapters(model_of(kind), **HOW)


@pytest.mark.parametrize(("kind", "most"), [("bert", 32), ("gpt2", 32), ("llama", 16)])
def test_a_rank_above_the_width_says_so(kind, most):
    add_adapters(model_of(kind), **HOW | {"rank": most})
    with pytest.raises(UserError, match=f"lora{most + 1} is not possible: .*; write a rank from 1 to {most}"):
        add_adapters(model_of(kind), **HOW | {"rank": most + 1})


def test_jobs_without_adapters_do_not_import_peft(tmp_path):
    save_model(tmp_path, model_of("bert"), tokenizer_of("bert"))
    code = (
        "import sys; from pathlib import Path; from bertshift.models.loading import load_encoder; "
        "from bertshift.training import finetuning; load_encoder(Path(sys.argv[1])); sys.exit('peft' in sys.modules)"
    )
    path = [part for part in sys.path if part.endswith("workflow")]
    environment = {"PYTHONPATH": path[0], "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=environment, check=True)


def test_encoders_of_a_row_have_all_four_projections():
    for kind in ENCODERS:
        model = model_of(kind)
        count = len(model.get_submodule(family_of(model).layers))
        assert len(projections_of(model)) == count * (2 if family_of(model).fused else 4), kind
