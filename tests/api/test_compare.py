"""`bertshift.compare` of tiny models: what can be given, what comes out, and what is refused."""

import copy
import json
import shutil

import datasets
import huggingface_hub
import numpy as np
import pandas as pd
import peft
import pytest
import torch
from made_encoders import FAMILIES, TEXTS, model_of, tokenizer_of
from made_tables import WITHOUT, of_columns
from transformers import AutoModelForSequenceClassification, ByT5Tokenizer, ViTConfig, ViTModel

import bertshift
from bertshift.api.change import Change
from bertshift.api.texts import rows_of
from bertshift.metrics.text_change import spelling
from bertshift.models.loading import load_encoder, save_model
from bertshift.models.noise import add_noise
from bertshift.seeds import seed_from


def tiny(kind="bert", seed=0, **changes):
    return model_of(kind, seed, vocab_size=len(tokenizer_of(kind)), **changes)


PAIRS = [*TEXTS, *zip(TEXTS, reversed(TEXTS))]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Folders of a pretrained model and two that were made from it."""
    folder, models = tmp_path_factory.mktemp("models"), {}
    for number, name in enumerate(("base", "one", "two")):
        model = tiny()
        with torch.no_grad():
            for weight in model.encoder.parameters():
                weight += (
                    0.02 * number * torch.randn(weight.shape, generator=torch.manual_seed(number))
                )
        save_model(folder / name, model, tokenizer_of("bert"))
        models[name] = folder / name
    return models


@pytest.fixture(scope="module")
def change(folders):
    return bertshift.compare(folders["one"], folders["base"], PAIRS)


def test_a_table(change):
    table = change.table
    numbers = ["value", "low", "high", "null", "made", "arrived"]
    assert list(table) == ["measure", "variant", "layer", "head", *numbers]
    assert list(table["measure"].unique()) == ["rsa", "svcca", "cka", "js", "cosine"]
    assert not change.left_out
    keys = ["measure", "variant", "layer", "head"]
    assert not table.duplicated(keys).any() and table["value"].notna().all()
    null = table.set_index(keys)["null"].sort_index()
    assert null["svcca", "svcca99", 4, 0] > 0.1 and null["cka", "cka_debiased", 4, 0] == 0
    assert 0 < null["cka", "cka_biased", 4, 0] < 1


def procrustes(x, y):
    """A distance whose values lie beyond the range of the workflow's measure of this name."""
    return float(np.linalg.norm(x - y))


def similar(x, y):
    return bertshift.cka(x, y)


def test_functions_of_ones_own(folders, change):
    own = bertshift.compare(
        folders["one"],
        folders["base"],
        PAIRS,
        measures=["js", procrustes, similar],
        null="noise",
        draws=1,
    )
    theirs = change.results.query("variant == 'cka_debiased'")
    ours = own.results.query("metric == 'similar' and model == 'one'")
    np.testing.assert_allclose(1 - ours.numbers, theirs.numbers, atol=1e-6)
    distance = own.by_layer("procrustes")
    assert (
        list(own.profile.index) == ["js", "procrustes", "similar"]
        and distance["value"].iloc[-1] > 2
    )
    assert (distance["low"] <= distance["value"]).all() and distance["noise"].notna().all()


def test_ways_to_give_a_model(folders, change, tmp_path):
    """A folder, its name, a loaded model, one below a new head, in half precision, and one that is
    its reference."""
    whole = AutoModelForSequenceClassification.from_pretrained(folders["one"])
    before = whole.state_dict()["bert.encoder.layer.0.attention.self.query.weight"].clone()
    for model in (str(folders["one"]), whole, whole.bert):
        found = bertshift.compare(model, folders["base"], PAIRS, measures="js")
        assert found.table.equals(
            change.table[change.table["measure"] == "js"].reset_index(drop=True)
        )
    assert torch.equal(
        before, whole.state_dict()["bert.encoder.layer.0.attention.self.query.weight"]
    )
    same = bertshift.compare(
        copy.deepcopy(whole).half(),
        whole.half(),
        TEXTS,
        measures="js",
        tokenizer=tokenizer_of("bert"),
    )
    assert same.table["value"].tolist() == [0] * len(same.table)


