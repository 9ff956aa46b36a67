"""L2 norms of gradients, updates and distances from the start, layer by layer (layers.tsv)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from bertshift.models.family import groups
from bertshift.training.forward import copies_of


def layer_groups(model: nn.Module) -> dict[str, list[nn.Parameter]]:
    """Group the parameters by where they sit: "embeddings", "1" to "L", "pooler" and "head" (all
    others); none is empty."""
    encoder = (
        model.base_model if isinstance(model, PreTrainedModel) else getattr(model, "encoder", None)
    )
    found = {} if encoder is None else groups(encoder)
    own = {id(weight) for weights in found.values() for weight in weights}
    layers = sorted((key for key in found if key.isdecimal()), key=int)
    rest = [weight for weight in model.parameters() if id(weight) not in own]
    rest += [
        weight
        for key, weights in found.items()
        if key not in ("embeddings", "pooler", *layers)
        for weight in weights
    ]
    parts = {key: found.get(key, []) for key in ("embeddings", *layers, "pooler")} | {"head": rest}
    return {key: weights for key, weights in parts.items() if weights}


class LayerNorms:
    """L2 norms per layer of gradient, update and distance from the start, accumulated in float64.

    The parameters at construction are the start. Nothing here waits for the GPU.
    """

    def __init__(self, model: nn.Module):
        groups = layer_groups(model)
        self.layers = list(groups)
        members = [
            (number, weight)
            for number, weights in enumerate(groups.values())
            for weight in weights
            if weight.requires_grad  # a frozen one has norm 0 throughout
        ]
        self.weights = [weight for _, weight in members]
        with torch.no_grad():
            self.start = self._copy()
        device = self.weights[0].device
        self.group_of = torch.tensor([number for number, _ in members], device=device)

    def _copy(self) -> tuple[Tensor, ...]:
        return copies_of(self.weights, [weight.dtype for weight in self.weights])

    def _norms(self, tensors: list[Tensor]) -> Tensor:
        squares = torch.stack(torch._foreach_norm(tensors, 2, dtype=torch.float64)).square()
        zeros = torch.zeros(len(self.layers), dtype=torch.float64, device=squares.device)
        return zeros.index_add_(0, self.group_of, squares).sqrt()

    @torch.no_grad()
    def before_update(self) -> tuple[Tensor, Sequence[Tensor]]:
        gradients = [
            weight.new_zeros(()) if weight.grad is None else weight.grad for weight in self.weights
        ]
        return self._norms(gradients), self._copy()

    @torch.no_grad()
    def after_update(self, step: int, before: tuple[Tensor, Sequence[Tensor]]) -> Tensor:
        gradient, weights = before
        now = [weight.detach() for weight in self.weights]
        update = self._norms(torch._foreach_sub(now, weights))
        distance = self._norms(torch._foreach_sub(now, self.start))
        return torch.cat([gradient.new_full((1,), step), gradient, update, distance])
