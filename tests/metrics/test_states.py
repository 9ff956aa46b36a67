"""Tables of measures of hidden states: which tokens, which layers, which references."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from metrics import oracles
from scipy.spatial.distance import jensenshannon

from bertshift.activations.sampling import sampled
from bertshift.activations.store import Activations
from bertshift.errors import UserError
from bertshift.figures.numbers import stack
from bertshift.measures import Metric
from bertshift.metrics import (
    cka,
    cosine,
    jensen_shannon,
    layer_cka,
    linear_cka,
    rsa,
    similarity,
    svcca,
)
from bertshift.metrics.grounding import MEASURES, Behaviour, differences, distances
from bertshift.metrics.hidden_states import CenteredStates, Comparison, token_classes
from bertshift.metrics.pairs import Pair, frame, matched_layers
from bertshift.rows.blocks import JACKKNIFE_COLUMNS

LENGTHS = [12] * 60  # 60 [CLS], 60 [SEP], 600 others


@pytest.fixture
def pair(make_file):
    """Width 20; in layer 0 every [CLS] is the same, and in layer 2 [CLS] alone has changed."""
    rng = np.random.default_rng(0)
    base = (rng.normal(size=(3, 720, 20)) * np.geomspace(4, 0.2, 20) + 5).astype(np.float32)
    base[0, ::12] = base[0, 0]
    tuned = base + np.float32(0.4) * rng.normal(size=base.shape).astype(np.float32)
    tuned[[0, 2]] = base[[0, 2]]
    tuned[2, ::12] = rng.normal(size=(60, 20))
    return Pair(
        make_file("model.npz", tuned, LENGTHS), make_file("base.npz", base, LENGTHS), {"seed": 1}
    )


ALL, CONTENT = np.full(720, True), np.tile(np.arange(12) % 11 > 0, 60)


def states(path, layer, tokens=ALL):
    return Activations(path).hidden(layer)[tokens].astype(float)


def test_layers_are_matched_by_relative_depth():
    assert matched_layers(3, 3) == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert matched_layers(4, 12)[1:] == [(1, 3), (2, 6), (3, 9), (4, 12)]
    assert matched_layers(12, 4)[:4] == [(0, 0), (1, 0), (2, 1), (3, 1)]


def test_classes_of_tokens_are_told_apart(pair):
    table = similarity.compare([pair]).set_index(["tokens", "variant", "layer"]).sort_index()
    assert (table["head"] == 0).all() and table["value"].notna().all()
    n = table.groupby("tokens")["n"].unique()
    assert [n[key].item() for key in ("all", "content", "cls", "sep")] == [720, 600, 60, 60]
    for variant in (
        "svcca99",
        "pwcca_reference",
        "pwcca_model",
        "cka_debiased",
        "cka_biased",
        "procrustes",
    ):
        value = table["value"].xs(variant, level="variant")
        null = table["value"].xs(f"{variant}_null", level="variant")
        assert value.loc[(["content", "sep"], 2)].to_numpy() == pytest.approx(0, abs=1e-7)
        assert value["cls", 2] == pytest.approx(null["cls", 2], abs=0.2) and null["cls", 2] > 0.4
        assert 0.001 < value["all", 2] < null["all", 2]
        assert ("cls", 0) not in value and value["sep", 0] == pytest.approx(0, abs=1e-7)


def test_tables_have_the_numbers_of_the_definitions(pair):
    both = pair.model, pair.reference
    x, y = (states(path, 1) for path in both)
    table = (
        similarity.compare([pair])
        .query("layer == 1 and tokens == 'all'")
        .set_index("variant")["value"]
    )
    assert table.filter(regex="^(?!.*_null)").to_dict() == pytest.approx({
        "svcca99": oracles.cca(x, y), "procrustes": oracles.procrustes(x, y),
        "pwcca_model": oracles.pwcca(x, y, 0.99, 0), "pwcca_reference": oracles.pwcca(x, y, 0.99, 1),
        "cka_debiased": 1 - oracles.debiased_cka(x, y), "cka_biased": 1 - oracles.biased_cka(x, y),
    }, abs=1e-9)  # fmt: skip
    row = svcca.compare([pair], tokens=None).set_index(["variant", "layer"]).loc[("svcca99", 1)]
    kept = [np.linalg.matrix_rank(directions) for directions in oracles.variates(x, y, 0.99)[1]]
    assert row["value"] == pytest.approx(table["svcca99"], abs=1e-9)
    assert (min(row["k_model"], row["k_reference"]), row["n"]) == (min(kept), 720)
    x, y = (states(path, 1, CONTENT) for path in both)
    row = rsa.compare([pair]).set_index(["variant", "layer"]).loc[("content", 1)]
    assert (row["value"], row["n"]) == (
        pytest.approx(oracles.pearson_of_distances(x, y), abs=1e-12),
        600,
    )
    table = linear_cka.compare([pair]).query("layer == 1").set_index("variant")["value"]
    assert table["cka_debiased"] == pytest.approx(1 - oracles.debiased_cka(x, y), abs=1e-9)
    assert table["cka_biased"] == pytest.approx(1 - oracles.biased_cka(x, y), abs=1e-9)


def test_maps_of_layers_compare_before_after_and_across(pair):
    table = layer_cka.compare([pair], tokens=None)
    assert table.groupby(["tokens", "n", "variant"]).size().to_dict() == {
        (*each, variant): 4 if each[0] == "cls" else 9  # first tokens are alike in the embeddings
        for each in (("cls", 60), ("content", 600)) for variant in layer_cka.MAPS
    }  # fmt: skip
    for row in table[table["tokens"] == "content"].itertuples():
        sides = [getattr(pair, side) for side in layer_cka.MAPS[row.variant]]
        x, y = (
            states(*each, CONTENT) for each in zip(sides, (row.layer, row.ref_layer), strict=True)
        )
        assert row.value == pytest.approx(oracles.debiased_cka(x, y), abs=1e-9)
    drawn = layer_cka.compare([pair], tokens=50)
    assert set(drawn["n"]) == {50}


def test_layers_that_do_not_vary_without_a_block_have_no_cka_there():
    walk = np.random.default_rng(0).normal(size=(3, 60, 12)).cumsum(axis=0)
    walk[1][20:] = walk[1][20]  # one block alone tells the tokens of this layer apart
    blocks = [slice(0, 20), slice(20, 20), slice(20, 60)]
    found, without = layer_cka.all_pairs([CenteredStates.of(x, blocks) for x in walk])
    assert without[1] == pytest.approx(found, abs=1e-9)
    assert (
        np.isnan(without[0]).sum() == 5
        and np.isnan(without[0, 1]).all()
        and np.isfinite(without[2]).all()
    )
    few = [CenteredStates.of(x[:6], [slice(0, 3), slice(3, 6)]) for x in walk]
    assert np.isnan(layer_cka.all_pairs(few)[1]).all()


def test_contrast_is_of_the_upper_third():
    assert layer_cka.thirds(12) == ([1, 2, 3, 4], [9, 10, 11, 12])
    assert [layer_cka.thirds(layers) for layers in (4, 3, 0)] == [
        ([1, 2], [3, 4]),
        ([], []),
        ([], []),
    ]
    index = pd.MultiIndex.from_product([range(7), range(7)])
    cells = pd.Series([1.0 if i == j else 0.8 if min(i, j) >= 5 else 0.3 for i, j in index], index)
    assert layer_cka.contrast(cells) == pytest.approx(0.5)
    assert np.isnan([layer_cka.contrast(cells.drop((6, 1))), layer_cka.contrast(cells[:0])]).all()


def test_a_decoder_has_first_tokens_and_no_separators():
    made = SimpleNamespace(special=np.zeros(5, bool), offsets=np.array([0, 3, 5]))
    found = {name: np.flatnonzero(member).tolist() for name, member in token_classes(made).items()}
    assert found == {"all": [0, 1, 2, 3, 4], "content": [1, 2, 4], "cls": [0, 3], "sep": []}


def test_nulls_permute_tokens(pair):
    rng = np.random.default_rng(1)
    compared = Comparison.of(*map(CenteredStates.of, rng.normal(size=(2, 400, 100))))
    orders = [rng.permutation(400) for _ in range(5)]
    found = {row["variant"]: row["value"] for row in similarity.rows(compared, orders)}
    expected = 1 - cka.null_biased(compared.moments)
    assert found["cka_biased_null"] == pytest.approx(expected, abs=0.005)
    assert found["cka_debiased_null"] == pytest.approx(1, abs=0.005)
    once, again = (similarity.compare([pair]) for _ in range(2))
    assert once.equals(again)
    assert (once["sd"] > 0).equals(once["variant"].str.endswith("_null"))


def test_few_tokens(pair):
    for tokens in (
        21,
        22,
    ):  # as many as dimensions; enough of them, but not for the directions of two models
        with pytest.raises(UserError, match=f"{tokens} tokens cannot be compared at width 20"):
            similarity.compare([pair], tokens=tokens)
    table = similarity.compare(
        [pair], tokens=200
    )  # about 17 [CLS], fewer than the width: CCA says nothing
    assert set(table.loc[table["tokens"] == "cls", "metric"]) == {"cka", "procrustes"}
    x, y = np.random.default_rng(1).normal(
        size=(2, 30, 20)
    )  # fewer than the directions of both sides
    found = similarity.rows(Comparison.of(CenteredStates.of(x), CenteredStates.of(y)))
    assert {row["metric"] for row in found} == {"cka", "procrustes"}


def test_references_are_shared_and_stimuli_kept_apart(pair, make_file):
    """Tables of several pairs are those of each pair, one below the other."""
    rng = np.random.default_rng(1)
    seed2, deep = (
        make_file(
            f"{layers}.npz", rng.normal(size=(layers + 1, 720, 24)).astype(np.float32), LENGTHS
        )
        for layers in (2, 4)
    )
    pairs = [
        Pair(pair.model, pair.reference),
        Pair(seed2, pair.reference),
        Pair(deep, seed2, {"stimuli": "own"}),
    ]
    for compare in (rsa.compare, svcca.compare):
        alone = pd.concat([compare([one], tokens=500) for one in pairs], ignore_index=True)
        together = compare(pairs, tokens=500)
        pd.testing.assert_frame_equal(together, alone[list(together)], check_exact=True)
        layers = together[["layer", "ref_layer"]].drop_duplicates().to_numpy().tolist()
        assert [4, 2] in layers and [3, 2] in layers
        assert (together["n"] == 500).all()


def test_rsa_of_a_model_with_itself_is_1_without_each_block_too(pair):
    table = rsa.compare([Pair(pair.model, pair.model)])
    assert (table[["value", *JACKKNIFE_COLUMNS]] == 1).all(axis=None)
    assert set(table.loc[table["variant"] == "all_tokens", "n"]) == {720}


def test_a_file_of_the_sampled_tokens_is_enough(make_file):
    x = np.random.default_rng(3).normal(size=(2, 3, 300, 6)).astype(np.float32)

    def table(**kept):
        files = [
            make_file(f"{name}.npz", states, [10] * 30, **kept) for name, states in enumerate(x)
        ]
        return rsa.compare([Pair(*files, {"stimuli": "wiki"})], tokens=100)

    pd.testing.assert_frame_equal(table(), table(kept=partial(sampled, count=100, stimuli="wiki")))
    with pytest.raises(UserError, match="other tokens"):
        table(kept=partial(sampled, count=90, stimuli="wiki"))


@pytest.mark.parametrize("metric", [rsa, svcca, similarity, layer_cka, linear_cka])
def test_a_layer_whose_tokens_are_all_alike_has_no_row_and_the_others_have(
    metric, make_file, capsys
):
    states = np.random.default_rng(0).normal(size=(3, 120, 5)).astype(np.float32)
    base = make_file("base.npz", states, [12] * 10)
    states[2] = 0.1 * states[2, 0]
    table = metric.compare([Pair(make_file("collapsed.npz", states, [12] * 10), base)])
    table = table[table["variant"] != "before"]
    assert set(table["layer"]) == {0, 1} and table["value"].notna().all()
    assert "do not differ in layer 2: " in capsys.readouterr().err


def test_different_tokens_are_refused_with_both_names(make_file):
    hidden = np.random.default_rng(0).normal(size=(2, 6, 3))
    one = make_file("one.npz", hidden, [3, 3])
    two = make_file("two.npz", hidden, [3, 3], token_ids=np.arange(6, dtype=np.int32)[::-1])
    with pytest.raises(UserError, match=r"one\.npz and .*two\.npz .* tokenizer"):
        rsa.compare([Pair(one, two)])


def test_rows_without_a_column_are_refused_by_its_name():
    row = {
        "metric": "distance",
        "layer": 1,
        "ref_layer": 1,
        "head": 0,
        "value": 0.5,
        "sd": 0.1,
        "n": 3,
    }
    with pytest.raises(UserError, match="'distance' have no 'variant'"):
        frame([row])
    with pytest.raises(UserError, match=r"old\.tsv has no column 'variant'"):
        stack({"old.tsv": pd.DataFrame([row | {"stimuli": "mnli"}])}, "distance", ["mean"])


@pytest.mark.parametrize(
    "how", [{"reads": "sampled", "tokens": "svcca_tokens"}, {"reads": "sample"}]
)
def test_a_record_that_no_dump_can_serve_is_refused(how):
    with pytest.raises(UserError, match="write (tokens='tokens'|one of attention, sampled)"):
        Metric(module="mine", **how)


# Distances of several runs at once, which grounding compares with differences in behaviour.
TOKENS = {"rsa": 150, "svcca": 200}


@pytest.fixture
def runs(make_file):
    """Three runs of 4 layers, a fourth of 2; in layer 3 of the second all tokens are alike."""
    rng = np.random.default_rng(0)
    first, logits = rng.normal(size=(5, 240, 8)), rng.normal(size=(4, 40, 2, 6, 6))
    made = []
    for number, layers in enumerate((4, 4, 4, 2)):
        states = (first + 0.3 * number * rng.normal(size=first.shape)).astype(np.float32)
        if number == 1:
            states[3] = 1.0
        maps = np.exp(logits + 0.3 * number * rng.normal(size=logits.shape))
        maps = (maps / maps.sum(-1, keepdims=True)).astype(np.float32)
        made.append(
            make_file(f"{number}.npz", states[: layers + 1], [6] * 40, list(maps[:layers]))
        )
    return made


def test_distances_of_several_runs_are_those_of_the_metrics_own_tables(runs):
    found = distances([Activations(path) for path in runs], "rte", TOKENS)
    assert len(found) == 6 and set(found[0, 1]) == set(MEASURES)
    one = [Pair(runs[0], runs[2], {"stimuli": "rte"})]
    table = pd.concat([
        similarity.compare(one, TOKENS["svcca"]).query("tokens == 'all'"),
        *(rsa.compare(one, TOKENS["rsa"]), jensen_shannon.compare(one), cosine.compare(one)),
    ])  # fmt: skip
    of = (
        table.query("head == 0 and layer > 0")
        .pivot(index="variant", columns="layer", values="value")
        .T
    )
    expected = {
        "rsa": 1 - of["content"], "svcca": of["svcca99"], "cka": of["cka_debiased"], "procrustes": of["procrustes"],
        "pwcca": (of["pwcca_model"] + of["pwcca_reference"]) / 2, "js": of["nats"], "cosine": 1 - of["crop"],
    }  # fmt: skip
    for measure, values in expected.items():
        assert found[0, 2][measure] == pytest.approx(values.to_numpy(), abs=1e-9), measure


def test_layers_whose_tokens_are_alike_have_no_distance_and_other_depths_meet_at_the_same_share(
    runs,
):
    opened = [Activations(path) for path in runs]
    found = distances(opened, "rte", TOKENS)
    for measure, values in found[1, 2].items():
        alike = measure not in ("js", "cosine")
        assert np.isnan(values).tolist() == [False, False, alike, False]
    deep, shallow = opened[0], opened[3]
    expected = [
        jensen_shannon.per_map(shallow.attention(layer), deep.attention(2 * layer)).mean()
        for layer in (1, 2)
    ]
    assert found[0, 3]["js"] == pytest.approx(expected)


def test_behaviour_differs_by_predictions_scores_and_outputs():
    rng = np.random.default_rng(1)
    p, q = (rng.dirichlet([1, 1, 1], 50) for _ in range(2))
    q[0] = p[0] = [1, 0, 0]
    found = differences(Behaviour(p, 0.5), Behaviour(q, 0.75))
    outputs = pytest.approx(np.mean(jensenshannon(p, q, axis=1) ** 2))
    predictions = np.mean(p.argmax(1) != q.argmax(1))
    assert found == {"predictions": predictions, "score": 0.25, "outputs": outputs, "n": 50}
    assert found == differences(Behaviour(q, 0.75), Behaviour(p, 0.5))
    rated = differences(Behaviour(np.array([1.0, 3.0]), 0.5), Behaviour(np.array([2.0, 0.0]), 0.5))
    assert np.isnan(rated["predictions"]) and (rated["score"], rated["outputs"]) == (0, 2)
