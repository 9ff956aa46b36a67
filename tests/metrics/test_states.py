"""Tables of measures of hidden states: which tokens, which layers, which references."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from made_tables import WITHOUT, in_columns
from metrics import oracles
from scipy.spatial.distance import jensenshannon

from bertshift.activations.sampling import sampled
from bertshift.activations.store import Activations
from bertshift.errors import UserError
from bertshift.figures.numbers import stack
from bertshift.measures import Measure
from bertshift.metrics import (
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


# Of the twelve tokens of an example, the first is [CLS] and the last [SEP].
PLACE = np.tile(np.arange(12), 60)
CLASSES = {
    "all": PLACE >= 0,
    "content": PLACE % 11 > 0,
    "cls": PLACE == 0,
    "sep": PLACE == 11,
}


def hidden_of(path, layer, tokens=slice(None)):
    return Activations(path).hidden(layer)[tokens].astype(float)


def test_layers_are_matched_by_relative_depth():
    assert matched_layers(0, 12) == [(0, 0)]
    assert matched_layers(2, 2) == [(0, 0), (1, 1), (2, 2)]
    assert matched_layers(4, 12)[1:] == [(1, 3), (2, 6), (3, 9), (4, 12)]
    assert matched_layers(12, 4)[:4] == [(0, 0), (1, 0), (2, 1), (3, 1)]


def test_tables_have_the_numbers_of_the_definitions(pair):
    table = similarity.compare([pair]).rows
    assert (table["head"] == 0).all()
    table = table[table["layer"] == 1].set_index(["tokens", "variant"])
    rsas = in_columns(rsa.compare([pair])).set_index(["variant", "layer"])
    for name, is_member in CLASSES.items():
        x, y = (hidden_of(path, 1, is_member) for path in (pair.model, pair.reference))
        expected = {
            "svcca99": oracles.cca(x, y), "procrustes": oracles.procrustes(x, y),
            "pwcca_model": oracles.pwcca(x, y, 0.99, 0), "pwcca_reference": oracles.pwcca(x, y, 0.99, 1),
            "cka_debiased": 1 - oracles.debiased_cka(x, y), "cka_biased": 1 - oracles.biased_cka(x, y),
        }  # fmt: skip
        rows = table.loc[name]
        assert rows["value"][[*expected]].to_dict() == pytest.approx(expected, abs=1e-9)
        assert (rows["n"] == len(x)).all()
        if variant := {"all": "all_tokens", "content": "content"}.get(name):
            row = rsas.loc[variant, 1]
            assert row["value"] == pytest.approx(oracles.pearson_of_distances(x, y), abs=1e-12)
            assert row["n"] == len(x)
    unchanged = rsas.loc[[("content", 0), ("content", 2), ("all_tokens", 0)]]
    assert (unchanged[["value", *WITHOUT]] == 1).all(axis=None)
    of_layers = linear_cka.compare([pair]).rows.set_index(["layer", "variant"])["value"]
    for variant in ("cka_debiased", "cka_biased"):
        same = table.loc[("content", variant), "value"]
        assert of_layers[1, variant] == pytest.approx(same, abs=1e-9)
    row = svcca.compare([pair], tokens=None).rows.set_index(["layer", "variant"]).loc[1, "svcca99"]
    assert row["value"] == pytest.approx(table.loc[("all", "svcca99"), "value"], abs=1e-9)
    x, y = hidden_of(pair.model, 1), hidden_of(pair.reference, 1)
    directions = min(variates.shape[1] for variates in oracles.variates(x, y, 0.99)[1])
    assert (min(row["k_model"], row["k_reference"]), row["n"]) == (directions, 720)


def test_maps_of_layers_compare_before_after_and_across(pair):
    table = layer_cka.compare([pair], tokens=None).rows
    sizes = table.groupby(["tokens", "n", "variant"]).size()
    assert len(sizes) == 2 * len(layer_cka.MAPS)
    assert sizes["content", 600].to_dict() == dict.fromkeys(layer_cka.MAPS, 9)
    # First tokens are alike in the embeddings.
    assert sizes["cls", 60].to_dict() == dict.fromkeys(layer_cka.MAPS, 4)
    for row in table[table["tokens"] == "cls"].itertuples():
        side, ref_side = layer_cka.MAPS[row.variant]
        x = hidden_of(getattr(pair, side), row.layer, CLASSES["cls"])
        y = hidden_of(getattr(pair, ref_side), row.ref_layer, CLASSES["cls"])
        assert row.value == pytest.approx(oracles.debiased_cka(x, y), abs=1e-9)
    assert set(layer_cka.compare([pair], tokens=50).rows["n"]) == {50}


def test_layers_that_do_not_vary_without_a_block_have_no_cka_there():
    walk = np.random.default_rng(0).normal(size=(3, 60, 12)).cumsum(axis=0)
    walk[1][20:] = walk[1][20]  # one block alone tells the tokens of this layer apart
    blocks = [slice(0, 20), slice(20, 20), slice(20, 60)]
    cells, without = layer_cka.all_pairs([CenteredStates.of(x, blocks) for x in walk])
    assert without[1] == pytest.approx(cells, abs=1e-9)
    assert np.isnan(without[0]).sum() == 5 and np.isnan(without[0, 1]).all()
    assert np.isfinite(without[2]).all()
    few = [CenteredStates.of(x[:6], [slice(0, 3), slice(3, 6)]) for x in walk]
    assert np.isnan(layer_cka.all_pairs(few)[1]).all()


def test_contrast_is_of_the_upper_third():
    assert layer_cka.thirds(12) == ([1, 2, 3, 4], [9, 10, 11, 12])
    assert layer_cka.thirds(4) == ([1, 2], [3, 4])
    assert layer_cka.thirds(3) == ([], [])
    cells = np.full((7, 7), 0.3)
    cells[5:, 5:] = 0.8
    np.fill_diagonal(cells, 1)
    cells = pd.DataFrame(cells).stack()
    assert layer_cka.contrast(cells) == pytest.approx(0.5)
    assert np.isnan([layer_cka.contrast(cells.drop((6, 1))), layer_cka.contrast(cells[:0])]).all()


def test_a_decoder_has_first_tokens_and_no_separators():
    tokens = SimpleNamespace(special=np.zeros(5, bool), offsets=np.array([0, 3, 5]))
    classes = {name: np.flatnonzero(mask).tolist() for name, mask in token_classes(tokens).items()}
    assert classes == {"all": [0, 1, 2, 3, 4], "content": [1, 2, 4], "cls": [0, 3], "sep": []}


def test_nulls_are_means_over_orders_of_the_tokens(pair):
    """CKA's, over all orders, are near the mean over some; the others are the mean over some."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 400, 100))
    orders = [rng.permutation(400) for _ in range(5)]
    comparison = Comparison.of(*map(CenteredStates.of, (x, y)))
    nulls = similarity.null_distances(comparison, orders, 60, 60)
    permuted = [Comparison.of(*map(CenteredStates.of, (x, y[order]))) for order in orders]
    each = pd.DataFrame(similarity.distances(other.moments, 60, 60) for other in permuted)
    for variant, (mean, deviation) in nulls.items():
        is_cka = variant.startswith("cka")
        assert mean == pytest.approx(each[variant].mean(), abs=0.005 if is_cka else 1e-9)
        assert np.isnan(deviation) == is_cka
    assert set(nulls) == set(each)
    table = similarity.compare([pair]).rows
    assert table.equals(similarity.compare([pair]).rows)
    is_drawn = table["variant"].str.endswith("_null") & (table["metric"] != "cka")
    assert (table["sd"] > 0).equals(is_drawn)


