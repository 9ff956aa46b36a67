import pandas as pd

from bertshift.files import write_json
from bertshift.tables import metric_table


def test_rows_of_the_reference_by_itself_name_its_own_checkpoint(tmp_path):
    write_json(tmp_path / "rte.json", {"data": "rte dev 10 of 10 (mirror)"})
    settings = {
        "model": "large", "reference": "base", "stimuli": ["rte"], "pairs": [[["init1", 1, 0], ["init1", 1, 0]]],
        "scale": "small", "source": "mirror", "checkpoints": {"1": "24x1024"}, "reference_checkpoints": {"1": "12x768"},
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
        "sidecars": [],
        "scores": [],
    }
    table = metric_table("attention_to", compare, settings, inputs)
    assert dict(zip(table["model"], table["checkpoint"])) == {"large": "24x1024", "base": "12x768"}
    del settings["reference_checkpoints"]
    assert set(metric_table("cosine", compare, settings, inputs)["checkpoint"]) == {"24x1024"}
