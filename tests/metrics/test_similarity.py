from types import SimpleNamespace

import numpy as np
import pytest

from bertshift.activations.store import Activations
from bertshift.errors import UserError
from bertshift.metrics import cka, linear_cka, similarity, svcca
from bertshift.metrics.pairs import Pair
from bertshift.metrics.scatter import Centred, scatter
from bertshift.rows.blocks import WITHOUT

LENGTHS = [12] * 60  # 60 [CLS], 60 [SEP], 600 others


@pytest.fixture
def pair(make_file):
    """Width 20; in layer 0 every [CLS] is the same, and in layer 2 [CLS] alone has changed."""
    rng = np.random.default_rng(0)
    base = (rng.normal(size=(3, 720, 20)) * np.geomspace(4, 0.2, 20) + 5).astype(np.float32)
    base[0, ::12] = base[0, 0]
    moved = base + np.float32(0.4) * rng.normal(size=base.shape).astype(np.float32)
    moved[0] = base[0]
    moved[2] = base[2]
    moved[2, ::12] = rng.normal(size=(60, 20))
    return Pair(make_file("model.npz", moved, LENGTHS), make_file("base.npz", base, LENGTHS), {"seed": 1})


def test_classes_of_tokens_are_told_apart(pair):
    table = similarity.compare([pair]).set_index(["tokens", "variant", "layer"]).sort_index()
    assert (table["head"] == 0).all() and table["value"].notna().all()
    n = table.groupby("tokens")["n"].unique()
    assert [n[key].item() for key in ("all", "content", "cls", "sep")] == [720, 600, 60, 60]
    for variant in ("svcca99", "pwcca_reference", "pwcca_model", "cka_debiased", "cka_biased", "procrustes"):
        value = table["value"].xs(variant, level="variant")
        null = table["value"].xs(f"{variant}_null", level="variant")
        assert value.loc[(["content", "sep"], 2)].to_numpy() == pytest.approx(0, abs=1e-7)
        assert value["cls", 2] == pytest.approx(null["cls", 2], abs=0.2) and null["cls", 2] > 0.4
        assert 0.001 < value["all", 2] < null["all", 2]
        assert ("cls", 0) not in value and value["sep", 0] == pytest.approx(0, abs=1e-7)


def test_a_decoder_has_first_tokens_and_no_separators():
    made = SimpleNamespace(special=np.zeros(5, bool), offsets=np.array([0, 3, 5]))
    found = {name: np.flatnonzero(member).tolist() for name, member in similarity.classes(made).items()}
    assert found == {"all": [0, 1, 2, 3, 4], "content": [1, 2, 4], "cls": [0, 3], "sep": []}


def test_svcca_is_that_of_its_own_table(pair):
    ours, theirs = similarity.compare([pair], tokens=500), svcca.compare([pair], tokens=500)
    ours = ours[(ours["tokens"] == "all") & ours["variant"].isin(["svcca99", "svcca99_null"])]
    both = ours.merge(theirs, on=["variant", "layer", "n", "k_model", "k_reference"])
    exact = both["variant"] == "svcca99"
    assert len(both) == 6 and both.loc[exact, "value_x"].to_numpy() == pytest.approx(
        both.loc[exact, "value_y"], abs=1e-9
    )
    # permuted tokens have the distance that the law for independent ones gives
    assert both.loc[~exact, "value_x"].to_numpy() == pytest.approx(both.loc[~exact, "value_y"], abs=0.03)


def test_nulls_permute_tokens(pair):
    table = similarity.compare([pair])
    nulls = table[(table["tokens"] == "all") & table["variant"].str.endswith("_null")].set_index(
        ["variant", "layer"]
    )
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 400, 100))
    x, y = Centred.of(x), Centred.of(y)
    orders = [rng.permutation(400) for _ in range(5)]
    found = {row["variant"]: row for row in similarity.distances(x, y, orders)}
    expected = 1 - cka.null_biased(400, scatter(x, x), scatter(y, y))
    assert found["cka_biased_null"]["value"] == pytest.approx(expected, abs=0.005)
    assert found["cka_debiased_null"]["value"] == pytest.approx(1, abs=0.005)
    assert (nulls["sd"] > 0).all() and similarity.compare([pair]).equals(table)


def test_streaming_is_the_same_as_one_shot(pair, monkeypatch):
    whole = similarity.compare([pair])
    monkeypatch.setattr("bertshift.metrics.scatter.ROWS", 37)
    streamed = similarity.compare([pair])
    assert streamed["value"].to_numpy() == pytest.approx(whole["value"].to_numpy(), abs=1e-8)


def test_few_tokens(pair):
    for tokens in (21, 22):  # as many as dimensions; enough of them, but not for the directions of two models
        with pytest.raises(UserError, match=f"{tokens} tokens cannot be compared at width 20"):
            similarity.compare([pair], tokens=tokens)
    table = similarity.compare([pair], tokens=200)  # about 17 [CLS], fewer than the width: CCA says nothing
    assert set(table.loc[table["tokens"] == "cls", "metric"]) == {"cka", "procrustes"}
    x, y = np.random.default_rng(1).normal(
        size=(2, 30, 20)
    )  # more than the width, fewer than both sides' directions
    few = similarity.distances(Centred.of(x), Centred.of(y))
    assert {row["metric"] for row in few} == {"cka", "procrustes"}
    assert set(similarity.compare([pair], tokens=41)["tokens"]) < {
        *similarity.classes(Activations(pair.model))
    }


def test_linear_cka_alone_is_the_same_but_for_nulls_of_all_orders(pair):
    keys = ["variant", "layer", "ref_layer", "head"]
    alone, table = linear_cka.compare([pair], tokens=500), similarity.compare([pair], tokens=500)
    table = table[(table["tokens"] == "content") & (table["metric"] == "cka")]
    alone, table = alone.set_index(keys), table.set_index(keys)
    nulls = alone.index.get_level_values("variant").str.endswith("_null")
    numbers = ["value", "n", *WITHOUT]
    assert alone.loc[~nulls, numbers].equals(table.loc[alone.index[~nulls], numbers]) and (~nulls).sum() == 6
    drawn = table.loc[alone.index[nulls]]
    assert (abs(alone.loc[nulls, "value"] - drawn["value"]) < 5 * drawn["sd"] + 1e-3).all() and len(
        drawn
    ) == 6
