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


def test_kovaleva_text_agrees_with_the_digitised_figures(published):
    paper = published["kovaleva2019"]
    last_two_lowest = {
        task: set(np.argsort(panel["layer_mean"])[:2] + 1) == {11, 12}
        for task, panel in paper["figure5"]["tasks"].items()
    }
    assert last_two_lowest == {task: task != "qqp" for task in TASKS}
    rows = paper["table1"][
        "rows"
    ].values()  # [F1, accuracy] or one score: the last is the one that the mean takes
    gains = [np.ravel(row["finetuned"])[-1] - np.ravel(row["pretrained"])[-1] for row in rows]
    assert np.mean(gains) == pytest.approx(paper["table1"]["mean_gain"]["value"], abs=0.05)
    assert np.array(paper["figure3"]["matrix"])[6, 5] == pytest.approx(
        paper["figure3"]["printed"]["heads"]["L7H6"], abs=0.002
    )
    counts = paper["figure9"]["tasks"]["rte"]
    exact = np.array(counts["exact_correct"]["layers"]) / counts["exact_correct"]["n"]
    assert np.abs(exact - counts["layers"]).max() < 0.001
    for task in TASKS:
        assert np.array(paper["figure8"]["tasks"][task]["matrix"]).shape == (12, 12)


def test_college_summaries_follow_from_its_head_tables(published):
    paper = published["college2020"]
    for heads, summary in (("figure5", "figure7"), ("figure6", "figure8")):
        for layer, values in paper[heads]["rows"].items():
            printed = dict(zip(paper[summary]["columns"], paper[summary]["rows"][layer], strict=True))
            assert np.mean(values) == pytest.approx(printed["mean"], abs=0.001)
            assert np.std(values, ddof=1) == pytest.approx(printed["std"], abs=0.001)
    counts = paper["figure2"]["exact_correct"]["rte"]
    assert np.array(counts["correct"]) / counts["n"] == pytest.approx(
        paper["figure2"]["rows"]["rte"], abs=0.0011
    )


def test_merchant_absolute_scores_are_base_plus_delta(published):
    table = published["merchant2020"]["table1"]
    for model, deltas in table["delta"].items():
        for task in table["tasks"]:
            assert table["base"][task] + deltas[task] == pytest.approx(
                table["absolute"][model][task], abs=0.051
            )


def test_every_entry_says_where_it_comes_from(published):
    for name, paper in published.items():
        assert paper["paper"]["key"] == name
        for item, entry in paper.items():
            if item.startswith(("figure", "table")):
                assert (
                    entry["place"]
                    and entry["source"]
                    and entry["provenance"] in ("printed", "digitised", "derived", None)
                )
        for entry in paper["claims"].values():
            assert (
                entry["statement"]
                and entry["place"]
                and entry["strength"] in ("explicit", "implied", "ambiguous", "question")
            )
