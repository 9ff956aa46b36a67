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
ROWS = [{"id": str(number), "text_a": each} for number, each in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def models():
    """The fine-tuned model, its parent, and one that is tuned otherwise."""
    before = model_of(CASES["classification"][0], layers=2).encoder
    before.set_attn_implementation("eager")
    tuned = [copy.deepcopy(before) for _ in range(2)]
    with torch.no_grad():
        for weight in (each for model in tuned for each in model.parameters()):
            weight += 0.1 * torch.randn_like(weight)
    return tuned[0], before, tuned[1]


@pytest.fixture(scope="module")
def folders(models, tmp_path_factory):
    """The folder of each model, by its file of activations."""
    root, found = tmp_path_factory.mktemp("own"), {}
    for name, model in zip(("model", "base", "other"), models, strict=True):
        save_model(root / name, model, TOKENIZER)
        extract(model, TOKENIZER, ROWS, root / f"{name}.npz", max_length=16, attention=True)
        found[root / f"{name}.npz"] = root / name
    return found


@torch.inference_mode()
def maps_of(model, layer):
    inputs = [TOKENIZER(each, return_tensors="pt") for each in TEXTS]
    return [
        model(**one, output_attentions=True).attentions[layer - 1][0].double().numpy()
        for one in inputs
    ]


def spliced(model, giver, layer):
    """Attention of a layer that has its queries and keys of another model."""
    mixed = copy.deepcopy(model)
    own, other = (one.encoder.layer[layer - 1].attention.self for one in (mixed, giver))
    own.query, own.key = other.query, other.key
    return maps_of(mixed, layer)


def test_each_part_is_what_a_spliced_model_shows(models, folders):
    after, before, _ = models
    table = own_or_inherited.compare([Pair(*list(folders)[:2])], folders)
    assert len(table) == 2 * 5 * 3 * 2 and (table["n"] == len(ROWS)).all()
    values = table.set_index(["variant", "layer", "head", "measure"])["value"].sort_index()
    for layer in (1, 2):
        parts = {
            "total": maps_of(after, layer),
            "own": spliced(before, after, layer),
            "inherited": spliced(after, before, layer),
        }
        for variant, maps in parts.items():
            for head in range(4):
                pairs = [
                    (x[head], y[head]) for x, y in zip(maps, maps_of(before, layer), strict=True)
                ]
                found = values[variant, layer, head + 1]
                distance = np.mean([cosine(x.ravel(), y.ravel()) for x, y in pairs])
                assert found["cosine_distance"] == pytest.approx(distance, rel=1e-4, abs=1e-7)
                divergence = np.mean([np.mean(jensenshannon(x, y, axis=1) ** 2) for x, y in pairs])
                assert found["js"] == pytest.approx(divergence, rel=1e-3, abs=1e-7)


def test_the_vectors_are_those_whose_weighted_sum_the_layer_puts_out(models, folders):
    """f from the modules themselves; that sum_hj alpha_ij f_j and the bias are the output shows f
    to be the right one."""
    activations = Activations(next(iter(folders)))
    for number, module in enumerate(models[0].encoder.layer):
        states, dense = activations.hidden(number), module.attention.output.dense
        lengths = value_norms(Rerun(models[0], activations), number + 1, states)
        for example, (first, last) in enumerate(pairwise(activations.offsets)):
            x = torch.from_numpy(states[first:last].copy())
            alpha = torch.from_numpy(activations.attention(number + 1)[example].copy())
            values = module.attention.self.value(x).reshape(-1, 4, 8)
            given = torch.einsum("jhd,ohd->hjo", values, dense.weight.reshape(32, 4, 8))
            put_out = torch.einsum("hij,hjo->io", alpha, given) + dense.bias
            expected = dense(module.attention.self(x[None])[0])[0]
            torch.testing.assert_close(put_out, expected, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(
                lengths[:, first:last], given.norm(dim=-1).detach().numpy(), rtol=1e-5
            )


def test_weights_that_numpy_cannot_read_are_named(models, tmp_path):
    save_model(tmp_path, models[0], TOKENIZER)
    weights = tmp_path / "model.safetensors"
    save_file({name: tensor.bfloat16() for name, tensor in load_file(weights).items()}, weights)
    with pytest.raises(UserError, match="float32"):
        norms(tmp_path)


def test_attention_of_each_model_stands_in_one_table_once(models, folders, capsys):
    model, base, other = folders
    pairs = [
        Pair(
            path,
            base,
            {
                "model": "rte",
                "reference": "base",
                "init": 1,
                "seed": seed,
                "ref_init": 1,
                "ref_seed": 0,
            },
        )
        for seed, path in ((1, model), (2, other))
    ]
    tags = ["PRON VERB PUNCT", "NOUN " * 6, "PUNCT", "VERB AUX VERB VERB"]
    texts = [
        row | {"text_a": text(row["text_a"], upos, upos.lower())}
        for row, upos in zip(ROWS, tags, strict=True)
    ]
    table = attention_to.compare(pairs, {"": (texts, "upos (accuracy 0.950)")}, folders)
    assert "has: subj, obj, neg" in capsys.readouterr().err
    assert set(table["annotation"]) == {"upos (accuracy 0.950)"}
    counts = table.groupby("token")["n"].unique()
    assert counts["punct"] == [2] and counts["noun"] == [1] and "obj" not in counts
    runs = table.drop_duplicates(["model", "seed"])[["model", "seed"]].to_numpy().tolist()
    assert runs == [["rte", 1], ["base", 0], ["rte", 2]]
    rows = table.set_index(["seed", "layer", "token", "variant", "head"])["value"].sort_index()
    assert rows.index.is_unique
    for seed, path, one in ((1, model, models[0]), (0, base, models[1]), (2, other, models[2])):
        activations = Activations(path)
        lengths = value_norms(Rerun(one, activations), 2, activations.hidden(1))
        expected = per_kind(activations.attention(2), lengths, token_kinds(activations, texts))
        for (kind, variant), values in expected.items():
            means = [values.mean(), *values.mean(axis=0)]
            assert rows[seed, 2, kind, variant].tolist() == pytest.approx(means, rel=1e-9)
