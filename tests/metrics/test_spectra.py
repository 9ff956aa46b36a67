from itertools import product

import numpy as np
import pandas as pd
import pytest
from made_encoders import FAMILIES, LAYERS, WITHOUT_ROW, model_of, tokenizer_of
from scipy.stats import entropy

from bertshift.errors import UserError
from bertshift.metrics import spectra
from bertshift.models.family import family_of, matrix
from bertshift.models.loading import save_model
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


def test_every_matrix_of_every_layer_has_its_change(tmp_path):
    folders = tmp_path / "new", tmp_path / "old"
    for seed, folder in enumerate(folders):
        save_model(folder, model_of("bert", seed), tokenizer_of("bert"))
    table = spectra.compare([(*folders, {"init": 1})])
    changes = table[table["variant"] == "norm"].set_index(["layer", "matrix"])["value"]
    assert len(changes) == LAYERS * len(MATRICES)
    with opened(folders[0], "nothing") as one, opened(folders[1], "nothing") as other:
        for layer, name in product(range(1, LAYERS + 1), MATRICES):
            new, old = projection(one, layer, name), projection(other, layer, name)
            expected = np.linalg.norm(new - old) / np.linalg.norm(old)
            assert changes[layer, name] == pytest.approx(expected)


def test_models_of_other_shapes_or_without_a_row_say_so(tmp_path):
    models = {
        "four": model_of("bert"),
        "wide": model_of("bert", hidden_size=64),
        "opt": model_of("opt"),
        "two": model_of("bert"),
        "none": model_of("bert"),
    }
    keep_layers(models["two"], 2)
    keep_layers(models["none"], 0)
    for name, model in models.items():
        save_model(tmp_path / name, model, tokenizer_of("bert"))

    def compare(model, reference):
        return spectra.compare([(tmp_path / model, tmp_path / reference, {})])

    assert compare("two", "four")["layer"].max() == 2
    for model, reference, message in (
        ("four", "two", "four has 4 layers and .*two 2"),
        ("none", "four", "no layer can be measured"),
        ("wide", "four", r"query of \(64, 64\) and \(32, 32\)"),
        ("opt", "opt", "opt model"),
    ):
        with pytest.raises(UserError, match=message):
            compare(model, reference)


def test_a_matrix_of_zeros_has_no_shares_and_no_rank():
    assert np.isnan([spectra.shares(np.zeros(3), 1), spectra.effective_rank(np.zeros(3))]).all()
