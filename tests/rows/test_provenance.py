import pandas as pd
import pytest

from bertshift.files import write_json
from bertshift.metrics.pairs import metric_table
from bertshift.rows.provenance import probe_table

ROW = {"variant": "nats", "layer": 1, "ref_layer": 1, "head": 0, "value": 0.5, "sd": 0.1, "n": 10}


@pytest.fixture
def inputs(tmp_path):
    """inputs(scores above a majority of 0.5) -> the files of a table whose runs have these."""

    def written(*scores):
        write_json(tmp_path / "rte.json", {"data": "rte dev 10 of 10 (mirror)"})
        outcomes = [tmp_path / f"{number}.json" for number in range(len(scores))]
        for path, score in zip(outcomes, scores, strict=True):
            write_json(
                path,
                {
                    "metric": "accuracy",
                    "scores": {"accuracy": score},
                    "majority": {"accuracy": 0.5},
                },
            )
        return {"model": "a", "reference": "b", "description": tmp_path / "rte.json", "descriptions": [tmp_path / "rte.json"],
                "scores": [], "outcomes": outcomes}  # fmt: skip

    return written


def test_rows_of_the_reference_by_itself_name_its_own_checkpoint(inputs):
    settings = {
        "model": "large", "reference": "base", "stimuli": ["rte"], "pairs": [[["init1", 1, 0], ["init1", 1, 0]]],
        "trained": [], "scale": "small", "checkpoints": {"1": {"label": "24x1024"}},
    }  # fmt: skip

    def compare(pairs):
        return pd.DataFrame([pairs[0].keys | ROW, pairs[0].keys | ROW | {"model": "base"}])

    for own in ({"reference_checkpoints": {"1": {"label": "12x768"}}}, {}):
        table = metric_table("attention_to", compare, settings | own, inputs())
        assert table["checkpoint"].tolist() == ["24x1024", "12x768" if own else "24x1024"]


def test_either_side_of_a_comparison_may_have_failed_to_train(inputs):
    settings = {
        "model": "rte", "reference": "mnli", "stimuli": ["mnli+rte"], "scale": "small",
        "trained": [["rte", 1, 1], ["rte", 1, 2], ["mnli", 1, 1], ["mnli", 1, 2]],
        "pairs": [[[f"init1_seed{seed}", 1, seed]] * 2 for seed in (1, 2)], "checkpoints": {"1": {"label": "12x768"}},
    }  # fmt: skip

    def compare(pairs):
        return pd.DataFrame(pair.keys | ROW for pair in pairs)

    table = metric_table("js", compare, settings, inputs(0.7, 0.51, 0.5, 0.9))
    assert table[["seed", "failed", "ref_failed"]].to_numpy().tolist() == [
        [1, False, True],
        [2, True, False],
    ]


def test_probes_of_runs_that_failed_to_train_are_marked(inputs):
    settings = {"scale": "small", "checkpoints": {"1": {"label": "12x768"}}}
    rows = pd.DataFrame({"model": "mnli", "init": 1, "seed": [2, 1, 2], "value": 0.5})
    trained = settings | {"trained": [["mnli", 1, 1], ["mnli", 1, 2]]}
    assert probe_table(rows, trained, inputs(0.9, 0.51))["failed"].tolist() == [True, False, True]
    plain = rows.assign(model="base", seed=0)
    assert not probe_table(plain, settings | {"trained": []}, inputs())["failed"].any()
