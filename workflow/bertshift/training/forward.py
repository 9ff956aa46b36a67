"""The forward pass of a training step, in few kernels and without waiting for the GPU.

This module prepares masks and casts weights once a step; transformers prepares masks in every
layer, and autocast casts each matrix. The numbers are the same.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.func import functional_call
from transformers import PreTrainedModel

from bertshift.models.families import FAMILIES
from bertshift.models.family import removing

# Attention kernels copy a mask unless its rows begin at multiples of this many numbers.
ROW_ALIGNMENT = 8


@contextmanager
def forward_pass(
    model: nn.Module, loss: Callable[..., Tensor], autocast_to: torch.dtype | None
) -> Iterator[Callable[..., Tensor]]:
    """Yield a function (batch, ...) -> loss(model, batch, ...), computed in `autocast_to` where
    that is given.

    The batch is on the device of `model`. Frozen parameters must not change inside the block.
    """
    device = next(model.parameters()).device.type
    encoders = [
        module
        for module in model.modules()
        if isinstance(module, PreTrainedModel)
        and module.base_model is module
        and _takes_bias(module)
    ]
    hooks = [
        module.register_forward_pre_hook(_mask_to_bias, with_kwargs=True) for module in encoders
    ]
    loss_module = _Loss(model, loss)
    weights = NarrowWeights(loss_module, autocast_to) if autocast_to else None

    def compute(*batches: dict) -> Tensor:
        if weights is None:
            return loss_module(*batches)
        with torch.autocast(device, dtype=autocast_to):
            return functional_call(loss_module, weights.copies(), batches)

    with removing(hooks):
        yield compute


class _Loss(nn.Module):
    """A loss as a module, for `functional_call`."""

    def __init__(self, model: nn.Module, loss: Callable[..., Tensor]):
        super().__init__()
        self.model = model
        self.loss = loss

    def forward(self, *batches: dict) -> Tensor:
        return self.loss(self.model, *batches)


def padding_bias(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Turn a mask [inputs, tokens], 0 for padding, into the bias of the attention logits: 0 or
    -inf, [inputs, 1, 1, tokens]."""
    inputs, tokens = mask.shape
    width = math.ceil(tokens / ROW_ALIGNMENT) * ROW_ALIGNMENT
    bias = torch.zeros((inputs, 1, 1, width), dtype=dtype, device=mask.device)[..., :tokens]
    return bias.masked_fill_(mask[:, None, None] == 0, -torch.inf)


def _takes_bias(encoder: PreTrainedModel) -> bool:
    """Test whether every token of every layer attends to all real tokens, by one mask that the
    model passes on unchanged."""
    config = encoder.config
    family = FAMILIES.get(config.model_type)
    if family is None or family.causal or getattr(config, "layer_types", None):
        return False
    return config._attn_implementation == "sdpa"


def _mask_to_bias(encoder: PreTrainedModel, inputs: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Make the bias once, before a forward pass: transformers would wait for the GPU to find out
    whether there is any padding, and torch would make a bias in each layer."""
    arguments = dict(zip(("input_ids", "attention_mask", "token_type_ids"), inputs)) | kwargs
    mask = arguments.get("attention_mask")
    if mask is not None:
        dtype = encoder.dtype
        if torch.is_autocast_enabled(mask.device.type):
            dtype = torch.get_autocast_dtype(mask.device.type)
        arguments["attention_mask"] = padding_bias(mask, dtype)
    return (), arguments


class NarrowWeights:
    """Copies in `dtype` of the parameters of linear layers inside `root`, which autocast would
    cast one by one.

    Gradients are cast back to the type of the parameters. Parameters with a second use, such as a
    decoder's that are shared with the embeddings, are left to autocast.
    """

    def __init__(self, root: nn.Module, dtype: torch.dtype):
        uses: Counter[Tensor] = Counter()
        linear: dict[str, nn.Parameter] = {}
        for path, module in root.named_modules():
            for name, weight in module.named_parameters(recurse=False):
                uses[weight] += 1
                if isinstance(module, nn.Linear):
                    linear[f"{path}.{name}"] = weight
        self.dtype = dtype
        self.frozen: dict[str, Tensor] = {}
        self.trained: dict[str, nn.Parameter] = {}
        for name, weight in linear.items():
            if uses[weight] > 1:
                continue
            if weight.requires_grad:
                self.trained[name] = weight
            else:
                self.frozen[name] = weight.detach().to(dtype)

    def copies(self) -> dict[str, Tensor]:
        """Cast the parameters to `dtype`, by their names in `root`."""
        if not self.trained:
            return self.frozen
        trained = _Cast.apply(self.dtype, *self.trained.values())
        return self.frozen | dict(zip(self.trained, trained, strict=True))


class _Cast(torch.autograd.Function):
    @staticmethod
    def forward(ctx, dtype: torch.dtype, *weights: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        ctx.dtypes = [weight.dtype for weight in weights]
        return copies_of(weights, [dtype] * len(weights))

    @staticmethod
    def backward(ctx, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        positions = [i for i, gradient in enumerate(gradients) if gradient is not None]
        dtypes = [ctx.dtypes[i] for i in positions]
        cast = copies_of([gradients[i] for i in positions], dtypes)
        results: list[Tensor | None] = [None] * len(gradients)
        for i, gradient in zip(positions, cast, strict=True):
            results[i] = gradient
        return None, *results


def copies_of(tensors: Sequence[Tensor], dtypes: Sequence[torch.dtype]) -> tuple[Tensor, ...]:
    """Copy tensors to these types, with few kernels."""
    copies = [
        torch.empty_like(tensor, dtype=dtype)
        for tensor, dtype in zip(tensors, dtypes, strict=True)
    ]
    if copies:
        torch._foreach_copy_(copies, tensors)
    return tuple(copies)


def to_device(batch: dict, device: torch.device) -> dict:
    """Move a batch's tensors to the device, with one asynchronous copy for all tensors of a
    type."""
    if device.type == "cpu":
        return batch
    by_type: dict[torch.dtype, dict[str, Tensor]] = {}
    for key, value in batch.items():
        if isinstance(value, Tensor):
            by_type.setdefault(value.dtype, {})[key] = value
    moved = dict(batch)
    for tensors in by_type.values():
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors.values()])
        flat = flat.pin_memory().to(device, non_blocking=True)
        parts = flat.split([tensor.numel() for tensor in tensors.values()])
        for (key, tensor), part in zip(tensors.items(), parts, strict=True):
            moved[key] = part.view(tensor.shape)
    return moved