@pytest.fixture(scope="module")
def adapter(folders, tmp_path_factory):
    """The folder of an adapter of the base, and the whole model that it is part of."""
    folder = tmp_path_factory.mktemp("adapters") / "adapter"
    whole = AutoModelForSequenceClassification.from_pretrained(folders["base"])
    lora = peft.LoraConfig(
        task_type="SEQ_CLS", r=2, init_lora_weights=False, target_modules=["query", "value"]
    )
    whole = peft.get_peft_model(whole, lora)
    whole.save_pretrained(folder)
    return folder, whole


def test_an_adapter_is_compared_with_its_base(folders, adapter, tmp_path, monkeypatch):
    """In a folder, loaded, inside a loaded model, and on the hub: as what PEFT merges, saved as a
    model."""
    folder, whole = adapter
    inside = AutoModelForSequenceClassification.from_pretrained(folders["base"])
    inside.load_adapter(str(folder))
    merged = copy.deepcopy(whole).merge_and_unload()
    expected = bertshift.compare(
        merged, folders["base"], TEXTS, measures="js", tokenizer=folders["base"]
    )
    commit = "0123456789" * 4
    shutil.copytree(folder, tmp_path / commit)
    monkeypatch.setattr(
        huggingface_hub, "snapshot_download", lambda *_, **__: str(tmp_path / commit)
    )
    for model in (folder, whole, inside, "somebody/adapter", [folder, str(folder)]):
        found = bertshift.compare(model, texts=TEXTS, measures="js")
        np.testing.assert_array_equal(found.table["value"], expected.table["value"])


def test_names_on_the_hub(folders, change, tmp_path, monkeypatch):
    """A name on the hub gives a folder, or a loaded model's tokenizer; one that does not answer is
    refused."""
    asked, commit = [], "0123456789" * 4

    def snapshot(name, revision=None, **_):
        asked.append((name, revision))
        if name == "nobody/none":
            raise OSError("404")
        folder = tmp_path / name / commit
        shutil.copytree(folders["one"], folder, dirs_exist_ok=True)
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    loaded = AutoModelForSequenceClassification.from_pretrained(folders["one"])
    loaded.name_or_path = "somebody/loaded"
    bertshift.compare(loaded, folders["base"], PAIRS, measures=["js"])
    assert asked.pop() == ("somebody/loaded", None) and not asked
    model, tokenizer = "somebody/one@stage1-step1000-tokens3B", "somebody/one@refs/pr/1"
    found = bertshift.compare(model, folders["base"], PAIRS, measures=["js"], tokenizer=tokenizer)
    js = change.table[change.table["measure"] == "js"].reset_index(drop=True)
    assert found.table.equals(js)
    assert {*asked} == {tuple(name.split("@")) for name in (model, tokenizer)}
    assert found.about["checkpoints"] == [f"{model} ({commit[:7]})", str(folders["base"])]
    with pytest.raises(
        bertshift.UserError, match="no folder nobody/none, and .* could not be downloaded"
    ):
        bertshift.compare("nobody/none", folders["base"], PAIRS)


def test_replicates(folders):
    seeds = [folders["one"], folders["two"]]
    several = bertshift.compare(seeds, folders["base"], TEXTS, measures=["js"]).table
    each = [bertshift.compare(one, folders["base"], TEXTS, measures=["js"]).table for one in seeds]
    np.testing.assert_allclose(several["value"], (each[0]["value"] + each[1]["value"]) / 2)
    again = bertshift.compare(seeds, [folders["base"]] * 2, TEXTS, measures=["js"])
    assert again.table.equals(several) and again.rows["seed"].unique().tolist() == [1, 2]


