"""Taking back what fine-tuning did to one layer."""

from dataclasses import dataclass

from torch import nn
from transformers import PreTrainedModel

from bertshift.errors import UserError
from bertshift.models.family import own_layers


@dataclass(frozen=True, eq=False)
class Restored:
    """Layer `layer`, counted from 1, with the weights that it was fine-tuned from: `module`, the
    parent's layer, runs in its place. All else stays, embeddings, pooler and head too (Hao et al.
    2020, Figure 3)."""

    layer: int
    module: nn.Module


def every_restoration(model: PreTrainedModel, parent: PreTrainedModel) -> list[Restored]:
    """List each layer of `model` as restored from `parent`. UserError for a parent of another
    shape or with fewer layers, and for a model that runs one layer several times."""
    ours, theirs = (own_layers(one, "restoring one layer") for one in (model, parent))
    pairs = list(zip(ours, theirs, strict=False))
    shapes = [
        [weight.shape for weight in layer.state_dict().values()]
        for pair in pairs
        for layer in pair
    ]
    if len(pairs) < len(ours) or shapes[::2] != shapes[1::2]:
        raise UserError(
            "a layer can only be restored from a model of the same shape: name the model's own"
            " parent."
        )
    return [Restored(number, theirs) for number, (_, theirs) in enumerate(pairs, 1)]
