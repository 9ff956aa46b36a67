"""Loaded models that a user gives: that they are what their weights say, and one by one."""

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations

import torch
import transformers
from torch import Tensor, nn
from transformers import PreTrainedModel

from bertshift.errors import UserError
from bertshift.models.adapters import has_adapters
from bertshift.models.answering import Answering, Head, are_equal, head_of_class
from bertshift.models.family import family_of, longest_input, reads_segments, removing
from bertshift.models.layers import first_of

TOKENS = 128
STEP = 37  # between the numbers of tokens that the check reads, so that few follow one another
PLAIN = ("eager", "sdpa")  # transformers' own attention
# Of the dtype's precision: 7e-5 in float32, where 6 layers differ by 2e-6 in eager and fast
# attention, and another form of GELU in one of them by 1e-3.
ROUNDING = 0.6
TINY = 1e-30
READ = "_is_hf_initialized"  # transformers' mark of a weight that was in a checkpoint


def is_loaded(model: object) -> bool:
    return isinstance(model, nn.Module)


def encoder_in(model: nn.Module) -> nn.Module:
    """Return the part of a loaded model below its head, with its adapters."""
    if not isinstance(model, PreTrainedModel) and has_adapters(model):
        model = model.get_base_model()
    return getattr(model, getattr(model, "base_model_prefix", ""), model)


def head_in(model: nn.Module, name: str) -> Head:
    """Describe the head of a loaded model, or say why it cannot be asked: a head that its
    checkpoint did not have may be random, and adapters are merged without one."""
    if has_adapters(model):
        return Head(
            reason=f"the adapters in {name} are merged without its head; call merge_and_unload(),"
            " save the model and give its folder"
        )
    kind = type(model)
    is_known = getattr(transformers, kind.__name__, None) is kind
    head = head_of_class(kind.__name__ if is_known else "", getattr(model, "config", None), name)
    if not head.kind:
        return head
    inside = {*encoder_in(model).parameters()}
    own = [weight for weight in model.parameters() if weight not in inside]
    if not all(_holds_numbers(weight.data) and not weight.is_meta for weight in own):
        return Head(reason=f"the head of {name} holds no plain numbers")
    # transformers marks what it has read; a model without a name was made, not read.
    if model.name_or_path and not all(getattr(weight, READ, False) for weight in own):
        return Head(
            reason=f"{name} has a head that was not in the checkpoint that it was loaded from; if"
            " it was trained since, save the model and give its folder"
        )
    return head


def check_answers(model: nn.Module, answering: Answering, name: str) -> None:
    """Raise UserError where a loaded model gives other logits than its class does with its
    weights: code of its own takes part in its head."""
    twin = _make_twin(answering.model, model)
    twin.family = family_of(answering.base)
    inputs = _make_inputs(twin)
    with torch.no_grad(), _evaluating(model), _without_autocast(model):
        logits, expected = model(**inputs).logits, twin(**inputs).logits
    if not are_equal(logits, expected, torch.finfo(twin.dtype).eps ** ROUNDING):
        raise UserError(f"{name} gives other answers than its weights and its class say")


def check_weights(model: nn.Module, name: str) -> None:
    """Raise UserError for weights that are not numbers in memory: quantised, sparse, on the device
    meta, or offloaded to a disk."""
    for key, value in encoder_in(model).state_dict().items():
        if not _holds_numbers(value):
            raise UserError(
                f"{name}: {key} holds no plain numbers ({type(value).__name__}), as in quantised,"
                " sparse and distributed models; give the model as it was before."
            )
        if value.is_meta:
            raise UserError(
                f"{name}: {key} is not in memory, but on the device meta or a disk; load the model"
                " without device_map and without meta."
            )


def _holds_numbers(value: object) -> bool:
    """Return whether a weight is a plain array: no subclass of tensors, quantised or sparse."""
    if type(value) is not Tensor:
        return False
    return value.layout == torch.strided and not value.is_quantized


def check_apart(models: Sequence, references: Sequence) -> None:
    """Raise UserError where two replicates, or a model and a reference, are loaded models with the
    same layers: what changed one changed the other, so that they are equal at any time."""
    loaded = [model for model in models if is_loaded(model)]
    loaded_references = [model for model in references if is_loaded(model)]
    for model in loaded:
        for reference in loaded_references:
            if _share_layers(model, reference):
                raise UserError(
                    f"the model and its reference ({_describe(model)} and {_describe(reference)})"
                    " are one model in memory: what trained the one, or put adapters into it,"
                    " changed the other; give a reference that was loaded anew, its folder or its"
                    " name."
                )
    for model, other in combinations(loaded, 2):
        if _share_layers(model, other):
            raise UserError(
                f"two replicates ({_describe(model)} and {_describe(other)}) are one model in"
                " memory; give each one loaded anew, or their folders."
            )
    for reference in loaded_references:
        _check_no_adapters_inside(reference)


