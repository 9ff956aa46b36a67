import pytest
from transformers import CONFIG_MAPPING

from bertshift.errors import UserError
from bertshift.files import write_json
from bertshift.models.loading import check_shape


@pytest.mark.parametrize("kind", ["bert", "gpt2", "distilbert", "llama"])
def test_layers_and_heads_are_read_as_each_family_writes_them(kind, tmp_path):
    config = CONFIG_MAPPING[kind](num_hidden_layers=3, num_attention_heads=2, hidden_size=8)
    write_json(tmp_path / "config.json", config.to_dict())
    check_shape(tmp_path, 3, 2)
    with pytest.raises(
        UserError, match="has 3 layers of 2 heads, .* 3 of 4; write layers: 3 and heads: 2"
    ):
        check_shape(tmp_path, 3, 4)
