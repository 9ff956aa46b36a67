"""Disabling attention heads in a forward pass, without a change to any weight."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

from bertshift.errors import UserError
from bertshift.models.attention import Edit, editing
from bertshift.models.family import head_width, heads_of

# Every query attends alike to all that it sees (Kovaleva et al. 2019); the head puts out nothing
# (Michel et al. 2019); the head puts out the same everywhere, its mean over a data set.
VARIANTS = ("uniform", "zero", "mean")


@dataclass(frozen=True)
class Ablation:
    """One head disabled, or with head 0 all heads of a layer; both count from 1."""

    variant: str
    layer: int
    head: int

    @property
    def heads(self) -> slice:
        return slice(self.head - 1, self.head) if self.head else slice(None)


NOTHING = Ablation("none", 0, 0)


def every_ablation(model: PreTrainedModel, variants: Iterable[str] = VARIANTS) -> list[Ablation]:
    """List every ablation by layer, then by variant, then by head, the whole layer first.
    UserError for a model without layers."""
    if not model.config.num_hidden_layers:
        raise UserError("a model without layers has no heads to disable; name one with layers.")
    return [
        Ablation(variant, layer, head)
        for layer in range(1, model.config.num_hidden_layers + 1)
        for variant in variants
        for head in range(heads_of(model) + 1)
    ]


def without(ablation: Ablation, context: Tensor, means: Tensor | None = None) -> Tensor:
    """Set heads to zero or to their mean, as `ablation` says, in the context [examples, heads,
    tokens, width of a head]."""
    if ablation.variant not in ("zero", "mean"):
        return context
    context = context.clone()
    own = (
        0.0
        if ablation.variant == "zero"
        else means[ablation.layer - 1, ablation.heads, None].to(context)
    )
    context[:, ablation.heads] = own
    return context


class _Sums(Edit):
    """Sums of contexts over the real tokens of the pass that runs: [layers, heads, width of a
    head] float64."""

    def __init__(self, *shape: int):
        self.sums = torch.zeros(shape, dtype=torch.float64)

    def context(self, layer: int, context: Tensor) -> Tensor:
        real = (
            context.new_ones(context.shape[0], context.shape[2])
            if self.tokens is None
            else self.tokens
        )
        self.sums[layer - 1] = torch.einsum("bhtd,bt->hd", context.double(), real.double()).cpu()
        return context


@contextmanager
def averaging(model: PreTrainedModel) -> Iterator[Tensor]:
    """Average the heads' output over the real tokens of all inputs that `model` reads inside the
    block: [layers, heads, width of a head] float64, complete when the block ends. Inputs that it
    could not read to the end, for want of memory, do not count."""
    sums = _Sums(model.config.num_hidden_layers, heads_of(model), head_width(model))
    means = torch.zeros_like(sums.sums)
    tokens = 0

    def count(_, inputs: tuple, named: dict, __) -> None:
        nonlocal tokens
        means.add_(sums.sums)
        ids = named.get("input_ids", inputs[0] if inputs else None)
        tokens += ids.numel() if sums.tokens is None else int(sums.tokens.sum())

    hook = model.register_forward_hook(count, with_kwargs=True)
    try:
        with editing(model, sums):
            yield means
    finally:
        hook.remove()
    means /= max(tokens, 1)
