"""The pages of models alone have the numbers of the tables, and the sentences of the report."""

import numpy as np
import pandas as pd
import pytest
import torch
from made_archives import data_of_page
from made_encoders import TEXTS, model_of, tokenizer_of

import bertshift
from bertshift.metrics.text_change import layers_of
from bertshift.models.loading import save_model

WORDS = [text.split() for text in TEXTS]
SHORT = [" ".join(words[:4]) for words in WORDS]
TURNED = [" ".join(reversed(words)) for words in WORDS]
MANY = [*TEXTS, *SHORT, *TURNED, *zip(TEXTS, reversed(TEXTS))]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder, tokenizer = tmp_path_factory.mktemp("models"), tokenizer_of("bert")
    for seed, name in enumerate(("base", "one", "two")):
        save_model(folder / name, model_of("bert", seed, vocab_size=len(tokenizer)), tokenizer)
    return folder


def rounded(values):
    return [float(f"{value:.3g}") for value in values]


def page_of(found, folder):
    files = found.write(folder)
    assert files[-1].name == "index.html"
    contents = data_of_page(files[-1].read_text(encoding="utf-8"))
    assert contents["report"] == found.report
    return contents


def test_the_words_of_a_page_are_the_texts_with_the_numbers_of_the_tables(folders, tmp_path):
    seeds = [folders / "one", folders / "two"]
    change = bertshift.compare(seeds, folders / "base", MANY, measures="rsa", made=False)
    [pair] = page_of(change, tmp_path)["pairs"].values()
    most, least = pair["texts"]["ends"]
    table = change.texts
    shown = [one["position"] for one in [*most, *reversed(least)]]
    assert shown == [*table["position"][:10], *table["position"][-10:]]
    rows = table.set_index("position")
    for one in [*most, *least]:
        position = one["position"]
        given = MANY[position]
        parts = given if isinstance(given, tuple) else (given,)
        for segment, part in enumerate(parts):
            words = [written for side, written, _ in one["words"] if side == segment]
            assert " ".join(words) == part
        assert one["changes"] == rounded(rows.loc[position, layers_of(rows)])
        assert one["beside"] == {"seeds": rounded([rows.loc[position, "seeds"]])[0]}
        last = change.words_in(position)["layer_4"]
        assert [changes[-1] for _, _, changes in one["words"]] == rounded(last)


def test_the_page_of_weights_has_the_numbers_of_the_table(folders, tmp_path):
    found = bertshift.weights(*(folders / name for name in ("one", "base", "two")))
    weights = page_of(found, tmp_path)["weights"]
    tensors = pd.DataFrame(weights["tensors"], columns=weights["columns"])
    expected = found.table[weights["columns"]]
    assert list(tensors["tensor"]) == list(expected["tensor"])
    for column in ("norm", "change", "size", "cosine"):
        numbers = expected[column].to_numpy(float)
        same = pytest.approx(numbers, rel=1e-3, nan_ok=True)
        assert tensors[column].to_numpy(float) == same
    assert {(layer, kind): norm for layer, kind, norm in weights["cells"]} == {
        place: pytest.approx(norm, rel=1e-3)
        for place, norm in found.by_layer.stack(future_stack=True).dropna().items()
    }


def test_a_tensor_that_was_0_has_no_number_on_the_page(folders, tmp_path):
    new = model_of("bert", 1, vocab_size=len(tokenizer_of("bert")))
    old = model_of("bert", 1, vocab_size=len(tokenizer_of("bert")))
    place = "encoder.layer.0.output.dense.bias"
    for model, value in ((new, 1.0), (old, 0.0)):
        torch.nn.init.constant_(model.get_parameter(place), value)
        save_model(tmp_path / str(value), model, tokenizer_of("bert"))
    found = bertshift.weights(tmp_path / "1.0", tmp_path / "0.0", rank=False)
    weights = page_of(found, tmp_path / "out")["weights"]
    assert "cosine" not in weights["columns"] and "rank90" not in weights["columns"]
    [row] = [row for row in weights["tensors"] if row[0] == place]
    assert dict(zip(weights["columns"], row))["norm"] is None


def test_the_page_of_a_training_has_the_numbers_of_both_tables(folders, tmp_path):
    by_step = {0: folders / "base", 10: folders / "one", 20: folders / "two"}
    found = bertshift.along(by_step, folders / "base", MANY, measures=["rsa", "js"])
    measures = page_of(found, tmp_path)["course"]["measures"]
    assert [one["title"] for one in measures] == [one.title for one in found.shown.values()]
    for name, one in zip(found.shown, measures, strict=True):
        for rows, table in ((one["rows"], found.table), (one["halves"], found.halves)):
            expected = table[table["measure"] == name].drop(columns="measure")
            assert len(rows) == len(expected) > 0
            numbers = expected.to_numpy(float)
            assert np.array(rows, float) == pytest.approx(numbers, rel=1e-3, nan_ok=True)
