import pandas as pd

from bertshift.files import write_json
from bertshift.metrics.comparing import metric_table
from bertshift.rows.tables import probe_table


def test_rows_of_the_reference_by_itself_name_its_own_checkpoint(tmp_path):
    write_json(tmp_path / "rte.json", {"data": "rte dev 10 of 10 (mirror)"})
    settings = {
        "model": "large", "reference": "base", "stimuli": ["rte"], "pairs": [[["init1", 1, 0], ["init1", 1, 0]]],
        "trained": [], "scale": "small", "checkpoints": {"1": {"label": "24x1024"}}, "reference_checkpoints": {"1": {"label": "12x768"}},
    }  # fmt: skip

    def compare(pairs):
        [pair] = pairs
        values = {
            "variant": "received",
            "layer": 1,
            "ref_layer": 1,
            "head": 0,
            "value": 0.5,
            "sd": 0.1,
            "n": 10,
        }
        return pd.DataFrame([pair.keys | values, pair.keys | values | {"model": "base"}])

    inputs = {
        "model": "a",
        "reference": "b",
        "descriptions": [tmp_path / "rte.json"],
        "scores": [],
        "outcomes": [],
    }
    table = metric_table("attention_to", compare, settings, inputs)
    assert dict(zip(table["model"], table["checkpoint"])) == {"large": "24x1024", "base": "12x768"}
    del settings["reference_checkpoints"]
    assert set(metric_table("cosine", compare, settings, inputs)["checkpoint"]) == {"24x1024"}


def test_either_side_of_a_comparison_may_have_failed_to_train(tmp_path):
    write_json(tmp_path / "stimuli.json", {"data": "mnli+rte dev"})
    trained = [["rte", 1, 1], ["rte", 1, 2], ["mnli", 1, 1], ["mnli", 1, 2]]
    for number, score in enumerate([0.7, 0.51, 0.6, 0.9]):
        one = {
            "metric": "accuracy",
            "scores": {"accuracy": score},
            "majority": {"accuracy": 0.5 + 0.1 * (number > 1)},
        }
        write_json(tmp_path / f"{number}.json", one)
    settings = {
        "model": "rte", "reference": "mnli", "stimuli": ["mnli+rte"], "trained": trained, "scale": "small",
        "pairs": [[[f"init1_seed{seed}", 1, seed]] * 2 for seed in (1, 2)], "checkpoints": {"1": {"label": "12x768"}},
    }  # fmt: skip
    inputs = {"model": "a", "reference": "b", "descriptions": [tmp_path / "stimuli.json"], "scores": [],
              "outcomes": [tmp_path / f"{number}.json" for number in range(4)]}  # fmt: skip
    rest = {"variant": "nats", "layer": 1, "ref_layer": 1, "head": 0, "value": 0.5, "sd": 0.1, "n": 10}
    table = metric_table(
        "js", lambda pairs: pd.DataFrame(pair.keys | rest for pair in pairs), settings, inputs
    )
    assert table[["seed", "failed", "ref_failed"]].to_numpy().tolist() == [[1, False, True], [2, True, False]]


def test_probes_of_runs_that_failed_to_train_are_marked(tmp_path):
    write_json(tmp_path / "edges.json", {"data": "10 sentences"})
    for number, score in enumerate([0.9, 0.51]):
        one = {"metric": "accuracy", "scores": {"accuracy": score}, "majority": {"accuracy": 0.5}}
        write_json(tmp_path / f"{number}.json", one)
    settings = {
        "trained": [["mnli", 1, 1], ["mnli", 1, 2]],
        "scale": "small",
        "checkpoints": {"1": {"label": "12x768"}},
    }
    inputs = {"description": tmp_path / "edges.json", "scores": [],
              "outcomes": [tmp_path / f"{number}.json" for number in range(2)]}  # fmt: skip
    rows = pd.DataFrame({"model": "mnli", "init": 1, "seed": [2, 1, 2], "value": 0.5})
    assert probe_table(rows, settings, inputs)["failed"].tolist() == [True, False, True]
    plain = rows.assign(model="base", seed=0)
    nothing = settings | {"trained": []}, inputs | {"outcomes": []}
    assert not probe_table(plain, *nothing)["failed"].any()
