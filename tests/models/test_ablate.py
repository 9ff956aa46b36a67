import pytest
import torch
from made_encoders import inputs_of, model_of

from bertshift.models.ablate import averaging
from bertshift.models.attention import Record, editing

torch.set_num_threads(1)


@pytest.fixture
def bert():
    model = model_of("bert")
    model.set_attn_implementation("sdpa")
    return model


@torch.no_grad()
def test_means_are_those_of_all_real_tokens_of_all_inputs(bert):
    padded, short = inputs_of("bert"), {"input_ids": torch.tensor([[2, 11, 12, 3]])}
    found = []
    for inputs in (padded, short):
        record = Record("context")
        with editing(bert, record):
            bert(**inputs)
        real = inputs.get("attention_mask", inputs["input_ids"]) > 0
        found.append(torch.stack([one.transpose(1, 2)[real] for one in record.kept["context"]]))
    with averaging(bert) as means:
        bert(**padded)
        bert(**short)
    torch.testing.assert_close(means.float(), torch.cat(found, 1).mean(1))
