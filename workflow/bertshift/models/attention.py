"""Recording and changing attention in a forward pass, for every family by one interface.

A function registered with transformers replaces eager attention and gives the same numbers to the
bit. Families that take no such function (deberta-v2, mpnet) get hooks.
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
    tokens, or None where all are. A method gets the number of the layer and a tensor, and returns
    the tensor that replaces it.
    """

    layer = 0
    tokens: Tensor | None = None

    def begins(self, tokens: Tensor | None) -> None:
        """Start a forward pass on `tokens`."""
        self.layer, self.tokens = 0, tokens

    def known(self, layer: int) -> Tensor | None:
        """Return a context that saves computing attention, or None."""

    def maps(self, layer: int, maps: Tensor, mask: Tensor | None) -> Tensor:
        """Return the replacement of `maps` [examples, heads, query, key]. `mask`, of a fitting
        shape, is 0 for the tokens that a query sees, else very low."""
        return maps

    def values(self, layer: int, values: Tensor) -> None:
        """Get the values [examples, heads, tokens, width of a head]. A key head that serves
        several query heads is repeated for each."""

    def context(self, layer: int, context: Tensor) -> Tensor:
        """Return the replacement of the heads' output
        [examples, heads, tokens, width of a head]."""
        return context


class Record(Edit):
    """Keeps the maps, values or contexts of a pass, one a layer."""

    def __init__(self, *kinds: str):
        self.kept = {kind: [] for kind in kinds}

    def begins(self, tokens: Tensor | None) -> None:
        super().begins(tokens)
        for tensors in self.kept.values():
            tensors.clear()

    def _keep(self, kind: str, tensor: Tensor) -> Tensor:
        if kind in self.kept:
            self.kept[kind].append(tensor)
        return tensor

    def maps(self, layer: int, maps: Tensor, mask: Tensor | None) -> Tensor:
        return self._keep("maps", maps)

    def values(self, layer: int, values: Tensor) -> None:
        self._keep("values", values)

    def context(self, layer: int, context: Tensor) -> Tensor:
        return self._keep("context", context)


def seen(mask: Tensor | None, maps: Tensor) -> Tensor:
    """Spread attention evenly over all tokens that a query sees, in the shape of one head's `maps`
    [examples, query, key]."""
    scores = torch.zeros_like(maps[:, :1])
    if mask is not None:
        scores = scores + mask[:, :1]
    return scores.softmax(-1)[:, 0]


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
                _add_hooks(stack, family, layer)
        else:
            implementation = model.config._attn_implementation
            model.set_attn_implementation(NAME)
            stack.callback(model.set_attn_implementation, implementation)
        hook = model.register_forward_pre_hook(_begin_pass, with_kwargs=True)
        stack.callback(hook.remove)
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
    """Start a pass, or the run of a single layer, of the active edit."""
    if _active is not None:
        _active.begins(tokens)


def _begin_pass(_, args: tuple, kwargs: dict) -> None:
    begin(kwargs.get("attention_mask", args[1] if len(args) > 1 else None))


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
    context = edit.known(edit.layer)
    if context is None:
        queries_per_key = query.shape[1] // key.shape[1]
        if queries_per_key > 1:
            key = key.repeat_interleave(queries_per_key, 1)
            value = value.repeat_interleave(queries_per_key, 1)
        if scaling is None:
            scaling = query.shape[-1] ** -0.5
        scores = query @ key.mT * scaling
        if mask is not None:
            scores = scores + mask
        maps = scores.softmax(-1, dtype=torch.float32).to(query.dtype)
        maps = edit.maps(edit.layer, maps, mask)
        edit.values(edit.layer, value)
        context = F.dropout(maps, dropout, module.training) @ value
        context = edit.context(edit.layer, context)
    return context.transpose(1, 2).contiguous(), maps


AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, eager_mask)


def _add_hooks(stack: ExitStack, family: Family, layer: nn.Module) -> None:
    """Let the active edit take part in a layer whose attention cannot be replaced by a function.
    The hooks are removed with the stack."""
    attention = layer.get_submodule(family.attention)

    def split_heads(states: Tensor) -> Tensor:
        return states.unflatten(-1, (attention.num_attention_heads, -1)).transpose(1, 2)

    def count_layer(*_) -> None:
        if _active is not None:
            _active.layer += 1

    def pass_values(_, __, values: Tensor) -> None:
        if _active is not None:
            _active.values(_active.layer, split_heads(values))

    def replace_maps(_, __, maps: Tensor) -> Tensor | None:
        if _active is None:
            return None
        mask = None
        if _active.tokens is not None:
            is_padding = _active.tokens[:, None, None] == 0
            lowest = torch.finfo(maps.dtype).min
            mask = torch.zeros_like(maps[:, :1]).masked_fill(is_padding, lowest)
        return _active.maps(_active.layer, maps, mask)

    def replace_context(_, args: tuple) -> tuple | None:
        if _active is None:
            return None
        context = _active.known(_active.layer)
        if context is None:
            context = _active.context(_active.layer, split_heads(args[0]))
        return context.transpose(1, 2).flatten(2), *args[1:]

    for hook in (
        attention.register_forward_pre_hook(count_layer),
        layer.get_submodule(family.value).register_forward_hook(pass_values),
        attention.dropout.register_forward_hook(replace_maps),
        layer.get_submodule(family.out).register_forward_pre_hook(replace_context),
    ):
        stack.callback(hook.remove)
