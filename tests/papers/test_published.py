"""The papers' numbers agree with themselves and with what the papers say about them."""

import numpy as np
import pytest

TASKS = ["mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli"]


@pytest.mark.parametrize("item", ["figure5", "figure6.sep", "figure6.cls"])
def test_digitised_layer_means_are_means_of_their_matrices(published, item):
    figure, _, token = item.partition(".")
    entry = published["kovaleva2019"][figure]
    tasks = entry[token] if token else entry["tasks"]
    assert list(tasks) == TASKS
    for panel in tasks.values():
        matrix = np.array(panel["matrix"])
        assert matrix.shape == (12, 12) and matrix.min() >= 0 and matrix.max() <= 1
        assert np.abs(matrix.mean(1) - panel["layer_mean"]).max() <= 0.0011


def test_merchant_absolute_scores_are_base_plus_delta(published):
    table = published["merchant2020"]["table1"]
    for model, deltas in table["delta"].items():
        for task, base in table["base"].items():
            score = table["absolute"][model][task]
            assert base + deltas[task] == pytest.approx(score, abs=0.051)


def test_college_accuracies_are_counts_of_right_answers_cut_to_three_decimals(published):
    figure = published["college2020"]["figure2"]
    for task in ("mrpc", "rte", "wnli"):
        counts = figure["exact_correct"][task]
        accuracies = np.array(counts["correct"]) / counts["n"]
        assert (np.floor(accuracies * 1000 + 1e-6) / 1000).tolist() == figure["rows"][task]


def test_every_entry_says_where_it_comes_from(published):
    for name, paper in published.items():
        assert paper["paper"]["key"] == name
        for item, entry in paper.items():
            if item.startswith(("figure", "table")):
                assert entry["place"] and entry["source"]
                assert entry["provenance"] in ("printed", "digitised", "derived", None)
        for entry in paper["claims"].values():
            assert entry["statement"] and entry["place"]
            assert entry["strength"] in ("explicit", "implied", "ambiguous", "question")
