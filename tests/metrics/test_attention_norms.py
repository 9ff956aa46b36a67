from itertools import pairwise

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertModel, BertTokenizer

from bertshift.activations.extract import extract
from bertshift.activations.rerun import Rerun
from bertshift.activations.store import Activations
from bertshift.errors import UserError
from bertshift.metrics.attention_norms import value_norms
from bertshift.models.loading import save_model
from bertshift.models.weights import norms

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


def test_the_vectors_are_those_whose_weighted_sum_the_layer_puts_out(bert, tmp_path):
    """f from the modules themselves; that sum_hj alpha_ij f_j and the bias are the output shows f to be the right one."""
    rows = [{"id": str(i), "text_a": "a " * n} for i, n in enumerate((4, 2, 4))]
    extract(bert, TOKENIZER, rows, tmp_path / "a.npz", max_length=16, attention=True)
    activations = Activations(tmp_path / "a.npz")
    rerun = Rerun(bert, activations)
    for number, module in enumerate(bert.encoder.layer):
        states = activations.hidden(number)
        lengths = value_norms(rerun, number + 1, states)
        for example, (first, last) in enumerate(pairwise(activations.offsets)):
            x, tokens = torch.from_numpy(states[first:last].copy()), last - first
            alpha = torch.from_numpy(activations.attention(number + 1)[example].copy())
            dense = module.attention.output.dense
            values = module.attention.self.value(x).reshape(tokens, 3, 8)
            moved = torch.einsum("jhd,ohd->hjo", values, dense.weight.reshape(24, 3, 8))
            put_out = torch.einsum("hij,hjo->io", alpha, moved) + dense.bias
            expected = dense(module.attention.self(x[None])[0])[0]
            torch.testing.assert_close(put_out, expected, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(lengths[:, first:last], moved.norm(dim=-1).detach().numpy(), rtol=1e-5)


def test_weights_that_numpy_cannot_read_are_named(bert, tmp_path):
    save_model(tmp_path, bert, TOKENIZER)
    weights = tmp_path / "model.safetensors"
    save_file({name: tensor.bfloat16() for name, tensor in load_file(weights).items()}, weights)
    with pytest.raises(UserError, match="store its weights as float32"):
        norms(tmp_path)