@pytest.mark.parametrize("tokens", [21, 22])
def test_too_few_tokens_are_refused(pair, tokens):
    """As many as dimensions; enough of them, but not for the directions of two models."""
    with pytest.raises(UserError, match=f"{tokens} tokens cannot be compared at width 20"):
        similarity.compare([pair], tokens=tokens)


def test_few_tokens_have_no_cca(pair):
    """About 17 [CLS], fewer than the width."""
    table = similarity.compare([pair], tokens=200).rows
    assert set(table.loc[table["tokens"] == "cls", "metric"]) == {"cka", "procrustes"}


@pytest.mark.parametrize("metric", [rsa, svcca])
def test_references_are_shared_and_stimuli_kept_apart(metric, pair, make_file):
    """Tables of several pairs are those of each pair, one below the other."""
    states = np.random.default_rng(1).normal(size=(5, 720, 24)).astype(np.float32)
    seed2, deep = make_file("2.npz", states[2:], LENGTHS), make_file("4.npz", states, LENGTHS)
    pairs = [pair, Pair(seed2, pair.reference), Pair(deep, seed2, {"stimuli": "own"})]
    expected = pd.concat(
        [metric.compare([pair], tokens=500).rows for pair in pairs], ignore_index=True
    )
    table = metric.compare(pairs, tokens=500).rows
    pd.testing.assert_frame_equal(table, expected[list(table)], check_exact=True)
    assert {(4, 2), (3, 2)} < set(zip(table["layer"], table["ref_layer"]))
    assert (table["n"] == 500).all()


def test_a_file_of_the_sampled_tokens_is_enough(make_file):
    states = np.random.default_rng(3).normal(size=(2, 3, 300, 6)).astype(np.float32)

    def table(**columns):
        files = [make_file(f"{side}.npz", states[side], [10] * 30, **columns) for side in (0, 1)]
        return rsa.compare([Pair(*files, {"stimuli": "wiki"})], tokens=100).rows

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
    table = metric.compare([Pair(make_file("collapsed.npz", states, [12] * 10), base)]).rows
    table = table[table["variant"] != "before"]
    assert set(table["layer"]) == {0, 1} and table["value"].notna().all()
    assert "do not differ in layer 2: " in capsys.readouterr().err


