"""L2 norms of gradients, updates and distances from the start, layer by layer (layers.tsv)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from bertshift.models.family import groups
from bertshift.training.forward import copies_of


def layer_groups(model: nn.Module) -> dict[str, list[nn.Parameter]]:
    """Group the parameters by layer: "embeddings", "1" to "L", "pooler" and "head" (all others);
    none is empty."""
    if isinstance(model, PreTrainedModel):
        encoder = model.base_model
    else:
        encoder = getattr(model, "encoder", None)
    encoder_groups = {} if encoder is None else groups(encoder)
    in_encoder = {id(weight) for weights in encoder_groups.values() for weight in weights}
    layers = sorted((name for name in encoder_groups if name.isdecimal()), key=int)
    names = ("embeddings", *layers, "pooler")
    head = [weight for weight in model.parameters() if id(weight) not in in_encoder]
    for name, weights in encoder_groups.items():
        if name not in names:
            head += weights
    by_layer = {name: encoder_groups.get(name, []) for name in names} | {"head": head}
    return {name: weights for name, weights in by_layer.items() if weights}


class LayerNorms:
    """L2 norms per layer of gradient, update and distance from the start, accumulated in float64.

    The parameters at construction are the start. No method waits for the GPU.
    """

    def __init__(self, model: nn.Module):
        by_layer = layer_groups(model)
        self.layers = list(by_layer)
        self.weights: list[nn.Parameter] = []
        layer_of_weight = []
        for number, weights in enumerate(by_layer.values()):
            for weight in weights:
                if weight.requires_grad:  # a frozen one has norm 0 throughout
                    self.weights.append(weight)
                    layer_of_weight.append(number)
        with torch.no_grad():
            self.start = self._copy_weights()
        self.layer_of_weight = torch.tensor(layer_of_weight, device=self.weights[0].device)

    def _copy_weights(self) -> tuple[Tensor, ...]:
        return copies_of(self.weights, [weight.dtype for weight in self.weights])

    def _norms(self, tensors: list[Tensor]) -> Tensor:
        norms = torch.stack(torch._foreach_norm(tensors, 2, dtype=torch.float64))
        squares = norms.new_zeros(len(self.layers))
        squares.index_add_(0, self.layer_of_weight, norms.square())
        return squares.sqrt()

    @torch.no_grad()
    def before_update(self) -> tuple[Tensor, Sequence[Tensor]]:
        gradients = [
            weight.new_zeros(()) if weight.grad is None else weight.grad for weight in self.weights
        ]
        return self._norms(gradients), self._copy_weights()

    @torch.no_grad()
    def after_update(self, step: int, before: tuple[Tensor, Sequence[Tensor]]) -> Tensor:
        gradient, weights = before
        now = [weight.detach() for weight in self.weights]
        update = self._norms(torch._foreach_sub(now, weights))
        distance = self._norms(torch._foreach_sub(now, self.start))
        return torch.cat([gradient.new_full((1,), step), gradient, update, distance])
