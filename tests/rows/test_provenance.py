import pandas as pd
import pytest

from bertshift.files import write_json
from bertshift.metrics.pairs import frame, metric_table
from bertshift.rows.provenance import forgetting_table, probe_table

ROW = {"variant": "nats", "layer": 1, "ref_layer": 1, "head": 0, "value": 0.5, "sd": 0.1, "n": 10}


@pytest.fixture
def inputs(tmp_path):
    """inputs(accuracies of runs, of which the majority class has 0.5) -> the files of a table."""

    def write(*accuracies):
        description = tmp_path / "rte.json"
        write_json(description, {"data": "rte dev 10 of 10 (mirror)"})
        outcomes = []
        for number, accuracy in enumerate(accuracies):
            outcomes.append(tmp_path / f"{number}.json")
            scores, majority = {"accuracy": accuracy}, {"accuracy": 0.5}
            write_json(
                outcomes[-1], {"metric": "accuracy", "scores": scores, "majority": majority}
            )
        return {"model": "a", "reference": "b", "description": description, "scores": [],
                "descriptions": [description], "outcomes": outcomes}  # fmt: skip

    return write


def test_rows_of_the_reference_by_itself_name_its_own_checkpoint(inputs):
    settings = {
        "model": "large", "reference": "base", "stimuli": ["rte"], "pairs": [[["init1", 1, 0], ["init1", 1, 0]]],
        "trained": [], "scale": "small", "checkpoints": {"1": {"label": "24x1024"}},
    }  # fmt: skip

    def compare(pairs):
        return frame([pairs[0].keys | ROW, pairs[0].keys | ROW | {"model": "base"}])

    table = metric_table("attention_to", compare, settings, inputs())
    assert table["checkpoint"].tolist() == ["24x1024", "24x1024"]
    settings["reference_checkpoints"] = {"1": {"label": "12x768"}}
    table = metric_table("attention_to", compare, settings, inputs())
    assert table["checkpoint"].tolist() == ["24x1024", "12x768"]


def test_either_side_of_a_comparison_may_have_failed_to_train(inputs):
    settings = {
        "model": "rte", "reference": "mnli", "stimuli": ["mnli+rte"], "scale": "small",
        "trained": [["rte", 1, 1], ["rte", 1, 2], ["mnli", 1, 1], ["mnli", 1, 2]],
        "pairs": [[[f"init1_seed{seed}", 1, seed]] * 2 for seed in (1, 2)], "checkpoints": {"1": {"label": "12x768"}},
    }  # fmt: skip

    def compare(pairs):
        return frame(pair.keys | ROW for pair in pairs)

    table = metric_table("js", compare, settings, inputs(0.7, 0.51, 0.5, 0.9))
    assert table["failed"].tolist() == [False, True]
    assert table["ref_failed"].tolist() == [True, False]


def test_probes_of_runs_that_failed_to_train_are_marked(inputs):
    settings = {"scale": "small", "checkpoints": {"1": {"label": "12x768"}}}
    rows = pd.DataFrame({"model": "mnli", "init": 1, "seed": [2, 1, 2], "value": 0.5})
    trained = settings | {"trained": [["mnli", 1, 1], ["mnli", 1, 2]]}
    assert probe_table(rows, trained, inputs(0.9, 0.51))["failed"].tolist() == [True, False, True]
    plain = rows.assign(model="base", seed=0)
    assert not probe_table(plain, settings | {"trained": []}, inputs())["failed"].any()


def test_losses_of_words_as_frequent_as_they_are_name_their_corpus(inputs):
    settings = {
        "model": "rte", "reference": "base", "stimuli": "wiki", "scale": "small", "corpus": "wikipedia",
        "trained": [], "checkpoints": {"1": {"label": "12x768"}},
    }  # fmt: skip
    keys = {"metric": "forgetting", "init": 1, "seed": 0, "ref_init": 1, "ref_seed": 0}
    rows = pd.DataFrame([ROW | keys | {"variant": variant} for variant in ("own", "unigram")])
    table = forgetting_table(rows, settings, inputs())
    noted = table["data"].str.endswith("; frequencies of words in the corpus wikipedia")
    assert noted.tolist() == [False, True]
