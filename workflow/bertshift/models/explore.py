"""A family without a row: what its modules and one forward pass tell of it."""

import inspect

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from bertshift.errors import UserError
from bertshift.models.attention import Record, editing
from bertshift.models.families import Family

TOKENS = 5
TYPES = "token_type_ids"


def explore(model: PreTrainedModel) -> Family:
    """Find where the layers are, which projection reads the heads' contexts, what comes after the
    layers, whether a token sees later ones, whether the model reads which text a token is of, and
    how many positions it has. UserError where the layers are not in one list, the model needs more
    than words, or attention cannot be recorded."""
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
    layers, record = lists[0], Record("maps", "context")
    calls: list[str] = []
    inputs: dict[str, Tensor] = {}
    lookups = _Lookups()
    outputs: list[bool] = []

    def watch(name: str, module: nn.Module) -> None:
        def called(_, given: tuple) -> None:
            calls.append(name)
            if given and isinstance(module, nn.Linear | Conv1D):
                inputs.setdefault(name, given[0])

        hooks.append(module.register_forward_pre_hook(called))

    hooks: list = []
    for name, module in model.named_modules():
        if name and next(module.parameters(recurse=False), None) is not None:
            watch(name, module)
    first = model.get_submodule(f"{layers}.0")
    hooks.append(
        first.register_forward_hook(lambda _, __, found: outputs.append(isinstance(found, tuple)))
    )
    given = {"input_ids": _words(model)}
    if TYPES in inspect.signature(model.forward).parameters:
        given[TYPES] = torch.zeros_like(given["input_ids"])
    try:
        with torch.no_grad(), editing(model, record, Family(layers)), lookups:
            model(**given)
    except Exception as error:  # each family has its own
        lacking = (
            " It may need pad_token_id in its config.json."
            if model.config.pad_token_id is None
            else ""
        )
        raise UserError(
            f"'{kind}' models are not known here, and this one does not run on words alone"
            f" ({error}).{lacking}"
        ) from error
    finally:
        for hook in hooks:
            hook.remove()
    maps, contexts = record.kept["maps"], record.kept["context"]
    if len(maps) != count:
        raise UserError(
            f"'{kind}' models are not known here, and their attention cannot be recorded: it was"
            f" seen {len(maps)} times in {count} layers."
        )
    own = [name for name in calls if name.startswith(f"{layers}.")]
    begin, end = calls.index(own[0]), len(calls) - calls[::-1].index(own[-1])
    context = contexts[0].transpose(1, 2).flatten(2)
    readers = [
        name.removeprefix(f"{layers}.0.")
        for name, given in inputs.items()
        if name.startswith(f"{layers}.0.")
        and given.shape == context.shape
        and torch.equal(given, context)
    ]
    return Family(
        layers,
        out=readers[0] if readers else "",
        shared=tuple(name for name in calls[begin:end] if name not in own),
        after=tuple(calls[end:]),
        causal=bool((maps[0].triu(1) == 0).all()),
        tuples=outputs[0],
        segments=_reads_segments(model, given.get(TYPES), lookups),
        positions=_positions(lookups),
        without_layers=False,  # which nothing could be found out about
    )


class _Lookups(TorchFunctionMode):
    """Keeps what is looked up in tables of vectors inside the block: (numbers, table)."""

    def __init__(self):
        super().__init__()
        self.found: list[tuple[Tensor, Tensor]] = []

    def __torch_function__(self, function, _, given=(), named=None):
        if function is F.embedding:
            self.found.append(given[:2])
        return function(*given, **(named or {}))


def _words(model: PreTrainedModel) -> Tensor:
    """Choose words that are neither padding nor numbered one after the other, as positions are."""
    words = [number for number in range(1, TOKENS + 2) if number != model.config.pad_token_id][
        :TOKENS
    ]
    return torch.tensor([words[::-1]], device=model.device) % model.config.vocab_size


def _reads_segments(
    model: PreTrainedModel, types: Tensor | None, lookups: _Lookups
) -> bool | None:
    """Tell whether the types of tokens are looked up in a table of their own with two rows or
    more; None where a model takes them and looks them up nowhere."""
    if types is None:
        return False
    words = model.get_input_embeddings().weight
    tables = [table for ids, table in lookups.found if ids.data_ptr() == types.data_ptr()]
    if not tables:
        return None
    # Decoders that are built as GPT-2 would look them up among the words, and are trained without.
    return any(table is not words and len(table) > 1 for table in tables)


def _positions(lookups: _Lookups) -> int:
    """Count the rows of a table of positions from the first token's on; 0 where there is no such
    table."""
    for ids, table in lookups.found:
        first, *_ = numbers = ids.flatten().tolist()
        if numbers == [*range(first, first + TOKENS)]:
            return len(table) - first
    return 0
