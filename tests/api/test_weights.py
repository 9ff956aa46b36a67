"""`bertshift.weights` of tiny models, beside NumPy's own decomposition."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from made_encoders import FAMILIES, model_of, tokenizer_of
from safetensors.torch import load_file, save_file

import bertshift
from bertshift.models.loading import save_model

PLACE = "encoder.layer.1.intermediate.dense.weight"


@pytest.fixture(scope="module")
def base():
    return model_of("bert", 0, vocab_size=len(tokenizer_of("bert")))


@pytest.fixture
def make(base, tmp_path):
    """make(name, {tensor: change}) -> a folder of the base with these changes."""

    def make_folder(name, changes=()):
        save_model(tmp_path / name, base, tokenizer_of("bert"))
        file = tmp_path / name / "model.safetensors"
        state = load_file(file)
        for tensor, change in dict(changes).items():
            state[tensor] += torch.as_tensor(change, dtype=torch.float32)
        save_file(state, file, metadata={"format": "pt"})
        return tmp_path / name

    return make_folder


def draw(shape, seed=0):
    return np.random.default_rng(seed).normal(scale=0.1, size=shape).astype(np.float32)


def test_a_change_of_rank_one_has_its_place_norm_rank_and_direction(make, base):
    old = base.state_dict()[PLACE].double().numpy()
    change = np.outer(draw(old.shape[0]), draw(old.shape[1], 1)).astype(np.float32)
    reference = make("base")
    found = bertshift.weights(
        make("one", {PLACE: change}), reference, make("two", {PLACE: -change})
    )
    table = found.table.set_index("tensor")
    row = table.loc[PLACE]
    assert (row["layer"], row["kind"], row["rank90"]) == (2, "feed-forward", 1)
    assert row["norm"] == pytest.approx(np.linalg.norm(change) / np.linalg.norm(old), rel=1e-5)
    assert row["cosine"] == pytest.approx(-1)
    assert (table["change"] > 0).sum() == 1
    assert found.by_layer.loc[2, "feed-forward"] > 0 and found.by_layer.loc[1].sum() == 0
    assert found.report[0].startswith(f"{found.model} differs from {found.reference} in 1 of ")
    assert f"{PLACE} changed most, by {row['norm']:.3g} of its norm." in found.report


def test_the_rank_is_that_of_the_singular_values(make, base, monkeypatch):
    """Also where a matrix is read in parts, and lies on its side."""
    monkeypatch.setattr("bertshift.models.tensors.NUMBERS", 64)
    places = [PLACE, "encoder.layer.0.output.dense.weight"]
    changes = {place: draw(base.state_dict()[place].shape) for place in places}
    table = bertshift.weights(make("one", changes), make("base")).table.set_index("tensor")
    for place, change in changes.items():
        squares = np.linalg.svd(change, compute_uv=False) ** 2
        shares = np.cumsum(squares) / squares.sum()
        assert table.loc[place, "rank90"] == np.searchsorted(shares, 0.9) + 1
        assert table.loc[place, "ranks"] == min(change.shape)


def test_a_tensor_that_was_zero_is_told_apart(make, base):
    bias = "pooler.dense.bias"
    reference = make("base", {bias: -base.state_dict()[bias]})
    said = bertshift.weights(make("one", {PLACE: 0.01}), reference).report
    assert any(sentence.startswith(f"{PLACE} changed most, by ") for sentence in said)
    assert f"In {reference} all was 0 in {bias}." in said


def test_equal_models_say_that_nothing_was_trained(make):
    found = bertshift.weights(make("one"), make("base"))
    assert "nothing was trained here" in found.report[0]
    assert not found.table["norm"].any() and found.plot()


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_its_layers(family, tmp_path):
    model = model_of(family, 0, vocab_size=len(tokenizer_of(family)))
    save_model(tmp_path / family, model, tokenizer_of(family))
    table = bertshift.weights(tmp_path / family, tmp_path / family).table
    layers = table.groupby("layer")["kind"].agg(set)
    assert "embeddings" in layers[0]
    for layer in layers.index.drop(0):
        assert {"attention", "feed-forward", "norms"} <= layers[layer]


def test_a_model_with_a_head_is_matched_with_its_bare_encoder(make, tmp_path):
    reference, headed = make("base"), make("headed")
    state = load_file(headed / "model.safetensors")
    state = {f"bert.{name}": value for name, value in state.items()}
    save_file(state | {"classifier.weight": torch.ones(2, 8)}, headed / "model.safetensors")
    for pair in ((headed, reference), (reference, headed)):
        found = bertshift.weights(*pair)
        assert not found.table["change"].any() and len(found.table) == len(state)
        assert any("Only" in line and "classifier.weight" in line for line in found.report)


def test_an_adapter_that_was_never_merged_is_told(make):
    left = make("left")
    state = load_file(left / "model.safetensors")
    save_file(state | {"layer.0.lora_A.weight": torch.ones(2, 8)}, left / "model.safetensors")
    report = bertshift.weights(left, make("base")).report
    assert "nothing was trained here" in report[0]
    assert "holds an adapter that was never merged (layer.0.lora_A.weight)" in report[1]


REFUSED = {
    "quantised": (torch.ones(4, dtype=torch.int8), "holds int8, a quantised checkpoint"),
    "infinite": (torch.full((4,), torch.inf), "holds NaN or infinite numbers"),
}


@pytest.mark.parametrize("tensor, said", REFUSED.values(), ids=REFUSED)
def test_weights_that_are_no_numbers_are_refused(tensor, said, make):
    broken = make("broken")
    state = load_file(broken / "model.safetensors")
    state["encoder.layer.0.output.dense.bias"] = tensor.repeat(2)[: len(tensor)]
    save_file(state, broken / "model.safetensors")
    with pytest.raises(bertshift.UserError, match=said):
        bertshift.weights(broken, broken)


def test_what_is_no_pair_of_models_is_refused(make, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.json").write_text(json.dumps({"model_type": "mine"}))
    save_file({"a": torch.ones(2)}, other / "model.safetensors")
    with pytest.raises(bertshift.UserError, match="have no tensor of one name"):
        bertshift.weights(other, make("base"))
    (other / "model.safetensors").rename(other / "pytorch_model.bin")
    with pytest.raises(bertshift.UserError, match="can only be read whole; load the model and"):
        bertshift.weights(other, make("base"))


def test_the_command_prints_the_report_and_writes_a_table(make, tmp_path):
    one = make("one", {PLACE: 0.1})
    command = [sys.executable, "-m", "bertshift", "weights", one, make("base"), "--no-rank"]
    done = subprocess.run(
        [*command, "--out", tmp_path / "out"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"{PLACE} changed most" in done.stdout
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        "weights.tsv",
        "weights.png",
        "index.html",
    }
