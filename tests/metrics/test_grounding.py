"""Distances of several runs at once are those of the metrics' own tables; differences in behaviour are scipy's."""

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from bertshift.activations.store import Activations
from bertshift.metrics import cosine, jensen_shannon, rsa, similarity
from bertshift.metrics.grounding import MEASURES, Behaviour, differences, distances
from bertshift.metrics.pairs import Pair

LENGTHS = [6] * 40
TOKENS = {"rsa": 150, "svcca": 200}


@pytest.fixture
def runs(make_file):
    """Three runs of 4 layers, a fourth of 2; in layer 3 of the second all tokens are alike."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=(5, 240, 8))
    logits = rng.normal(size=(4, 40, 2, 6, 6))
    made = []
    for number, layers in enumerate((4, 4, 4, 2)):
        states = (first + 0.3 * number * rng.normal(size=first.shape)).astype(np.float32)
        if number == 1:
            states[3] = 1.0
        maps = np.exp(logits + 0.3 * number * rng.normal(size=logits.shape))
        maps = (maps / maps.sum(-1, keepdims=True)).astype(np.float32)
        made.append(make_file(f"{number}.npz", states[: layers + 1], LENGTHS, list(maps[:layers])))
    return made


def test_distances_are_those_of_the_metrics_own_tables(runs):
    found = distances([Activations(path) for path in runs], "rte", TOKENS)
    assert len(found) == 6 and set(found[0, 1]) == set(MEASURES)
    pair = Pair(runs[0], runs[2], {"stimuli": "rte"})

    def of(table, variant, **more):
        rows = table[(table["variant"] == variant) & (table["head"] == 0) & (table["layer"] > 0)]
        for key, value in more.items():
            rows = rows[rows[key] == value]
        return rows.sort_values("layer")["value"].to_numpy()

    states = similarity.compare([pair], TOKENS["svcca"])
    expected = {
        "rsa": 1 - of(rsa.compare([pair], TOKENS["rsa"]), "content"),
        "svcca": of(states, "svcca99", tokens="all"),
        "pwcca": (of(states, "pwcca_model", tokens="all") + of(states, "pwcca_reference", tokens="all")) / 2,
        "cka": of(states, "cka_debiased", tokens="all"),
        "procrustes": of(states, "procrustes", tokens="all"),
        "js": of(jensen_shannon.compare([pair]), "nats"),
        "cosine": 1 - of(cosine.compare([pair]), "crop"),
    }
    for measure, values in expected.items():
        assert found[0, 2][measure] == pytest.approx(values, abs=1e-9), measure


def test_layers_whose_tokens_are_alike_have_no_distance_and_other_depths_meet_at_the_same_share(runs):
    opened = [Activations(path) for path in runs]
    found = distances(opened, "rte", TOKENS)
    alike = {measure: np.isnan(values).tolist() for measure, values in found[1, 2].items()}
    assert all(
        alike[measure] == [False, False, measure not in ("js", "cosine"), False] for measure in MEASURES
    )
    deep, shallow = opened[0], opened[3]
    expected = [
        jensen_shannon.per_map(shallow.attention(layer), deep.attention(2 * layer)).mean() for layer in (1, 2)
    ]
    assert found[0, 3]["js"] == pytest.approx(expected)


def test_behaviour_differs_by_predictions_scores_and_outputs():
    rng = np.random.default_rng(1)
    p, q = (rng.dirichlet([1, 1, 1], 50) for _ in range(2))
    q[0] = p[0] = [1, 0, 0]
    found = differences(Behaviour(p, 0.5), Behaviour(q, 0.75))
    assert found["predictions"] == np.mean(p.argmax(1) != q.argmax(1)) and found["score"] == 0.25
    assert found["outputs"] == pytest.approx(np.mean(jensenshannon(p, q, axis=1) ** 2)) and found["n"] == 50
    assert found == differences(Behaviour(q, 0.75), Behaviour(p, 0.5))
    rated = differences(Behaviour(np.array([1.0, 3.0]), 0.5), Behaviour(np.array([2.0, 0.0]), 0.5))
    assert np.isnan(rated["predictions"]) and (rated["score"], rated["outputs"]) == (0, 2)
