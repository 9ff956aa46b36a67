import pytest
import torch
from made_encoders import inputs_of, model_of

from bertshift.models.ablate import averaging


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
@torch.no_grad()
def test_means_are_over_the_real_tokens_of_all_batches(implementation):
    """test_families.py compares the means of one batch with a calculation by hand."""
    model = model_of("bert")
    model.set_attn_implementation(implementation)

    def mean_contexts(*batches):
        with averaging(model) as means:
            for batch in batches:
                model(**batch)
        return means.float()

    padded, short = inputs_of("bert"), {"input_ids": torch.tensor([[2, 11, 12, 3]])}
    expected = (20 * mean_contexts(padded) + 4 * mean_contexts(short)) / 24
    torch.testing.assert_close(mean_contexts(padded, short), expected)
