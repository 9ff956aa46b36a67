"""Disabling attention heads through their weights, so that it works with every attention kernel."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import BertModel

from bertshift.errors import UserError

# Every query attends alike to every real token (Kovaleva et al. 2019); the head puts out nothing (Michel et al. 2019);
# the head puts out the same everywhere, its mean over a data set.
VARIANTS = ("uniform", "zero", "mean")


@dataclass(frozen=True)
class Ablation:
    """One head disabled, or with head 0 all heads of a layer; both count from 1."""

    variant: str
    layer: int
    head: int


NOTHING = Ablation("none", 0, 0)


def every_ablation(bert: BertModel, variants: Iterable[str] = VARIANTS) -> list[Ablation]:
    """By layer, by variant, by head, the whole layer first. UserError for a model without layers."""
    layers, heads = len(bert.encoder.layer), bert.config.num_attention_heads
    if not layers:
        raise UserError("a model without layers has no heads to disable; name one with layers.")
    return [
        Ablation(variant, layer, head)
        for layer in range(1, layers + 1)
        for variant in variants
        for head in range(heads + 1)
    ]


@contextmanager
def disabled(bert: BertModel, ablation: Ablation, means: Tensor | None = None) -> Iterator[None]:
    """Inside the block `ablation` holds; afterwards every weight is what it was, to the bit.

    uniform: zero rows of the query projection and its bias, so that all logits are 0 and the softmax over the L real
    keys is 1/L. zero: zero columns of the output projection W. mean: that, and W times the head's mean context added
    to the bias; `means` [layers, width] is what `averaging` gives. UserError for a layer, head or variant that does
    not exist.
    """
    if ablation == NOTHING:
        yield
        return
    attention = _layer(bert, ablation).attention
    query, output = attention.self.query, attention.output.dense
    part = columns(bert, ablation.head)
    match ablation.variant:
        case "uniform":
            changes = [(query.weight[part], 0), (query.bias[part], 0)]
        case "zero":
            changes = [(output.weight[:, part], 0)]
        case "mean":
            if means is None:
                raise ValueError("the variant 'mean' needs the means of the contexts")
            # .double() and back: a bias is one number for every token, so its rounding does not average out.
            constant = output.weight[:, part].double() @ means[ablation.layer - 1, part].double()
            changes = [(output.weight[:, part], 0), (output.bias, (output.bias.double() + constant).float())]
        case unknown:
            raise UserError(
                f"'{unknown}' is no way to disable a head; write one of {', '.join(VARIANTS)} under ablation.variants."
            )
    views = [tensor.detach() for tensor, _ in changes]
    before = [view.clone() for view in views]
    try:
        for view, (_, value) in zip(views, changes, strict=True):
            view.copy_(torch.as_tensor(value))
        yield
    finally:
        for view, old in zip(views, before, strict=True):
            view.copy_(old)


def columns(bert: BertModel, head: int) -> slice:
    """Where the context of a head stands in that of its layer; of all heads for head 0."""
    if not head:
        return slice(None)
    width = bert.config.hidden_size // bert.config.num_attention_heads
    return slice((head - 1) * width, head * width)


def _layer(bert: BertModel, ablation: Ablation):
    layers, heads = len(bert.encoder.layer), bert.config.num_attention_heads
    if not (1 <= ablation.layer <= layers and 0 <= ablation.head <= heads):
        raise UserError(
            f"L{ablation.layer}H{ablation.head} does not exist: the model has layers 1 to {layers} and heads 1 to "
            f"{heads}."
        )
    return bert.encoder.layer[ablation.layer - 1]


@contextmanager
def averaging(bert: BertModel) -> Iterator[Tensor]:
    """What the heads of each layer put out before the output projection, averaged over the real tokens of all inputs
    that `bert` reads inside the block: [layers, width] float64, complete when the block ends. What it could not read to
    the end, for want of memory, does not count."""
    means = torch.zeros(len(bert.encoder.layer), bert.config.hidden_size, dtype=torch.float64)
    sums = torch.zeros_like(means)
    tokens, mask = 0, None

    def read(_, inputs, options):
        nonlocal mask
        ids, mask = (*inputs, options.get("attention_mask"))[:2]
        mask = torch.ones_like(ids) if mask is None else mask

    def add(number):
        def hook(_, inputs):
            sums[number] = torch.einsum("btw,bt->w", inputs[0].double(), mask.double()).cpu()

        return hook

    def count(*_):
        nonlocal tokens
        means.add_(sums)
        tokens += int(mask.sum())

    hooks = [bert.register_forward_pre_hook(read, with_kwargs=True), bert.register_forward_hook(count)]
    for number, layer in enumerate(bert.encoder.layer):
        hooks.append(layer.attention.output.dense.register_forward_pre_hook(add(number)))
    try:
        yield means
    finally:
        for hook in hooks:
            hook.remove()
    means /= max(tokens, 1)