@pytest.mark.parametrize("kind", list(FAMILIES)[1::8])
def test_families(kind, tmp_path):
    save_model(tmp_path / "one", tiny(kind), tokenizer_of(kind))
    other = tiny(kind, 1)
    found = bertshift.compare(tmp_path / "one", other, TEXTS, tokenizer=tokenizer_of(kind))
    assert not found.left_out and found.table["layer"].max() == 4


def test_other_depths_are_compared_by_depth(folders):
    """Layers at the same relative depth are compared; attention, head by head, is left out."""
    model = tiny(num_hidden_layers=2)
    found = bertshift.compare(model, folders["base"], TEXTS, tokenizer=folders["base"])
    assert found.rows[["layer", "ref_layer"]].drop_duplicates().to_numpy().tolist() == [
        [0, 0],
        [1, 2],
        [2, 4],
    ]
    assert {*found.left_out} == {"js", "cosine", "made"}
    assert "js is left out:" in str(found) and "2 layers and" in found.left_out["made"]
    assert found.table[["made", "arrived"]].isna().all(axis=None)


def test_a_change_of_one_layer_is_made_there_and_arrives_above(folders):
    model = load_encoder(folders["base"])
    generator = torch.manual_seed(1)
    with torch.no_grad():
        for weight in model.encoder.layer[2].parameters():
            weight += 0.1 * torch.randn(weight.shape, generator=generator)
    found = bertshift.compare(
        model, folders["base"], PAIRS, measures=["rsa", "cka", "js"], tokenizer=folders["base"]
    )
    for measure in ("rsa", "cka"):
        rows = found.by_layer(measure)
        value = rows["value"]
        assert value[3] < 0.999 and value[4] < 0.999
        np.testing.assert_allclose(rows["made"], [np.nan, 1, 1, value[3], 1], rtol=1e-9)
        np.testing.assert_allclose(rows["arrived"], [np.nan, 1, 1, 1, value[4]], rtol=1e-9)
        sentence = (
            f"{measure} in layer 4 is {value[4]:.4g}: by this layer's weights alone 1 (made)"
        )
        assert sentence in str(found)
    has_parts = found.table["made"].notna()
    assert {*found.table.loc[has_parts, "variant"]} == {"content", "cka_debiased"}


def test_without_made_all_else_is_the_same(folders, change):
    found = bertshift.compare(folders["one"], folders["base"], PAIRS, made=False)
    assert found.table["made"].isna().all() and change.table["made"].notna().any()
    others = [column for column in change.table if column not in ("made", "arrived")]
    assert found.table[others].equals(change.table[others])


@pytest.mark.filterwarnings("ignore:only 1 of 9 texts differ")
def test_a_measure_whose_tokens_do_not_differ_is_left_out(folders):
    sides = [tiny(seed=1), folders["base"], ["the"] * 9]
    found = bertshift.compare(*sides, measures=["rsa", "js"], tokenizer=folders["base"])
    assert {*found.left_out} == {"rsa"} and {*found.table["measure"]} == {"js"}
    with pytest.raises(bertshift.UserError, match="content tokens of these texts"):
        bertshift.compare(*sides, measures="rsa", tokenizer=folders["base"])


COLUMNS = {"premise": TEXTS[:2], "hypothesis": TEXTS[2:4], "label": [0, 1]}
RECORDS = pd.DataFrame(COLUMNS).to_dict("records")


@pytest.mark.parametrize(
    "texts",
    [COLUMNS, pd.DataFrame(COLUMNS), RECORDS, iter(RECORDS), datasets.Dataset.from_dict(COLUMNS)],
)
def test_columns_of_a_table(texts):
    pairs = rows_of(list(zip(TEXTS[:2], TEXTS[2:4])))
    assert rows_of(texts, ("premise", "hypothesis")) == pairs
    assert rows_of(pd.Series(TEXTS[:2])) == rows_of(COLUMNS, "premise") == rows_of(TEXTS[:2])


def overflowing():
    model = tiny()
    with torch.no_grad():
        model.encoder.layer[2].output.dense.weight *= 1e38
    return model


