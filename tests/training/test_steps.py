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
    assert table.loc["gradient", "value"].tolist() == pytest.approx([0.2, 0.15])
    assert table.loc["update", "value"].tolist() == pytest.approx([0.02, 0.015])
    assert table.loc["displacement", "value"].tolist() == pytest.approx([0.2, 0.2])
    assert table.loc[("update", 1), "sd"] == pytest.approx(np.std([0.2, 0.4], ddof=1) / 20)
    with pytest.raises(UserError, match="x/layers.tsv logged no norms.*norms_every"):
        relative_norms(log[:0], [1.0, 1.0], "x/layers.tsv")


@pytest.mark.parametrize("prefix", ["", "bert."])
def test_norms_take_every_weight_of_a_layer_once(tmp_path, prefix):
    tensors = {
        "embeddings.word_embeddings.weight": [3.0], "embeddings.LayerNorm.bias": [4.0], "embeddings.position_ids": [7.0],
        "encoder.layer.0.output.dense.weight": [5.0, 12.0], "encoder.layer.1.attention.self.key.bias": [2.0],
        "pooler.dense.bias": [9.0],
    }  # fmt: skip
    save_file(
        {prefix + name: torch.tensor(value) for name, value in tensors.items()},
        tmp_path / "model.safetensors",
    )
    (tmp_path / "config.json").write_text('{"model_type": "bert", "num_hidden_layers": 2}')
    assert norms(tmp_path) == pytest.approx([5, 13, 2])
