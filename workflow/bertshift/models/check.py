"""A check that the attention maps that this project records are those that a model computes."""

from pathlib import Path

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.utils import ModelOutput

from bertshift.errors import UserError
from bertshift.models.attention import Record, editing
from bertshift.models.family import family_of, layers_of, removing, run

TOKENS, PADDING = 7, 3
ROUNDING = 1e-5


@torch.no_grad()
def check(model: PreTrainedModel, folder: Path) -> None:
    """Raise UserError where attention is not recorded once a layer or differs from transformers'
    eager functions, where padding takes part in it, or where the heads' output does not reach the
    output projection."""
    layers, family = layers_of(model), family_of(model)
    numbers = torch.arange(2 * TOKENS).reshape(2, TOKENS)
    ids = 1 + numbers % (model.config.vocab_size - 1)
    mask = torch.ones_like(ids)
    mask[1, -PADDING:] = 0
    record, projected = Record("maps", "context"), []
    hooks = []

    def record_input(_, inputs: tuple) -> None:
        projected.append(inputs[0])

    if family.out:
        for layer in dict.fromkeys(layers):
            projection = layer.get_submodule(family.out)
            hooks.append(projection.register_forward_pre_hook(record_input))
    with removing(hooks), editing(model, record):
        states = run(model, ids, mask).last_hidden_state
    maps, contexts = record.kept["maps"], record.kept["context"]
    expected = _run_eagerly(model, ids, mask)

    def refuse(why: str) -> None:
        raise UserError(
            f"{folder}: {why}, so what would be said about this {model.config.model_type} model"
            " would be wrong; name another model."
        )

    if len(maps) != len(layers):
        refuse(f"attention is seen {len(maps)} times in {len(layers)} layers")
    is_real = mask.bool()[:, None, :, None]
    for layer_maps, expected_maps in zip(maps, expected.attentions, strict=True):
        if ((layer_maps - expected_maps).abs() * is_real).max() > ROUNDING:
            refuse("its attention is not computed as expected")
    expected_states = expected.last_hidden_state
    if not expected_states.isfinite().all():
        raise UserError(f"{folder}: its hidden states are not finite; name another checkpoint.")
    difference = ((states - expected_states).abs() * mask[..., None]).max()
    if difference > ROUNDING * expected_states.abs().max():
        refuse("its hidden states are not those of eager attention")
    if any((layer_maps[1, :, :-PADDING, -PADDING:] != 0).any() for layer_maps in maps):
        refuse("padding takes part in its attention")
    if projected:
        for context, projection_input in zip(contexts, projected, strict=True):
            if not torch.equal(context.transpose(1, 2).flatten(2), projection_input):
                refuse("what its heads put out does not reach the output projection alone")


def _run_eagerly(model: PreTrainedModel, ids: Tensor, mask: Tensor) -> ModelOutput:
    """Run the model with transformers' eager attention, and return its attention maps too."""
    options = {"use_cache": False} if family_of(model).causal else {}
    implementation = model.config._attn_implementation
    model.set_attn_implementation("eager")
    output = model(input_ids=ids, attention_mask=mask, output_attentions=True, **options)
    model.set_attn_implementation(implementation)
    return output