def vision():
    return ViTModel(
        ViTConfig(
            hidden_size=8,
            num_hidden_layers=1,
            num_attention_heads=1,
            intermediate_size=8,
            image_size=32,
        )
    )


def saved_vision(folder):
    vision().save_pretrained(folder)
    return folder


def adapter_of(base, folder):
    folder.mkdir()
    said = {"peft_type": "LORA", "base_model_name_or_path": base}
    (folder / "adapter_config.json").write_text(json.dumps(said))
    return folder


def checkpoints(folder, folders):
    for name in ("checkpoint-100", "checkpoint-50"):
        shutil.copytree(folders["one"], folder / name)
    return folder


def test_the_public_names_are_listed():
    assert {"compare", "rsa", "svcca"} <= {*dir(bertshift)}


def half(x, y):
    return 0.5


REFUSED = {
    "no reference": (lambda _, __: {"reference": None}, "no reference is given for .*one, and only an adapter names"),
    "an adapter of nothing": (
        lambda to, _: {"model": adapter_of("/gone/base", to / "it"), "reference": None},
        "it is an adapter of /gone/base. /gone/base is neither a folder nor the name",
    ),
    "one text": (lambda _, __: {"texts": "a b"}, "texts is one string"),
    "records": (lambda _, __: {"texts": [{"premise": "a"}]}, "write columns="),
    "three columns": (lambda _, __: {"texts": COLUMNS, "columns": ["premise"] * 3}, "columns names 3 columns"),
    "a model of no kind": (lambda _, __: {"model": 3}, "a model is of type int"),
    "a number": (lambda _, __: {"texts": 3}, "texts is of type int"),
    "no texts": (lambda _, __: {"texts": []}, "texts is empty"),
    "an empty text": (lambda _, __: {"texts": ["a", " \n"]}, "text 2 is empty"),
    "a triple": (lambda _, __: {"texts": [("a", "b", "c")]}, "text 1 is tuple"),
    "a mapping": (lambda _, __: {"texts": COLUMNS}, "has columns premise, hypothesis, label; write columns="),
    "one record": (lambda _, __: {"texts": RECORDS[0], "columns": "premise"}, "column 'premise' of texts is one string"),
    "columns of a list": (lambda _, __: {"texts": TEXTS, "columns": "premise"}, "texts has no columns"),
    "uneven columns": (
        lambda _, __: {"texts": COLUMNS | {"hypothesis": ["one"]}, "columns": ["premise", "hypothesis"]},
        "columns of texts have 2 and 1 rows",
    ),
    "a long text": (lambda _, __: {"texts": ["a", "a " * 99]}, "text 2 has 101 tokens, more than the 64"),
    "max_length": (lambda _, __: {"max_length": 65}, "max_length is 65, .*write 3 to 64"),
    "no room": (lambda _, __: {"texts": PAIRS, "max_length": 4}, "max_length is 4, .*write 5 to 64"),
    "no tokens": (lambda _, __: {"tokens": 0}, "tokens is 0; write 4 or more"),
    "half a character": (lambda _, __: {"texts": ["a", "b\ud800"]}, "text 2 has half of a character"),
    "no tokenizer": (lambda _, __: {"model": tiny("roberta"), "tokenizer": None}, "which tokenizer"),
    "a tokenizer that is code": (
        lambda _, __: {"model": tiny(), "tokenizer": ByT5Tokenizer()},
        "ByT5Tokenizer, which cuts words by code of its own",
    ),
    "overflow": (
        lambda _, __: {"model": overflowing(), "tokenizer": tokenizer_of("bert")},
        "BertModel: its hidden states are not finite",
    ),
    "its folder": (lambda to, _: {"model": saved_vision(to / "vit")}, "vit reads pixel_values, not texts"),
    "a folder of checkpoints": (
        lambda to, folders: {"model": checkpoints(to, folders)}, "these folders of models: checkpoint-50, checkpoint-100;"
    ),
    "no model": (lambda _, __: {"model": []}, "a list of models is empty"),
    "references": (lambda _, folders: {"reference": [folders["base"]] * 2}, "1 models have 2 references"),
    "a measure": (lambda _, __: {"measures": ["pca"]}, "no measure 'pca'"),
    "a measure's name": (lambda _, __: {"measures": lambda x, y: 0}, "called '<lambda>'"),
    "a measure twice": (lambda _, __: {"measures": ["rsa", bertshift.rsa]}, "two measures are called 'rsa'"),
    "neither 0 nor 1": (lambda _, __: {"measures": half}, "half gives 0.5 for states and themselves"),
    "no number": (lambda _, __: {"measures": np.subtract}, "subtract gives ndarray"),
    "no measure": (lambda _, __: {"measures": []}, "no measure is named"),
    "a null": (lambda _, __: {"null": "seeds"}, "no null 'seeds'; write noise or texts"),
}  # fmt: skip


