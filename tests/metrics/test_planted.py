"""Planted changes: the profiles of a model are those of each measure's own table, and the table is
that of a loop over models."""

import numpy as np
import pytest
import torch
from made_encoders import TEXTS, model_of, tokenizer_of
from made_tables import WITHOUT, in_columns

import bertshift
from bertshift.activations.store import Activations
from bertshift.edits import Edit
from bertshift.metrics import cosine, jensen_shannon, planted, similarity
from bertshift.metrics.pairs import Pair
from bertshift.metrics.planted import BACKGROUND, BLOCKS, MEASURES, Checkpoint, compare
from bertshift.models.loading import save_model
from bertshift.rows.blocks import block_of
from bertshift.running.parts import PartCache
from bertshift.seeds import seed_from

ROWS = [
    {"id": str(number), "text_a": f"{text} and {other}"}
    for number, (text, other) in enumerate((x, y) for x in TEXTS for y in TEXTS[:2])
]
SETTINGS = {
    "layers": 4,
    "heads": 4,
    "backgrounds": 2,
    "draws": 1,
    "sizes": [1.0],
    "words": ["house"],
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A checkpoint, and the same with a little noise in every weight."""
    folder, tokenizer = tmp_path_factory.mktemp("planted"), tokenizer_of("bert")
    for name, noise in (("start", 0.0), ("changed", 0.02)):
        model = model_of("bert", vocab_size=len(tokenizer))
        generator = torch.manual_seed(1)
        for weight in model.parameters():
            weight.data += noise * weight.std() * torch.randn(weight.shape, generator=generator)
        save_model(folder / name, model, tokenizer)
    return folder / "start", folder / "changed"


@pytest.fixture
def checkpoint(folders, tmp_path):
    return Checkpoint(*folders, ROWS, 48, tmp_path)


@pytest.fixture
def quiet(folders, tmp_path):
    """A checkpoint whose backgrounds have no noise."""
    start, _ = folders
    return Checkpoint(start, start, ROWS, 48, tmp_path)


@pytest.mark.parametrize("layer", [1, 2, 3, 4])
def test_made_finds_the_layer_exactly_without_a_background(quiet, layer):
    profiles = quiet.profiles(quiet.variant(Edit("feed_forward", layer, size=1.0), seed=1))
    for measure in ("made", "made_norm", "norm"):
        others = np.delete(profiles[measure], layer, axis=1)
        assert (profiles[measure][:, layer] > 1e-3).all() and not others.any()


@pytest.mark.parametrize("kind", ["heads_reordered", "units_reordered", "nothing"])
def test_what_changes_no_state_is_seen_in_no_state(quiet, kind):
    profiles = quiet.profiles(quiet.variant(Edit(kind, 2 if kind != "nothing" else 0), seed=1))
    for measure in (*planted.STATES, *planted.MADE, "js_matched", "cosine_matched"):
        assert np.abs(profiles[measure]).max() < 1e-4, measure  # rounding of float32
    assert (profiles["js"].max() > 0.01) == (kind == "heads_reordered")


def test_profiles_are_those_of_each_measures_own_table(checkpoint, tmp_path):
    profiles = checkpoint.profiles(checkpoint.variant(Edit("attention", 2, size=0.5), seed=1))
    assert set(profiles) == set(MEASURES)
    files = [tmp_path / f"{name}.npz" for name in ("model", "checkpoint")]
    pair = Pair(*files, {"stimuli": "texts"})
    model, reference = map(Activations, files)
    content = checkpoint.tokens.positions
    states = [[side.hidden(layer)[content] for layer in range(5)] for side in (model, reference)]
    for layer, (x, y) in enumerate(zip(*states, strict=True)):
        assert profiles["rsa"][0, layer] == pytest.approx(1 - bertshift.rsa(x, y), abs=1e-9)
        assert profiles["svcca"][0, layer] == pytest.approx(bertshift.svcca(x, y), abs=1e-9)
        assert profiles["cka"][0, layer] == pytest.approx(1 - bertshift.cka(x, y), abs=1e-9)
    table = similarity.compare([pair]).rows.query("tokens == 'content'")
    by_variant = table.pivot(index="layer", columns="variant", values="value")
    pwcca = (by_variant["pwcca_model"] + by_variant["pwcca_reference"]) / 2
    np.testing.assert_allclose(profiles["pwcca"][0], pwcca, atol=1e-9)
    np.testing.assert_allclose(profiles["procrustes"][0], by_variant["procrustes"], atol=1e-9)
    for name, module, variant, is_similarity in (
        ("js", jensen_shannon, "nats", False),
        ("js_matched", jensen_shannon, "matched", False),
        ("cosine", cosine, "crop", True),
        ("cosine_matched", cosine, "matched", True),
    ):
        rows = module.compare([pair]).rows
        rows = rows[rows["variant"] == variant]
        rows = rows.pivot(index="layer", columns="head", values="value")
        rows = 1 - rows if is_similarity else rows
        np.testing.assert_allclose(profiles[name][0], rows[0], atol=1e-9)
        if "matched" not in name:
            np.testing.assert_allclose(profiles[f"{name}_head"][0], rows[[1, 2, 3, 4]], atol=1e-9)


def test_values_without_a_block_are_those_of_the_other_texts(checkpoint, folders, tmp_path):
    edit = Edit("attention", 2, size=0.5)
    with_all = checkpoint.profiles(checkpoint.variant(edit, seed=1))
    block = block_of(len(ROWS), BLOCKS)
    rest = [row for row, number in zip(ROWS, block, strict=True) if number != 1]
    (tmp_path / "rest").mkdir()
    fewer = Checkpoint(*folders, rest, 48, tmp_path / "rest")
    without = fewer.profiles(fewer.variant(edit, seed=1))
    # SVCCA and PWCCA keep as many directions without a block as with it.
    for measure in {*MEASURES} - {"svcca", "pwcca"}:
        np.testing.assert_allclose(
            with_all[measure][2], without[measure][0], atol=1e-6, err_msg=measure
        )


def test_norm_and_edge_of_weights_are_those_of_the_definition(checkpoint):
    model = checkpoint.variant(Edit("rank_one", 3, size=0.5), seed=1)
    changes = planted.weight_changes(model, checkpoint.model)
    before = dict(checkpoint.model.named_parameters())
    change, old, edges = [], [], []
    for name, weight in model.named_parameters():
        if name.startswith("encoder.layer.2."):
            difference = (weight - before[name]).detach().double().numpy()
            change.append(difference.ravel())
            old.append(before[name].detach().double().numpy().ravel())
            if difference.ndim == 2:
                noise = np.linalg.norm(difference) * sum(1 / np.sqrt(difference.shape))
                edges.append(np.linalg.norm(difference, 2) / noise)
    norm = np.linalg.norm(np.concatenate(change)) / np.linalg.norm(np.concatenate(old))
    assert changes["norm"][3] == pytest.approx(norm)
    assert changes["edge"][3] == pytest.approx(max(edges)) and changes["edge"].argmax() == 3


def test_the_table_is_that_of_a_loop_over_models_and_resumes(folders, tmp_path, monkeypatch):
    start, changed = map(str, folders)
    starts = [{"init": 1, "start": start, "changed": changed}]
    cache = PartCache(tmp_path / "parts", "code")
    table = in_columns(compare(starts, ROWS, SETTINGS, 48, cache))
    checkpoint = Checkpoint(*folders, ROWS, 48, tmp_path)
    models = list(planted._models(1, 1, SETTINGS))
    assert len(models) == 2 + 4 * 4 + 2 + 2 * 4 + 1
    profiles = []
    for number, (_, edit) in enumerate(models, 1):
        seed = seed_from("planted", 1, 1, number, edit.kind)
        profiles.append(checkpoint.profiles(checkpoint.variant(edit, seed)))
    backgrounds = profiles[:2]
    assert [role for role, _ in models[:3]] == [BACKGROUND, BACKGROUND, "planted"]
    columns = ["value", *WITHOUT[:BLOCKS]]
    keys = ["variant", "size", "layer", "head", "measure", "outcome"]
    found = table.set_index(keys)[columns].sort_index()
    for (_, edit), profile in zip(models[2:], profiles[2:], strict=True):
        for measure in MEASURES:
            expected = [
                float(
                    profile[measure][block].max()
                    > max(one[measure][block].max() for one in backgrounds)
                )
                for block in range(1 + BLOCKS)
            ]
            row = found.loc[(edit.kind, edit.size, edit.layer, edit.head, measure, "found")]
            assert row.to_numpy().ravel().tolist() == expected
    assert (table["seed"] == 1).all() and (table["n"] == len(ROWS)).all()

    def refuse(*_):
        raise AssertionError("a finished part was made again")

    monkeypatch.setattr(planted, "Checkpoint", refuse)
    again = in_columns(compare(starts, ROWS, SETTINGS, 48, cache))
    assert again.equals(table)


def test_kinds_that_a_family_cannot_take_are_left_out_with_a_line(tmp_path, capsys):
    tokenizer = tokenizer_of("mpnet")
    model = model_of("mpnet", vocab_size=len(tokenizer))
    save_model(tmp_path / "start", model, tokenizer)
    starts = [{"init": 1, "start": str(tmp_path / "start"), "changed": str(tmp_path / "start")}]
    table = compare(starts, ROWS, SETTINGS, 48, PartCache(tmp_path / "parts", "code"))
    assert "heads_reordered" not in set(table["variant"]) and "head" in set(table["variant"])
    assert "planted: without heads_reordered: a change of kind" in capsys.readouterr().err
