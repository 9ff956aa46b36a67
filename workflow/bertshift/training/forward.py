"""The forward pass of a training step, in few kernels and without waiting for the GPU.

What is done here once a step, transformers does in every layer, and autocast for every matrix. The
numbers are the same.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.func import functional_call
from transformers import PreTrainedModel

from bertshift.models.families import FAMILIES

# Attention kernels read a mask whose rows begin at multiples of so many numbers; they copy any
# other.
ROW_ALIGNMENT = 8


@contextmanager
def forward_pass(
    model: nn.Module, loss: Callable[..., Tensor], autocast_to: torch.dtype | None
) -> Iterator[Callable[..., Tensor]]:
    """Yield a function (batch, ...) -> loss(model, batch, ...), computed in `autocast_to` where
    that is given.

    The batch is on the device of `model`, whose parameters that are frozen must not change
    meanwhile.
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
    weights = NarrowWeights(model, autocast_to) if autocast_to else None
    whole = _Loss(model, loss)

    def computed(*batches: dict) -> Tensor:
        if weights is None:
            return whole(*batches)
        with torch.autocast(device, dtype=autocast_to):
            return functional_call(whole, weights.copies("model."), batches)

    try:
        yield computed
    finally:
        for hook in hooks:
            hook.remove()


class _Loss(nn.Module):
    def __init__(self, model: nn.Module, loss: Callable[..., Tensor]):
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, *batches: dict) -> Tensor:
        return self.loss(self.model, *batches)


def padding_bias(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Make, from a mask [inputs, tokens], 0 for padding, what attention adds to its logits: 0 or
    -inf, [inputs, 1, 1, tokens]."""
    inputs, tokens = mask.shape
    width = -(-tokens // ROW_ALIGNMENT) * ROW_ALIGNMENT
    bias = torch.zeros((inputs, 1, 1, width), dtype=dtype, device=mask.device)[..., :tokens]
    return bias.masked_fill_(mask[:, None, None] == 0, -torch.inf)


def _takes_bias(encoder: PreTrainedModel) -> bool:
    """Tell whether every token of every layer sees all real tokens, by one mask that the model
    hands on as it is."""
    config = encoder.config
    family = FAMILIES.get(config.model_type)
    known = family is not None and not family.causal and not getattr(config, "layer_types", None)
    return known and config._attn_implementation == "sdpa"


def _mask_to_bias(encoder: PreTrainedModel, inputs: tuple, named: dict) -> tuple[tuple, dict]:
    """Make the bias once, before a forward pass: transformers would ask the GPU whether there is
    any padding, and torch would make a bias in each layer."""
    named = dict(zip(("input_ids", "attention_mask", "token_type_ids"), inputs)) | named
    if (mask := named.get("attention_mask")) is not None:
        device = mask.device.type
        narrow = torch.is_autocast_enabled(device)
        dtype = torch.get_autocast_dtype(device) if narrow else encoder.dtype
        named["attention_mask"] = padding_bias(mask, dtype)
    return (), named


class NarrowWeights:
    """Copies in `dtype` of the parameters of linear layers, which autocast would cast one by one.

    Their gradients reach the parameters in the parameters' own type. Parameters that are also used
    elsewhere, as a decoder's that are those of the embeddings, are left to autocast.
    """

    def __init__(self, model: nn.Module, dtype: torch.dtype):
        uses: Counter[Tensor] = Counter()
        linear: dict[str, nn.Parameter] = {}
        for path, module in model.named_modules():
            for name, weight in module.named_parameters(recurse=False):
                uses[weight] += 1
                if isinstance(module, nn.Linear):
                    linear[f"{path}.{name}".lstrip(".")] = weight
        linear = {name: weight for name, weight in linear.items() if uses[weight] == 1}
        self.dtype = dtype
        self.frozen = {
            name: w.detach().to(dtype) for name, w in linear.items() if not w.requires_grad
        }
        self.trained = {name: weight for name, weight in linear.items() if weight.requires_grad}

    def copies(self, prefix: str = "") -> dict[str, Tensor]:
        """Cast the parameters to `dtype`, by their names with `prefix`."""
        trained = _Cast.apply(self.dtype, *self.trained.values()) if self.trained else ()
        found = self.frozen | dict(zip(self.trained, trained, strict=True))
        return {prefix + name: copy for name, copy in found.items()}


class _Cast(torch.autograd.Function):
    @staticmethod
    def forward(ctx, dtype: torch.dtype, *weights: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        ctx.dtypes = [weight.dtype for weight in weights]
        return copies_of(weights, [dtype] * len(weights))

    @staticmethod
    def backward(ctx, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        there = [i for i, gradient in enumerate(gradients) if gradient is not None]
        found = copies_of([gradients[i] for i in there], [ctx.dtypes[i] for i in there])
        by_place = dict(zip(there, found, strict=True))
        return None, *(by_place.get(i) for i in range(len(gradients)))


def copies_of(tensors: Sequence[Tensor], dtypes: Sequence[torch.dtype]) -> tuple[Tensor, ...]:
    """Copy tensors into these types, in one kernel or a few."""
    copies = [
        torch.empty_like(tensor, dtype=dtype)
        for tensor, dtype in zip(tensors, dtypes, strict=True)
    ]
    if copies:
        torch._foreach_copy_(copies, tensors)
    return tuple(copies)


def to_device(batch: dict, device: torch.device) -> dict:
    """Move a batch's tensors to the device: one copy for all of a type, which nothing waits
    for."""
    if device.type == "cpu":
        return batch
    return moved(batch, lambda values: values.pin_memory().to(device, non_blocking=True))


def moved(batch: dict, move: Callable[[Tensor], Tensor]) -> dict:
    """Move a batch's tensors, those of one type put into one for `move`, and taken out of what
    that returns."""
    by_type: dict[torch.dtype, dict[str, Tensor]] = {}
    for key, value in batch.items():
        if isinstance(value, Tensor):
            by_type.setdefault(value.dtype, {})[key] = value
    found = dict(batch)
    for tensors in by_type.values():
        flat = move(torch.cat([tensor.reshape(-1) for tensor in tensors.values()]))
        parts = flat.split([tensor.numel() for tensor in tensors.values()])
        found |= {
            key: part.view(tensor.shape) for (key, tensor), part in zip(tensors.items(), parts)
        }
    return found