@pytest.mark.parametrize("change, said", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_compared_gets_a_sentence(change, said, folders, tmp_path):
    given = {"model": folders["one"], "reference": folders["base"], "texts": TEXTS} | change(
        tmp_path, folders
    )
    with pytest.raises(bertshift.UserError, match=said) as error:
        bertshift.compare(**given)
    assert "bertshift-" not in str(error.value)


@pytest.fixture(scope="module")
def beside_noise(folders):
    return bertshift.compare(folders["one"], folders["base"], PAIRS, null="noise", draws=2)


def test_noise_stands_beside_the_change_and_leaves_it_as_it_was(change, beside_noise):
    table, noise = beside_noise.table, ["noise", "noise_low", "noise_high"]
    assert list(table) == [*change.table, *noise] and table[[*change.table]].equals(change.table)
    assert change.profile.equals(beside_noise.profile)
    rows = beside_noise.rows[beside_noise.rows["model"] == "one.noise"]
    last = rows[
        (rows["metric"] == "cka") & (rows["variant"] == "cka_debiased") & (rows["layer"] == 4)
    ]
    found = beside_noise.by_layer("cka").loc[4]
    assert found["noise_low"] == pytest.approx(1 - last["value"].max())
    assert found["noise_high"] == pytest.approx(1 - last["value"].min())


def test_noise_is_measured_as_the_reference_with_noise_is(folders, beside_noise):
    """The draw made by hand and given as a model."""
    noisy = load_encoder(folders["base"])
    add_noise(noisy, load_encoder(folders["one"]), seed_from("noise", "one", 1, 1, 2))
    noisy.name_or_path = str(folders["base"])
    [rows] = [bertshift.compare(noisy, folders["base"], PAIRS, measures="js").rows]
    drawn = beside_noise.rows[
        (beside_noise.rows["model"] == "one.noise") & (beside_noise.rows["seed"] == 2)
    ]
    assert rows["value"].tolist() == drawn.loc[drawn["metric"] == "js", "value"].tolist()


def test_what_is_beyond_noise_is_said_with_one_p_a_measure(beside_noise):
    [said] = [line for line in beside_noise.report if "every draw of noise" in line]
    assert said.startswith(
        "Changed more than by every draw of noise of the same size (2 drawn), by the 95 % interval"
        " of each difference and corrected over layers: rsa in "
    )
    assert said.endswith(" None can be below 0.33: take 19 draws for 0.05.")
    for measure, tests in beside_noise.tests.groupby("measure"):
        assert f"{measure} in " in said and f"(p = {tests['p'].min():.2g})" in said
    for measure, sign in {"js": 1, "cka": -1}.items():
        rows = beside_noise.by_layer(measure)
        noise = rows["noise_high" if sign == 1 else "noise_low"]
        is_more = sign * (rows["value"] - noise) > 0
        assert {*beside_noise.beyond_noise(measure)} <= {*rows.index[is_more]}


def test_models_of_one_parent_are_more_alike_than_with_texts_in_another_order(folders):
    found = bertshift.compare(
        folders["one"], folders["base"], PAIRS, measures=["rsa", "js", similar], null="texts"
    )
    tests = found.tests
    assert tests["measure"].unique().tolist() == ["rsa", "similar"]
    assert (tests["draws"] == 19).all() and (tests["p"] == 0.05).all()
    [said] = [line for line in found.report if "other orders" in line]
    assert (
        "texts of base in any of 19 other orders, corrected over layers: rsa in layers 0 to 4 (p = 0.05)"
        in said
    )


def test_texts_and_words_have_their_change(change, beside_noise):
    texts = change.texts
    assert sorted(texts["position"]) == list(range(len(PAIRS)))
    assert texts["layer_4"].is_monotonic_decreasing and not texts["layer_0"].any()
    words = change.words
    assert words["value"].is_monotonic_decreasing and words["word"].is_unique
    assert {"noise", "p", "q"} <= {*beside_noise.words} and "noise" in beside_noise.texts
    own = words.set_index("word")["value"].to_dict()
    assert beside_noise.words.set_index("word")["value"].to_dict() == pytest.approx(own)
    first, last = texts.iloc[0], texts.iloc[-1]
    said = (
        f"text {first['position'] + 1:.0f} ({first['layer_4']:.4g}) change most and those of text"
    )
    assert any(f"{said} {last['position'] + 1:.0f} " in line for line in change.report)


def test_words_stand_in_their_texts_with_the_numbers_of_the_tables(change):
    """The words joined give the text, and their means over texts are those of word types."""
    position = len(PAIRS) - 2
    words = change.words_in(position)
    parts = [" ".join(words.loc[words["segment"] == segment, "written"]) for segment in (0, 1)]
    assert tuple(parts) == PAIRS[position]
    assert words["layer_4"].iloc[1:].notna().all()
    every = pd.concat(change.words_in(at).assign(position=at) for at in range(len(PAIRS)))
    every["word"] = every["written"].map(spelling)
    in_texts = every.groupby(["word", "position"])["layer_4"].mean().dropna()
    expected = change.words.set_index("word")["value"].to_dict()
    assert in_texts.groupby("word").mean().to_dict() == pytest.approx(expected)
    with pytest.raises(bertshift.UserError, match="no words of a text at position 99"):
        change.words_in(99)


def test_two_seeds_stand_beside_their_change(folders, tmp_path):
    """They differ by what comparing one with the other gives; the second is near the first."""
    near = load_encoder(folders["one"])
    with torch.no_grad():
        for weight in near.encoder.layer[3].parameters():
            weight += 0.07 * torch.randn(weight.shape, generator=torch.manual_seed(5))
    save_model(tmp_path / "near", near, tokenizer_of("bert"))
    seeds = [folders["one"], tmp_path / "near"]
    found = bertshift.compare(seeds, folders["base"], PAIRS, measures="rsa", made=False)
    apart = bertshift.compare(*seeds, PAIRS, measures="rsa", made=False)
    for table, key, column in (("texts", "position", "layer_4"), ("words", "word", "value")):
        ours = getattr(found, table).set_index(key)["seeds"]
        theirs = getattr(apart, table).set_index(key)[column]
        assert ours.to_dict() == pytest.approx(theirs.to_dict())
        assert "seeds" not in getattr(apart, table)
    texts, words = found.texts, found.words[found.words["n"] >= 3]
    more = [sum(texts["layer_4"] > texts["seeds"]), sum(words["value"] > words["seeds"])]
    assert 0 < more[0] < len(texts) and any(
        f"; {more[0]} of {len(texts)} texts change more than two seeds differ there." in line
        for line in found.report
    )
    assert any(f"; {more[1]} change more than between two seeds" in line for line in found.report)


def test_equal_texts_have_equal_changes(folders):
    found = bertshift.compare(folders["one"], folders["base"], ["so be it then"] * 2 + [*TEXTS])
    one, other = found.words_in(0), found.words_in(1)
    pd.testing.assert_frame_equal(one, other)
    texts = found.texts.set_index("position")["layer_4"]
    assert texts[0] == pytest.approx(texts[1])


def test_states_of_other_widths_have_no_change_by_text(folders):
    wide = tiny(hidden_size=64, intermediate_size=64)
    found = bertshift.compare(wide, folders["base"], TEXTS, tokenizer=folders["base"])
    assert "are 64 wide" in found.left_out["texts"] and found.texts.empty and found.words.empty


def test_what_would_make_it_surer(change, folders):
    """Each answer asked again gives the half width that was wanted, or a narrower one."""
    design = change.design()
    assert design["replicates"].isna().all() and (design["texts"] > 3 * len(PAIRS)).all()
    assert (design["wanted"] == design["half_width"] / 2).all()
    wider = change.design(half_width=design["half_width"].max())
    assert (wider["texts"] <= design["texts"]).all()
    top, _ = change.most_changed("rsa")
    [row] = design[(design["measure"] == "rsa") & (design["layer"] == top)].to_dict("records")
    said = f"To halve the interval of rsa in layer {top}, take {row['texts']:.0f} texts."
    assert said in change.report
    with pytest.raises(bertshift.UserError, match="half_width is 0; write a number above 0"):
        change.design(half_width=0)


def test_each_value_is_printed_with_its_interval(change):
    printed = str(change)
    assert "23 intervals of 95 % over texts, of which about 1.2 miss" in printed
    for measure in change.profile.index:
        rows = change.by_layer(measure).loc[1:]  # nothing changed in layer 0
        for low, high in zip(rows["low"], rows["high"]):
            assert f"{low:.4g} to {high:.4g}" in printed


def made(values, noise, blocks):
    """A change of RSA in one layer, of one replicate for each value, beside a draw of noise for
    each; `blocks` are added to the values without each block of either."""
    rows = []
    for model, numbers in (("m", values), ("m.noise", noise)):
        for seed, value in enumerate(numbers, 1):
            keys = {"metric": "rsa", "model": model, "reference": "r", "variant": "content"}
            keys |= {"layer": 1, "ref_layer": 1, "head": 0, "init": 1, "ref_init": 1}
            without = dict(zip(WITHOUT, value + np.array(blocks), strict=True))
            rows.append(keys | {"seed": seed, "ref_seed": 0, "value": value} | without)
    return Change(of_columns(pd.DataFrame(rows)), "m", "r", draws=1)


WIDE = np.random.default_rng(0).normal(scale=1e-2, size=20)


def test_unequal_replicates_are_not_beyond_noise():
    """Their mean changed more than noise, by one of three alone."""
    unequal = made([0.99999, 0.99999, 0.9997], [0.999995] * 3, np.zeros(20))
    assert unequal.table["value"][0] < unequal.table["noise_low"][0]
    assert unequal.beyond_noise("rsa") == []
    equal = made([0.9997, 0.99971, 0.99969], [0.999995] * 3, np.zeros(20))
    assert equal.beyond_noise("rsa") == [1]


def test_a_change_is_paired_with_noise_by_texts():
    """Intervals that overlap, of models that differ in the same way on every text."""
    change = made([0.5], [0.51], WIDE - WIDE.mean())
    assert change.table["high"][0] > 0.51 and change.beyond_noise("rsa") == [1]


@pytest.mark.parametrize("texts", [TEXTS[:1] * 300, TEXTS[:5] * 60])
def test_texts_that_are_repeated_are_measured_with_a_warning(texts, folders):
    with pytest.warns(UserWarning, match=f"only {len({*texts})} of 300 texts differ"):
        found = bertshift.compare(folders["one"], folders["base"], texts, measures=["rsa", "cka"])
    once = bertshift.compare(folders["one"], folders["base"], [*{*texts}], measures="rsa")
    assert found.table["value"].notna().all() and once.table["value"].notna().all()
    assert "rsa" in str(found)
