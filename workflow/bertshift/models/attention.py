"""Seeing and changing what attention does in a forward pass, for every family by one path.

A function of our own takes the place of eager attention, whose numbers it gives to the bit.
Families that take no such function (deberta-v2, mpnet) are reached by hooks.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask

from bertshift.models.families import Family
from bertshift.models.family import family_of, layers_of

NAME = "bertshift"


class Edit:
    """An action on attention in a forward pass; this one does nothing.

    Layers count from 1, in the order in which they run. `tokens` [examples, tokens] is 1 for real
    tokens, or None where all are. A method gets the number of the layer, and returns what shall
    stand instead.
    """

    layer = 0
    tokens: Tensor | None = None

    def begins(self, tokens: Tensor | None) -> None:
        """Take note that a forward pass on `tokens` begins."""
        self.layer, self.tokens = 0, tokens

    def known(self, layer: int) -> Tensor | None:
        """Return a context that makes it needless to compute attention, or None."""

    def maps(self, layer: int, maps: Tensor, mask: Tensor | None) -> Tensor:
        """Return what shall stand instead of `maps` [examples, heads, query, key]. `mask`, which
        fits their shape, is 0 for what a query sees, else very low."""
        return maps

    def values(self, layer: int, values: Tensor) -> None:
        """Take note of the values [examples, heads, tokens, width of a head]. A key head that
        serves several query heads stands once for each."""

    def context(self, layer: int, context: Tensor) -> Tensor:
        """Return what shall stand instead of the heads' output [examples, heads, tokens, width of
        a head]."""
        return context


class Record(Edit):
    """Keeps the maps, values or contexts of a pass, one a layer."""

    def __init__(self, *kept: str):
        self.kept = {kind: [] for kind in kept}

    def begins(self, tokens: Tensor | None) -> None:
        super().begins(tokens)
        for found in self.kept.values():
            found.clear()

    def _keep(self, kind: str, found: Tensor) -> Tensor:
        if kind in self.kept:
            self.kept[kind].append(found)
        return found

    def maps(self, layer: int, maps: Tensor, mask: Tensor | None) -> Tensor:
        return self._keep("maps", maps)

    def values(self, layer: int, values: Tensor) -> None:
        self._keep("values", values)

    def context(self, layer: int, context: Tensor) -> Tensor:
        return self._keep("context", context)


def seen(mask: Tensor | None, maps: Tensor) -> Tensor:
    """Spread attention evenly over all that a query sees, in the shape of one head's `maps`
    [examples, query, key]."""
    flat = torch.zeros_like(maps[:, :1])
    return (flat if mask is None else flat + mask[:, :1]).softmax(-1)[:, 0]


_active: Edit | None = None


@contextmanager
def editing(model: PreTrainedModel, edit: Edit, family: Family | None = None) -> Iterator[None]:
    """Let `edit` take part in every forward pass of `model` inside the block."""
    with editable(model, family), active(edit):
        yield


@contextmanager
def editable(model: PreTrainedModel, family: Family | None = None) -> Iterator[None]:
    """Let an `active` edit take part in forward passes of `model`, and of its layers, inside the
    block."""
    family = family or family_of(model)
    with ExitStack() as stack:
        if family.attention:
            for layer in layers_of(model):
                _hook(stack, family, layer)
        else:
            before = model.config._attn_implementation
            model.set_attn_implementation(NAME)
            stack.callback(model.set_attn_implementation, before)
        stack.callback(model.register_forward_pre_hook(_begin, with_kwargs=True).remove)
        yield


@contextmanager
def active(edit: Edit) -> Iterator[None]:
    """Make `edit` the active one inside the block, for models that are `editable`. ValueError
    inside another such block, whose edit would be lost."""
    global _active
    if _active is not None:
        raise ValueError("attention is being edited already")
    _active = edit
    try:
        yield
    finally:
        _active = None


def begin(tokens: Tensor | None) -> None:
    """Tell the active edit that a pass begins, or that a single layer runs."""
    if _active is not None:
        _active.begins(tokens)


def _begin(_, inputs: tuple, named: dict) -> None:
    begin(named.get("attention_mask", inputs[1] if len(inputs) > 1 else None))


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **_,
) -> tuple[Tensor, Tensor | None]:
    """Compute attention as transformers' eager functions do, to the bit, with the active edit; by
    a fast kernel where no edit is active."""
    edit = _active
    if edit is None:
        return sdpa_attention_forward(
            module, query, key, value, mask, dropout, scaling, is_causal=False
        )
    edit.layer += 1
    maps = None
    if (context := edit.known(edit.layer)) is None:
        shared = query.shape[1] // key.shape[1]
        if shared > 1:
            key, value = key.repeat_interleave(shared, 1), value.repeat_interleave(shared, 1)
        scores = query @ key.mT * (query.shape[-1] ** -0.5 if scaling is None else scaling)
        maps = (
            (scores if mask is None else scores + mask)
            .softmax(-1, dtype=torch.float32)
            .to(query.dtype)
        )
        maps = edit.maps(edit.layer, maps, mask)
        edit.values(edit.layer, value)
        context = edit.context(edit.layer, F.dropout(maps, dropout, module.training) @ value)
    return context.transpose(1, 2).contiguous(), maps


AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, eager_mask)


def _hook(stack: ExitStack, family: Family, layer: nn.Module) -> None:
    attention = layer.get_submodule(family.attention)

    def by_head(states: Tensor) -> Tensor:
        return states.unflatten(-1, (attention.num_attention_heads, -1)).transpose(1, 2)

    def count(*_) -> None:
        if _active is not None:
            _active.layer += 1

    def values(_, __, found: Tensor) -> None:
        if _active is not None:
            _active.values(_active.layer, by_head(found))

    def maps(_, __, found: Tensor) -> Tensor | None:
        if _active is None:
            return None
        mask = None
        if _active.tokens is not None:
            padding = _active.tokens[:, None, None] == 0
            mask = torch.zeros_like(found[:, :1]).masked_fill(
                padding, torch.finfo(found.dtype).min
            )
        return _active.maps(_active.layer, found, mask)

    def context(_, inputs: tuple) -> tuple | None:
        if _active is None:
            return None
        found = _active.known(_active.layer)
        if found is None:
            found = _active.context(_active.layer, by_head(inputs[0]))
        return found.transpose(1, 2).flatten(2), *inputs[1:]

    for hook in (
        attention.register_forward_pre_hook(count),
        layer.get_submodule(family.value).register_forward_hook(values),
        attention.dropout.register_forward_hook(maps),
        layer.get_submodule(family.out).register_forward_pre_hook(context),
    ):
        stack.callback(hook.remove)