def _check_no_adapters_inside(reference: nn.Module) -> None:
    """Raise UserError for a base into which PEFT put adapters when it made another object."""
    is_own = not isinstance(reference, PreTrainedModel)  # PEFT's object itself
    was_asked = getattr(reference, "_hf_peft_config_loaded", False)  # by the model's own methods
    if has_adapters(reference) and not is_own and not was_asked:
        raise UserError(
            f"the reference ({_describe(reference)}) is the base that PEFT put adapters into, so"
            " it is no longer what it was; give one that was loaded anew, its folder or its name."
        )


def _describe(model: nn.Module) -> str:
    return type(model).__name__


def _share_layers(model: nn.Module, other: nn.Module) -> bool:
    """Return whether all weights of the layers are the same memory."""
    weights = _find_layers(model)
    return bool(weights) and weights == _find_layers(other)


def _find_layers(model: nn.Module) -> set[int]:
    """Find where in memory the weights of the layers are, without embeddings and pooler."""
    return {
        weight.data_ptr()
        for name, weight in encoder_in(model).named_parameters()
        if any(part.isdecimal() for part in name.split("."))
    }


def check_computes(model: nn.Module, encoder: PreTrainedModel, name: str) -> None:
    """Raise UserError where a loaded model computes other hidden states than `encoder`, which was
    read from its weights: code of its own takes part, such as a hook or an exchanged module."""
    given, path = encoder_in(model), family_of(encoder).layers
    twin = _make_twin(encoder, given)
    inputs = _make_inputs(twin)
    expected = _run_layers(twin, path, inputs)
    try:
        with _evaluating(given), _without_autocast(given):
            states = _run_layers(given, path, inputs)
    except Exception as error:  # code of the user's own has each its own
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UserError(
            f"{name} cannot be run as a model of its class ({reason}); give one that"
            " from_pretrained loads."
        ) from error
    tolerance = torch.finfo(twin.dtype).eps ** ROUNDING
    if len(states) == len(expected):
        pairs = zip(states, expected, strict=True)
        if all(_measure_difference(*pair) <= tolerance for pair in pairs):
            return
    raise UserError(
        f"{name} computes other hidden states than its weights and configuration say, as with a"
        " hook, an exchanged module or a forward of its own; only weights can be compared, so"
        " remove these, or write measures of its hidden states with bertshift.rsa and its like."
    )


def _make_twin(encoder: PreTrainedModel, given: nn.Module) -> PreTrainedModel:
    """Return the encoder on the device and in the precision of the given one: itself, or a copy.
    Buffers, such as frequencies of rotary positions, may have a precision of their own."""
    weight = next(given.parameters())
    if (weight.device, weight.dtype) == (encoder.device, encoder.dtype):
        return encoder
    types = {name: tensor.dtype for name, tensor in _list_tensors(given)}
    twin = copy.deepcopy(encoder).to(weight.device)
    for name, tensor in _list_tensors(twin):
        if tensor.is_floating_point():
            tensor.data = tensor.data.to(types.get(name, weight.dtype))
    attention = getattr(given.config, "_attn_implementation", None)
    if attention in PLAIN:  # in 16 bits, they differ by rounding
        twin.set_attn_implementation(attention)
    return twin


def _list_tensors(model: nn.Module) -> list[tuple[str, Tensor]]:
    return [*model.named_parameters(), *model.named_buffers()]


def _make_inputs(encoder: PreTrainedModel) -> dict:
    length = min(TOKENS, longest_input(encoder))
    numbers = torch.arange(length, device=encoder.device)[None]
    inputs = {"input_ids": 1 + numbers * STEP % (encoder.config.vocab_size - 1)}
    if reads_segments(encoder):
        inputs["token_type_ids"] = (numbers >= length // 2).long()
    if family_of(encoder).causal:
        inputs["use_cache"] = False
    return inputs


@torch.no_grad()
def _run_layers(model: nn.Module, path: str, inputs: dict) -> list[Tensor]:
    """Return the outputs of the layers below `path`, and the model's."""
    states: list[Tensor] = []

    def keep(_, __, output: Tensor | tuple) -> None:
        states.append(first_of(output))

    layers = dict.fromkeys(model.get_submodule(path))
    with removing([layer.register_forward_hook(keep) for layer in layers]):
        output = model(**inputs)
    return [*states, first_of(output)]


def _measure_difference(states: Tensor, expected: Tensor) -> float:
    """Measure the largest difference of a token's states, as a share of their length."""
    if states.shape != expected.shape:
        return float("inf")
    expected = expected.float()
    distances = (states.to(expected) - expected).norm(dim=-1)
    return (distances / expected.norm(dim=-1).clamp(min=TINY)).max().item()


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode inside the block, and each module back after it."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


@contextmanager
def _without_autocast(model: nn.Module) -> Iterator[None]:
    """Take away the autocast that accelerate, and so a Trainer, puts around a model's `forward`,
    and put it back after the block."""
    forward = getattr(model, "forward", None)
    original = vars(model).get("_original_forward")
    if original is not None:
        model.forward = original
    try:
        yield
    finally:
        if original is not None:
            model.forward = forward