def test_different_tokens_are_refused_with_both_names(make_file):
    hidden, token_ids = np.zeros((2, 6, 3)), np.arange(6, dtype=np.int32)[::-1]
    model = make_file("model.npz", hidden, [3, 3])
    reference = make_file("base.npz", hidden, [3, 3], token_ids=token_ids)
    with pytest.raises(UserError, match=r"model\.npz and .*base\.npz .* tokenizer"):
        rsa.compare([Pair(model, reference)])


def test_rows_without_a_column_are_refused_by_its_name():
    row = dict.fromkeys(["layer", "ref_layer", "head", "value", "sd", "n"], 1)
    row |= {"metric": "distance", "stimuli": "mnli"}
    with pytest.raises(UserError, match="'distance' have no 'variant'"):
        frame([row])
    with pytest.raises(UserError, match=r"old\.tsv has no column 'variant'"):
        stack({"old.tsv": pd.DataFrame([row])}, "distance", ["mean"])


@pytest.mark.parametrize(
    "settings", [{"reads": "sampled", "tokens": "svcca_tokens"}, {"reads": "sample"}]
)
def test_a_record_that_no_dump_can_serve_is_refused(settings):
    with pytest.raises(UserError, match="write (tokens='tokens'|one of attention, sampled)"):
        Measure("mine", module="mine", **settings)


# Distances of several runs at once, which grounding compares with differences in behaviour.
TOKENS = {"rsa": 150, "svcca": 200}


@pytest.fixture
def runs(make_file):
    """Three runs of 4 layers, a fourth of 2; in layer 3 of the second all tokens are alike."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=(5, 240, 8))
    runs = []
    for number, layers in enumerate((4, 4, 4, 2)):
        states = (first + 0.3 * number * rng.normal(size=first.shape)).astype(np.float32)
        if number == 1:
            states[3] = 1.0
        maps = list(rng.dirichlet(np.ones(6), size=(layers, 40, 2, 6)).astype(np.float32))
        runs.append(Activations(make_file(f"{number}.npz", states[: layers + 1], [6] * 40, maps)))
    return runs


def test_distances_of_several_runs_are_those_of_the_metrics_own_tables(runs):
    table = distances(runs, "rte", TOKENS)
    assert len(table) == 6 and set(table[0, 1]) == set(MEASURES)
    pairs = [Pair(runs[0].path, runs[2].path, {"stimuli": "rte"})]
    rows = [
        similarity.compare(pairs, TOKENS["svcca"]).rows.query("tokens == 'all'"),
        rsa.compare(pairs, TOKENS["rsa"]).rows,
        jensen_shannon.compare(pairs).rows,
        cosine.compare(pairs).rows,
    ]
    rows = pd.concat(rows).query("head == 0 and layer > 0 and variant != 'matched'")
    curves = rows.pivot(index="layer", columns="variant", values="value")
    expected = {
        "rsa": 1 - curves["content"], "svcca": curves["svcca99"], "cka": curves["cka_debiased"],
        "pwcca": (curves["pwcca_model"] + curves["pwcca_reference"]) / 2, "js": curves["nats"],
        "procrustes": curves["procrustes"], "cosine": 1 - curves["crop"],
    }  # fmt: skip
    for measure, values in expected.items():
        assert table[0, 2][measure] == pytest.approx(values.to_numpy(), abs=1e-9), measure


def test_layers_whose_tokens_are_alike_have_no_distance(runs):
    for measure, values in distances(runs, "rte", TOKENS)[1, 2].items():
        is_missing = measure not in ("js", "cosine")
        assert np.isnan(values).tolist() == [False, False, is_missing, False]


def test_layers_of_runs_of_different_depths_are_matched_by_relative_depth(runs):
    deep, *_, shallow = runs
    expected = [
        jensen_shannon.per_map(shallow.attention(layer), deep.attention(2 * layer)).mean()
        for layer in (1, 2)
    ]
    assert distances(runs, "rte", TOKENS)[0, 3]["js"] == pytest.approx(expected)


def test_behaviour_differs_by_predictions_scores_and_outputs():
    p, q = np.random.default_rng(1).dirichlet([1, 1, 1], (2, 50))
    q[0] = p[0] = [1, 0, 0]
    behaviours = Behaviour(p, 0.5), Behaviour(q, 0.75)
    outputs = pytest.approx(np.mean(jensenshannon(p, q, axis=1) ** 2))
    predictions = np.mean(p.argmax(1) != q.argmax(1))
    expected = {"predictions": predictions, "score": 0.25, "outputs": outputs, "n": 50}
    assert differences(*behaviours) == differences(*behaviours[::-1]) == expected


def test_behaviour_of_a_regression_differs_by_scores_and_outputs():
    rated = differences(Behaviour(np.array([1.0, 3.0]), 0.5), Behaviour(np.array([2.0, 0.0]), 0.5))
    assert np.isnan(rated["predictions"]) and (rated["score"], rated["outputs"]) == (0, 2)
