"""Undoing the change of fine-tuning in one layer."""

from dataclasses import dataclass

from torch import Size, nn
from transformers import PreTrainedModel

from bertshift.errors import UserError
from bertshift.models.family import own_layers


@dataclass(frozen=True, eq=False)
class Restored:
    """Layer `layer`, counted from 1, with its weights before fine-tuning: `module`, the parent's
    layer, runs in its place. Everything else stays fine-tuned, embeddings, pooler and head too
    (Hao et al. 2020, Figure 3)."""

    layer: int
    module: nn.Module


def every_restoration(model: PreTrainedModel, parent: PreTrainedModel) -> list[Restored]:
    """List the restorations of each layer of `model` from `parent`. UserError for a parent of
    another shape or with fewer layers, and for a model that runs one layer several times."""
    layers = own_layers(model, "restoring one layer")
    parent_layers = own_layers(parent, "restoring one layer")[: len(layers)]
    if _list_shapes(parent_layers) != _list_shapes(layers):
        raise UserError(
            "a layer can only be restored from a model of the same shape: name the model's own"
            " parent."
        )
    return [Restored(number, layer) for number, layer in enumerate(parent_layers, 1)]


def _list_shapes(layers: list[nn.Module]) -> list[list[Size]]:
    return [[weight.shape for weight in layer.state_dict().values()] for layer in layers]
