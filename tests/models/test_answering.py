"""The head of a checkpoint, alone on the states of its last layer, answers as the whole model."""

import pytest
import torch
from made_encoders import FAMILIES, model_of, tokenizer_of
from torch import nn

from bertshift.errors import UserError
from bertshift.models.answering import (
    CLASSES,
    LOADERS,
    MASKED,
    NEXT,
    TOLERANCE,
    Answering,
    are_equal,
    load_answering,
)
from bertshift.models.family import family_of
from bertshift.models.layers import read
from bertshift.models.loading import import_checkpoint


def with_head(kind, family, seed=0, **changes):
    """A tiny model of a family with a head of this kind, all weights random; None where
    transformers has no such head."""
    config = model_of(family, vocab_size=len(tokenizer_of(family)), **changes).config
    if type(config) not in LOADERS[kind]._model_mapping:
        return None
    model = LOADERS[kind].from_config(config).eval()
    generator = torch.manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                nn.init.normal_(weight, 0, 0.2, generator)
            else:
                weight += 0.1 * torch.randn(weight.shape, generator=generator)
    return model


def saved(model, family, folder):
    model.save_pretrained(folder / "published")
    tokenizer_of(family).save_pretrained(folder / "published")
    import_checkpoint(folder / "published", folder / "model")
    return folder / "model"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", [CLASSES, MASKED, NEXT])
def test_a_head_alone_answers_as_the_whole_model(kind, family, tmp_path):
    model = with_head(kind, family)
    causal = family_of(model_of(family)).causal
    if model is None or (kind != CLASSES and causal != (kind == NEXT)):
        pytest.skip("no such head")
    folder = saved(model, family, tmp_path)
    answering = Answering(load_answering(folder, kind), kind, family)
    ids = torch.arange(3, 14)[None]
    stored = answering.after(read(answering.base, input_ids=ids)[0][-1])
    if kind == NEXT and family == "opt":  # its head passes over the outer base model
        with pytest.raises(UserError, match="cannot be run alone"):
            answering.logits(stored, ids)
        return
    with torch.no_grad():
        expected = model(input_ids=ids).logits
    assert are_equal(answering.logits(stored, ids), expected, TOLERANCE)
    torch.testing.assert_close(answering.read(input_ids=ids), stored, rtol=1e-5, atol=1e-5)
    answering.check(stored, {"input_ids": ids})
    with pytest.raises(UserError, match="reads more than the states"):
        answering.check(stored + 1, {"input_ids": ids})
