import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save_file

from bertshift.errors import UserError
from bertshift.models.weights import norms
from bertshift.training.steps import relative_norms


def test_norms_are_relative_to_the_weights_before():
    log = pd.DataFrame({"step": [10, 10, 20, 20], "layer": ["embeddings", "1"] * 2})
    log["gradient_norm"], log["update_norm"] = [1.0, 2, 3, 4], [0.1, 0.2, 0.3, 0.4]
    log["distance_from_start"] = [1.0, 2, 2, 4]
    head = log[:1].assign(layer="head")
    table = relative_norms(pd.concat([log, head]), [10.0, 20.0]).set_index(["variant", "layer"])
    values = table["value"].groupby("variant", sort=False).agg(list).to_dict()
    expected = {"gradient": [0.2, 0.15], "update": [0.02, 0.015], "displacement": [0.2, 0.2]}
    assert {name: pytest.approx(value) for name, value in values.items()} == expected
    assert table.loc[("update", 1), "sd"] == pytest.approx(np.std([0.2, 0.4], ddof=1) / 20)
    with pytest.raises(UserError, match="x/layers.tsv logged no norms.*norms_every"):
        relative_norms(log[:0], [1.0, 1.0], "x/layers.tsv")


@pytest.mark.parametrize("prefix", ["", "bert."])
def test_norms_take_every_weight_of_a_layer_once(tmp_path, prefix):
    weights = {
        "embeddings.word_embeddings.weight": [3.0], "embeddings.LayerNorm.bias": [4.0],
        "embeddings.position_ids": [7.0],
        "encoder.layer.0.output.dense.weight": [5.0, 12.0],
        "encoder.layer.1.attention.self.key.bias": [2.0],
        "pooler.dense.bias": [9.0],
    }  # fmt: skip
    state = {prefix + name: torch.tensor(weight) for name, weight in weights.items()}
    save_file(state, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text('{"model_type": "bert", "num_hidden_layers": 2}')
    assert norms(tmp_path) == pytest.approx([5, 13, 2])
