import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertModel, BertTokenizer

from bertshift.errors import UserError
from bertshift.metrics import attention_norms
from bertshift.metrics.attention_norms import value_maps, value_norms
from bertshift.models.heads import SequenceClassifier
from bertshift.models.loading import save_model

torch.set_num_threads(1)
TOKENIZER = BertTokenizer(
    vocab={w: i for i, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"])}
)


@pytest.fixture
def bert():
    torch.manual_seed(0)
    config = BertConfig(vocab_size=6, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=16,
                        initializer_range=0.5, attn_implementation="eager")  # fmt: skip
    model = BertModel(config).eval()
    for layer in model.encoder.layer:
        torch.nn.init.normal_(layer.attention.self.value.bias)
        torch.nn.init.normal_(layer.attention.output.dense.bias)
    return model


@pytest.mark.parametrize("wrap", [lambda bert: bert, lambda bert: SequenceClassifier(bert, 2)])
def test_the_vectors_are_those_whose_weighted_sum_the_layer_puts_out(bert, wrap, tmp_path, monkeypatch):
    """f from the modules themselves; that sum_hj alpha_ij f_j and the bias are the output shows f to be the right one."""
    monkeypatch.setattr(attention_norms, "TOKENS", 4)
    save_model(tmp_path, wrap(bert), TOKENIZER)
    maps = list(value_maps(tmp_path))
    assert len(maps) == 2
    with torch.inference_mode():
        found = bert(torch.randint(0, 6, (1, 11)), output_hidden_states=True, output_attentions=True)
        for layer, module in enumerate(bert.encoder.layer):
            states, alpha = found.hidden_states[layer], found.attentions[layer][0]
            dense = module.attention.output.dense
            values = module.attention.self.value(states)[0].reshape(11, 3, 8)
            moved = torch.einsum("jhd,ohd->hjo", values, dense.weight.reshape(24, 3, 8))
            put_out = torch.einsum("hij,hjo->io", alpha, moved) + dense.bias
            expected = dense(module.attention.self(states)[0])[0]
            torch.testing.assert_close(put_out, expected, rtol=1e-4, atol=1e-5)
            norms = value_norms(states[0].numpy(), maps[layer])
            np.testing.assert_allclose(norms, moved.norm(dim=-1).numpy(), rtol=1e-5)


def test_weights_that_numpy_cannot_read_are_named(bert, tmp_path):
    save_model(tmp_path, bert, TOKENIZER)
    weights = tmp_path / "model.safetensors"
    save_file({name: tensor.bfloat16() for name, tensor in load_file(weights).items()}, weights)
    with pytest.raises(UserError, match="store its weights as float32"):
        list(value_maps(tmp_path))
