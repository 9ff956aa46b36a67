"""Whether what this project sees of a model's attention is what the model computes."""

from pathlib import Path

import torch
from transformers import PreTrainedModel

from bertshift.errors import UserError
from bertshift.models.attention import Record, editing
from bertshift.models.family import family_of, layers_of, run

TOKENS, PADDING = 7, 3
ROUNDING = 1e-5


@torch.no_grad()
def check(model: PreTrainedModel, folder: Path) -> None:
    """Raise UserError where attention is not seen once a layer, is not that of transformers' eager
    functions, where padding takes part in it, or where the heads' output does not reach the output
    projection."""
    layers, family = layers_of(model), family_of(model)
    ids = 1 + torch.arange(2 * TOKENS).reshape(2, TOKENS) % (model.config.vocab_size - 1)
    mask = torch.ones_like(ids)
    mask[1, -PADDING:] = 0
    record, read = Record("maps", "context"), []
    hooks = [
        layer.get_submodule(family.out).register_forward_pre_hook(
            lambda _, given: read.append(given[0])
        )
        for layer in dict.fromkeys(layers if family.out else ())
    ]
    try:
        with editing(model, record):
            ours = run(model, ids, mask).last_hidden_state
    finally:
        for hook in hooks:
            hook.remove()
    maps, before = record.kept["maps"], model.config._attn_implementation
    model.set_attn_implementation("eager")
    theirs = model(
        input_ids=ids,
        attention_mask=mask,
        output_attentions=True,
        **{"use_cache": False} if family.causal else {},
    )
    model.set_attn_implementation(before)

    def refuse(why: str) -> None:
        raise UserError(
            f"{folder}: {why}, so what would be said about this {model.config.model_type} model"
            " would be wrong; name another model."
        )

    if len(maps) != len(layers):
        refuse(f"attention is seen {len(maps)} times in {len(layers)} layers")
    real = mask.bool()[:, None, :, None]
    if any(
        ((a - b).abs() * real).max() > ROUNDING
        for a, b in zip(maps, theirs.attentions, strict=True)
    ):
        refuse("its attention is not computed as expected")
    states = theirs.last_hidden_state
    if not states.isfinite().all():
        raise UserError(f"{folder}: its hidden states are not finite; name another checkpoint.")
    if ((ours - states).abs() * mask[..., None]).max() > ROUNDING * states.abs().max():
        refuse("its hidden states are not those of eager attention")
    if any((one[1, :, :-PADDING, -PADDING:] != 0).any() for one in maps):
        refuse("padding takes part in its attention")
    if read and not all(
        torch.equal(a.transpose(1, 2).flatten(2), b)
        for a, b in zip(record.kept["context"], read, strict=True)
    ):
        refuse("what its heads put out does not reach the output projection alone")
