"""Measures that run single layers of the models again."""

import copy
from itertools import pairwise

import numpy as np
import pytest
import torch
from made_toys import CASES, TOKENIZER, model_of
from metrics.test_attention_to import text
from safetensors.torch import load_file, save_file
from scipy.spatial.distance import cosine, jensenshannon

from bertshift.activations.extract import extract
from bertshift.activations.rerun import Rerun
from bertshift.activations.store import Activations
from bertshift.errors import UserError
from bertshift.metrics import attention_to, own_or_inherited
from bertshift.metrics.attention_norms import value_norms
from bertshift.metrics.attention_to import per_kind, token_kinds
from bertshift.metrics.pairs import Pair
from bertshift.models.loading import save_model
from bertshift.models.weights import norms

TEXTS = ["a b c", "d e f g h a", "b", "h g f e"]
ROWS = [{"id": str(number), "text_a": text} for number, text in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def models():
    """The fine-tuned model, its parent, and one that is tuned otherwise."""
    before = model_of(CASES["classification"][0], layers=2).encoder
    before.set_attn_implementation("eager")
    after, other = copy.deepcopy(before), copy.deepcopy(before)
    for model in (after, other):
        for weight in model.parameters():
            weight.data += 0.1 * torch.randn_like(weight)
    return after, before, other


@pytest.fixture(scope="module")
def folders(models, tmp_path_factory):
    """The folder of each model, by its file of activations."""
    root, folders = tmp_path_factory.mktemp("models"), {}
    for name, model in zip(("model", "base", "other"), models, strict=True):
        save_model(root / name, model, TOKENIZER)
        path = root / f"{name}.npz"
        extract(model, TOKENIZER, ROWS, path, max_length=16, attention=True)
        folders[path] = root / name
    return folders


@torch.inference_mode()
def maps_of(model, layer):
    maps = []
    for row in ROWS:
        output = model(**TOKENIZER(row["text_a"], return_tensors="pt"), output_attentions=True)
        maps.append(output.attentions[layer - 1][0].double().numpy())
    return maps


def spliced(model, giver, layer):
    """Attention of a layer that has its queries and keys of another model."""
    mixed = copy.deepcopy(model)
    given = giver.encoder.layer[layer - 1].attention.self
    attention = mixed.encoder.layer[layer - 1].attention.self
    attention.query, attention.key = given.query, given.key
    return maps_of(mixed, layer)


def test_each_part_is_what_a_spliced_model_shows(models, folders):
    after, before, _ = models
    table = own_or_inherited.compare([Pair(*list(folders)[:2])], folders).rows
    table = table[table["measure"].isin(own_or_inherited.MEASURES)]
    assert len(table) == 2 * 5 * 3 * 2 and (table["n"] == len(ROWS)).all()
    table = table.set_index(["variant", "layer", "measure", "head"])["value"].sort_index()
    for layer in (1, 2):
        parts = {
            "total": maps_of(after, layer),
            "own": spliced(before, after, layer),
            "inherited": spliced(after, before, layer),
        }
        for variant, maps in parts.items():
            distances, divergences = [], []
            for x, y in zip(maps, maps_of(before, layer), strict=True):
                distances.append([cosine(a.ravel(), b.ravel()) for a, b in zip(x, y, strict=True)])
                divergences.append((jensenshannon(x, y, axis=2) ** 2).mean(axis=1))
            values = table[variant, layer]
            for measure, expected, rtol in (
                ("cosine_distance", distances, 1e-4),
                ("js", divergences, 1e-3),
            ):
                heads, means = values[measure][1:], np.mean(expected, axis=0)
                np.testing.assert_allclose(heads, means, rtol=rtol, atol=1e-7)


def test_the_vectors_are_those_whose_weighted_sum_the_layer_puts_out(models, folders):
    """f from the modules themselves; that sum_hj alpha_ij f_j and the bias are the output shows f
    to be the right one."""
    activations = Activations(next(iter(folders)))
    for number, module in enumerate(models[0].encoder.layer):
        states, dense = activations.hidden(number), module.attention.output.dense
        lengths = value_norms(Rerun(models[0], activations), number + 1, states)
        for example, (first, end) in enumerate(pairwise(activations.offsets)):
            x = torch.tensor(states[first:end])
            alpha = torch.tensor(activations.attention(number + 1)[example])
            values = module.attention.self.value(x).reshape(-1, 4, 8)
            vectors = torch.einsum("jhd,ohd->hjo", values, dense.weight.reshape(32, 4, 8))
            output = torch.einsum("hij,hjo->io", alpha, vectors) + dense.bias
            expected = dense(module.attention.self(x[None])[0])[0]
            torch.testing.assert_close(output, expected, rtol=1e-4, atol=1e-5)
            norms_of_vectors = vectors.norm(dim=-1).detach().numpy()
            np.testing.assert_allclose(lengths[:, first:end], norms_of_vectors, rtol=1e-5)


def test_weights_that_numpy_cannot_read_are_named(models, tmp_path):
    save_model(tmp_path, models[0], TOKENIZER)
    weights = tmp_path / "model.safetensors"
    save_file({name: tensor.bfloat16() for name, tensor in load_file(weights).items()}, weights)
    with pytest.raises(UserError, match="float32"):
        norms(tmp_path)


def test_attention_of_each_model_stands_in_one_table_once(models, folders, capsys):
    model, base, other = folders
    keys = {"model": "rte", "reference": "base", "init": 1, "ref_init": 1, "ref_seed": 0}
    pairs = [Pair(model, base, keys | {"seed": 1}), Pair(other, base, keys | {"seed": 2})]
    tags = ["PRON VERB PUNCT", "NOUN " * 6, "PUNCT", "VERB AUX VERB VERB"]
    texts = [
        row | {"text_a": text(row["text_a"], upos, upos.lower())}
        for row, upos in zip(ROWS, tags, strict=True)
    ]
    table = attention_to.compare(pairs, {"": (texts, "upos (accuracy 0.950)")}, folders).rows
    assert "has: subj, obj, neg" in capsys.readouterr().err
    assert set(table["annotation"]) == {"upos (accuracy 0.950)"}
    counts = table.groupby("token")["n"].unique()
    assert counts["punct"] == [2] and counts["noun"] == [1] and "obj" not in counts
    assert set(zip(table["model"], table["seed"])) == {("rte", 1), ("base", 0), ("rte", 2)}
    rows = table.set_index(["seed", "layer", "token", "variant", "head"])["value"].sort_index()
    assert rows.index.is_unique
    for seed, path, encoder in zip((1, 0, 2), folders, models, strict=True):
        activations = Activations(path)
        lengths = value_norms(Rerun(encoder, activations), 2, activations.hidden(1))
        expected = per_kind(activations.attention(2), lengths, token_kinds(activations, texts))
        for (kind, variant), values in expected.items():
            means = [values.mean(), *values.mean(axis=0)]
            assert rows[seed, 2, kind, variant].tolist() == pytest.approx(means, rel=1e-9)
