from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from made_encoders import FAMILIES, LAYERS, WITHOUT_ROW, model_of, tokenizer_of
from scipy.stats import entropy

from bertshift.errors import UserError
from bertshift.metrics import spectra
from bertshift.models.adapters import merge_adapters
from bertshift.models.family import family_of, matrix
from bertshift.models.loading import save_model
from bertshift.models.lora import add_adapters
from bertshift.models.truncate import keep_layers
from bertshift.models.weights import MATRICES, opened, projection

RNG = np.random.default_rng(0)
KNOWN = [kind for kind in FAMILIES if kind not in WITHOUT_ROW]


def measured(new, old):
    """{variant: value}, and the singular values of the change."""
    table = pd.DataFrame(spectra.matrix_rows(new, old, spectra.left_vectors(old)))
    is_singular = table["variant"] == "singular"
    assert table.loc[is_singular, "rank"].tolist() == list(range(1, is_singular.sum() + 1))
    values = table[~is_singular].set_index("variant")["value"].to_dict()
    return values, table.loc[is_singular, "value"].to_numpy()


def count_intruders(new, old):
    u, v = (np.linalg.svd(weights)[0] for weights in (new, old))
    return (np.abs(u[:, :10].T @ v) <= 0.5).all(axis=1).sum()


@pytest.mark.parametrize(("out", "inside"), [(48, 48), (16, 48), (70, 70)])
def test_numbers_are_those_of_numpys_svd_whatever_the_axes(out, inside):
    old = RNG.normal(size=(out, inside))
    low = RNG.normal(size=(out, 5)) @ RNG.normal(size=(5, inside))
    new = old + low + 0.01 * RNG.normal(size=(out, inside))
    values, singular = measured(new, old)
    s = np.linalg.svd(new - old)[1]
    np.testing.assert_allclose(singular, s[:64] / np.linalg.norm(old), rtol=1e-10)
    shares = s**2 / (s**2).sum()
    expected = {
        "norm": np.linalg.norm(new - old) / np.linalg.norm(old),
        "rank1": shares[0],
        "rank8": shares[:8].sum(),
        "effective_rank": np.exp(entropy(s)),
        "intruders": count_intruders(new, old),
    }
    assert values == pytest.approx(expected)
    left, right = (np.linalg.qr(RNG.normal(size=(size, size)))[0] for size in (out, inside))
    turned, turned_singular = measured(7 * left @ new @ right, 7 * left @ old @ right)
    assert turned == pytest.approx(expected)
    np.testing.assert_allclose(turned_singular, singular, atol=1e-12)


def test_nothing_changed():
    old = RNG.normal(size=(30, 30))
    values, singular = measured(old, old)
    assert values == {"norm": 0, "intruders": 0} and not singular.any()


@pytest.mark.parametrize("kind", KNOWN)
def test_matrices_read_from_a_file_are_the_models(kind, tmp_path):
    model = model_of(kind)
    family = family_of(model)
    save_model(tmp_path, model, tokenizer_of(kind))
    layers = model.requires_grad_(False).get_submodule(family.layers)
    with opened(tmp_path, "nothing") as folder:
        assert folder.layers == len(layers)
        for number, layer in enumerate(layers, 1):
            *qkv, output = (projection(folder, number, name) for name in MATRICES)
            assert np.array_equal(output, matrix(layer.get_submodule(family.out)))
            if family.fused:
                fused = matrix(layer.get_submodule(family.fused))
                heads_first = family.order == "head,qkv"
                parts = fused.unflatten(0, (4, 3, -1) if heads_first else (3, 4, -1))
                expected = (parts.transpose(0, 1) if heads_first else parts).flatten(1, 2)
            else:
                names = [getattr(family, name) for name in MATRICES[:3]]
                expected = [layer.get_submodule(name).weight for name in names]
            assert all(map(np.array_equal, qkv, expected))


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_a_merged_adapters_change_has_its_rank_in_every_layer(kind, tmp_path):
    model = model_of(kind)
    save_model(tmp_path / "old", model, tokenizer_of(kind))
    add_adapters(model, rank=2, alpha=16, dropout=0.0, seed=1)
    torch.manual_seed(1)
    for name, weight in model.named_parameters():
        if ".lora_B." in name:
            torch.nn.init.normal_(weight)
    merge_adapters(model)
    save_model(tmp_path / "new", model, tokenizer_of(kind))
    table = spectra.compare([(tmp_path / "new", tmp_path / "old", {"init": 1})])
    singular = table[table["variant"] == "singular"].set_index(["layer", "matrix", "rank"])
    singular = singular["value"].unstack()
    assert set(singular.index) == set(product(range(1, LAYERS + 1), MATRICES))
    assert (singular[2] > 0.01).all() and (singular[3] < 1e-6).all()


def test_models_of_other_shapes_or_without_a_row_say_so(tmp_path):
    models = {
        "four": model_of("bert"),
        "wide": model_of("bert", hidden_size=64),
        "opt": model_of("opt"),
        "two": model_of("bert"),
    }
    keep_layers(models["two"], 2)
    for name, model in models.items():
        save_model(tmp_path / name, model, tokenizer_of("bert"))

    def compare(model, reference):
        return spectra.compare([(tmp_path / model, tmp_path / reference, {})])

    assert compare("two", "four")["layer"].max() == 2
    for model, reference, message in (
        ("four", "two", "four has 4 layers and .*two 2"),
        ("wide", "four", r"query of \(64, 64\) and \(32, 32\)"),
        ("opt", "opt", "opt model"),
    ):
        with pytest.raises(UserError, match=message):
            compare(model, reference)
