"""Taking back what fine-tuning did to one layer."""

from dataclasses import dataclass

from torch import nn
from transformers import BertModel

from bertshift.errors import UserError


@dataclass(frozen=True, eq=False)
class Restored:
    """Layer `layer`, counted from 1, with the weights that it was fine-tuned from: `module`, the parent's layer, runs
    in its place. All else stays, embeddings, pooler and head too (Hao et al. 2020, Figure 3)."""

    layer: int
    module: nn.Module


def every_restoration(bert: BertModel, parent: BertModel) -> list[Restored]:
    """Each layer of `bert` restored from `parent`. UserError for a parent of another width or with fewer layers."""
    pairs = list(zip(bert.encoder.layer, parent.encoder.layer, strict=False))
    shapes = [[weight.shape for weight in layer.state_dict().values()] for pair in pairs for layer in pair]
    if len(pairs) < len(bert.encoder.layer) or shapes[::2] != shapes[1::2]:
        raise UserError(
            "a layer can only be restored from a model of the same shape: name the model's own parent."
        )
    return [Restored(number, theirs) for number, (_, theirs) in enumerate(pairs, 1)]
