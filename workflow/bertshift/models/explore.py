"""Finding the row of a family that has none, from a model's modules and one forward pass."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from bertshift.errors import UserError
from bertshift.models.attention import Record, editing
from bertshift.models.families import Family
from bertshift.models.family import removing

TOKENS = 5
TYPES = "token_type_ids"


def explore(model: PreTrainedModel) -> Family:
    """Find where the layers are, which projection reads the heads' contexts, which modules come
    after the layers, whether a token sees later ones, whether the model reads the segments of
    tokens, and how many positions it has. UserError where the layers are not in one list, the
    model needs more than words, or attention cannot be recorded."""
    kind, count = model.config.model_type, model.config.num_hidden_layers
    lists = [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.ModuleList) and len(module) == count
    ]
    if not lists or not count:
        raise UserError(
            f"'{kind}' models are not known here, and no list of {count} layers is found in this"
            " one."
        )
    layers = lists[0]
    record, lookups = Record("maps", "context"), _Lookups()
    arguments = {"input_ids": _choose_words(model)}
    if TYPES in inspect.signature(model.forward).parameters:
        arguments[TYPES] = torch.zeros_like(arguments["input_ids"])
    try:
        with (
            torch.no_grad(),
            editing(model, record, Family(layers)),
            lookups,
            _tracing_pass(model, f"{layers}.0") as trace,
        ):
            model(**arguments)
    except Exception as error:  # each family has its own
        advice = ""
        if model.config.pad_token_id is None:
            advice = " It may need pad_token_id in its config.json."
        raise UserError(
            f"'{kind}' models are not known here, and this one does not run on words alone"
            f" ({error}).{advice}"
        ) from error
    maps, contexts = record.kept["maps"], record.kept["context"]
    if len(maps) != count:
        raise UserError(
            f"'{kind}' models are not known here, and their attention cannot be recorded: it was"
            f" seen {len(maps)} times in {count} layers."
        )
    calls = trace.calls
    inside = [name.startswith(f"{layers}.") for name in calls]
    begin = inside.index(True)
    end = len(calls) - inside[::-1].index(True)
    between = calls[begin:end]
    return Family(
        layers,
        out=_find_reader(trace.inputs, contexts[0], f"{layers}.0."),
        shared=tuple(name for name in between if not name.startswith(f"{layers}.")),
        after=tuple(calls[end:]),
        causal=bool((maps[0].triu(1) == 0).all()),
        tuples=trace.tuples,
        segments=_reads_segments(model, arguments.get(TYPES), lookups),
        positions=_count_positions(lookups),
        without_layers=False,  # one pass cannot show whether a model without layers runs
    )


@dataclass
class _Trace:
    """A forward pass: the modules with parameters in the order of their calls, the first input of
    each projection, and whether the first layer returned a tuple."""

    calls: list[str] = field(default_factory=list)
    inputs: dict[str, Tensor] = field(default_factory=dict)
    tuples: bool = False


@contextmanager
def _tracing_pass(model: PreTrainedModel, first_layer: str) -> Iterator[_Trace]:
    trace = _Trace()

    def record_call(name: str, module: nn.Module, inputs: tuple) -> None:
        trace.calls.append(name)
        if inputs and isinstance(module, nn.Linear | Conv1D):
            trace.inputs.setdefault(name, inputs[0])

    def record_output(_, __, output: Tensor | tuple) -> None:
        trace.tuples = isinstance(output, tuple)

    hooks = [model.get_submodule(first_layer).register_forward_hook(record_output)]
    for name, module in model.named_modules():
        if name and next(module.parameters(recurse=False), None) is not None:
            hooks.append(module.register_forward_pre_hook(partial(record_call, name)))
    with removing(hooks):
        yield trace


def _find_reader(inputs: dict[str, Tensor], context: Tensor, first_layer: str) -> str:
    """Find the projection of the first layer that reads the heads' context; empty if none does."""
    context = context.transpose(1, 2).flatten(2)
    for name, tensor in inputs.items():
        if name.startswith(first_layer) and torch.equal(tensor, context):
            return name.removeprefix(first_layer)
    return ""


class _Lookups(TorchFunctionMode):
    """Records lookups in tables of vectors inside the block: (numbers, table)."""

    def __init__(self):
        super().__init__()
        self.pairs: list[tuple[Tensor, Tensor]] = []

    def __torch_function__(self, function, _, args=(), kwargs=None):
        if function is F.embedding:
            self.pairs.append(args[:2])
        return function(*args, **(kwargs or {}))


def _choose_words(model: PreTrainedModel) -> Tensor:
    """Choose words that are neither padding nor numbered one after the other, as positions are."""
    words = [number for number in range(1, TOKENS + 2) if number != model.config.pad_token_id]
    words = words[:TOKENS][::-1]
    return torch.tensor([words], device=model.device) % model.config.vocab_size


def _reads_segments(
    model: PreTrainedModel, types: Tensor | None, lookups: _Lookups
) -> bool | None:
    """Return whether the model looks up the types of tokens in a separate table with two rows or
    more; None where a model takes them and looks them up nowhere."""
    if types is None:
        return False
    words = model.get_input_embeddings().weight
    tables = [table for ids, table in lookups.pairs if ids.data_ptr() == types.data_ptr()]
    if not tables:
        return None
    # Decoders built like GPT-2 would look them up among the words, and are trained without types.
    return any(table is not words and len(table) > 1 for table in tables)


def _count_positions(lookups: _Lookups) -> int:
    """Count the rows of a table of positions from the first token's on; 0 where there is no such
    table."""
    for ids, table in lookups.pairs:
        numbers = ids.flatten().tolist()
        first = numbers[0]
        if numbers == list(range(first, first + TOKENS)):
            return len(table) - first
    return 0
