"""Disabling attention heads in a forward pass, without a change to any weight."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

from bertshift.errors import UserError
from bertshift.models.attention import Edit, editing
from bertshift.models.family import head_width, heads_of, removing

# uniform: every query attends equally to all tokens that it sees (Kovaleva et al. 2019); zero: the
# head's output is zero (Michel et al. 2019); mean: it is the head's mean output over a data set.
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
    """List every ablation by layer, then by variant, then by head, all heads of the layer first.
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
    """Set heads to zero or to their mean, as `ablation` says, in the context
    [examples, heads, tokens, width of a head]."""
    if ablation.variant not in ("zero", "mean"):
        return context
    context = context.clone()
    if ablation.variant == "zero":
        context[:, ablation.heads] = 0.0
    else:
        head_means = means[ablation.layer - 1, ablation.heads, None]
        context[:, ablation.heads] = head_means.to(context)
    return context


class _Sums(Edit):
    """Sums of contexts over the real tokens of the current pass: [layers, heads, width of a head]
    float64."""

    def __init__(self, *shape: int):
        self.sums = torch.zeros(shape, dtype=torch.float64)

    def context(self, layer: int, context: Tensor) -> Tensor:
        tokens = self.tokens
        if tokens is None:
            tokens = context.new_ones(context.shape[0], context.shape[2])
        sums = torch.einsum("bhtd,bt->hd", context.double(), tokens.double())
        self.sums[layer - 1] = sums.cpu()
        return context


@contextmanager
def averaging(model: PreTrainedModel) -> Iterator[Tensor]:
    """Average the heads' output over the real tokens of all inputs that `model` reads inside the
    block: [layers, heads, width of a head] float64, complete when the block ends. Passes that
    failed, for want of memory, do not count."""
    edit = _Sums(model.config.num_hidden_layers, heads_of(model), head_width(model))
    means = torch.zeros_like(edit.sums)
    tokens = 0

    def add_pass(_, args: tuple, kwargs: dict, __) -> None:
        nonlocal tokens
        means.add_(edit.sums)
        if edit.tokens is None:
            ids = kwargs.get("input_ids", args[0] if args else None)
            tokens += ids.numel()
        else:
            tokens += int(edit.tokens.sum())

    hook = model.register_forward_hook(add_pass, with_kwargs=True)
    with removing([hook]), editing(model, edit):
        yield means
    means /= max(tokens, 1)
