from itertools import product

import numpy as np
import pytest
import torch
from made_encoders import FAMILIES, LAYERS, WITHOUT_ROW, model_of, tokenizer_of

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


def of(new, old):
    """{variant: value}, and the singular values of the change."""
    rows = list(spectra.matrix_rows(new, old, spectra.left_vectors(old)))
    singular = [(row["rank"], row["value"]) for row in rows if row["variant"] == "singular"]
    assert [rank for rank, _ in singular] == list(range(1, len(singular) + 1))
    values = {row["variant"]: row["value"] for row in rows if row["variant"] != "singular"}
    return values, np.array([value for _, value in singular])


def intruders(new, old):
    u, v = (np.linalg.svd(weights)[0] for weights in (new, old))
    return sum(
        all(abs(u[:, i] @ v[:, j]) <= 0.5 for j in range(len(old))) for i in range(min(10, len(u)))
    )


@pytest.mark.parametrize(("out", "inside"), [(48, 48), (16, 48), (70, 70)])
def test_numbers_are_those_of_numpys_svd_whatever_the_axes(out, inside):
    old = RNG.normal(size=(out, inside))
    low = RNG.normal(size=(out, 5)) @ RNG.normal(size=(5, inside))
    new = old + low + 0.01 * RNG.normal(size=(out, inside))
    found, singular = of(new, old)
    s = np.linalg.svd(new - old)[1]
    np.testing.assert_allclose(singular, s[:64] / np.linalg.norm(old), rtol=1e-10)
    p = s / s.sum()
    expected = {
        "norm": np.linalg.norm(new - old) / np.linalg.norm(old),
        "rank1": s[0] ** 2 / (s**2).sum(),
        "rank8": (s[:8] ** 2).sum() / (s**2).sum(),
        "effective_rank": np.exp(-(p * np.log(p)).sum()),
        "intruders": intruders(new, old),
    }
    assert found == pytest.approx(expected)
    left, right = (np.linalg.qr(RNG.normal(size=(size, size)))[0] for size in (out, inside))
    turned, again = of(7 * left @ new @ right, 7 * left @ old @ right)
    assert turned == pytest.approx(expected)
    np.testing.assert_allclose(again, singular, atol=1e-12)


def test_nothing_changed():
    old = RNG.normal(size=(30, 30))
    found, singular = of(old, old)
    assert found == {"norm": 0, "intruders": 0} and not singular.any()


@pytest.mark.parametrize("kind", KNOWN)
def test_matrices_read_from_a_file_are_the_models(kind, tmp_path):
    model = model_of(kind)
    family = family_of(model)
    save_model(tmp_path, model, tokenizer_of(kind))
    layers = model.get_submodule(family.layers)
    with opened(tmp_path, "nothing") as folder:
        assert folder.layers == len(layers)
        for number, layer in enumerate(layers, 1):
            *found, output = (projection(folder, number, name) for name in MATRICES)
            out = matrix(layer.get_submodule(family.out)).detach().double()
            assert np.array_equal(output, out) and out.shape[1] == len(found[0])
            if not family.fused:
                expected = [
                    layer.get_submodule(getattr(family, name)).weight.detach()
                    for name in MATRICES[:3]
                ]
            else:  # of each of four heads, or of all heads' queries, keys and values
                whole = matrix(layer.get_submodule(family.fused)).detach()
                order = (4, 3, -1) if family.order == "head,qkv" else (3, 4, -1)
                parts = whole.reshape(*order, whole.shape[1])
                parts = parts.transpose(0, 1) if family.order == "head,qkv" else parts
                expected = parts.reshape(3, -1, whole.shape[1])
            assert all(map(np.array_equal, found, expected))


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_a_merged_adapters_change_has_its_rank_in_every_layer(kind, tmp_path):
    model = model_of(kind)
    save_model(tmp_path / "old", model, tokenizer_of(kind))
    add_adapters(model, rank=2, alpha=16, dropout=0.0, seed=1)
    for name, weight in model.named_parameters():
        if ".lora_B." in name:
            weight.data = torch.full_like(weight, 0.02).normal_(
                generator=torch.Generator().manual_seed(1)
            )
    merge_adapters(model)
    save_model(tmp_path / "new", model, tokenizer_of(kind))
    table = spectra.compare([(tmp_path / "new", tmp_path / "old", {"init": 1})])
    assert set(zip(table["layer"], table["matrix"])) == set(
        product(range(1, LAYERS + 1), MATRICES)
    )
    singular = (
        table[table["variant"] == "singular"]
        .set_index(["layer", "matrix", "rank"])["value"]
        .unstack()
    )
    assert (singular[2] > 0.01).all() and (singular[3] < 1e-6).all()
    assert (table.loc[table["variant"] == "rank8", "value"] > 1 - 1e-9).all()
    assert (table.loc[table["variant"] == "effective_rank", "value"] < 2.01).all()


def test_models_of_other_shapes_or_without_a_row_say_so(tmp_path):
    short = model_of("bert")
    keep_layers(short, 2)
    models = {
        "four": model_of("bert"),
        "wide": model_of("bert", hidden_size=64),
        "opt": model_of("opt"),
        "two": short,
    }
    for name, model in models.items():
        save_model(tmp_path / name, model, tokenizer_of("bert"))

    def compare(model, reference):
        return spectra.compare([(tmp_path / model, tmp_path / reference, {})])

    assert compare("two", "four")["layer"].max() == 2
    for model, reference, told in (
        ("four", "two", "four has 4 layers and .*two 2"),
        ("wide", "four", r"query of \(64, 64\) and \(32, 32\)"),
        ("opt", "opt", "opt model"),
    ):
        with pytest.raises(UserError, match=told):
            compare(model, reference)
