"""A family without a row: what its modules and one forward pass tell of it."""

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from bertshift.errors import UserError
from bertshift.models.attention import Record, editing
from bertshift.models.families import Family

TOKENS = 5


def explore(model: PreTrainedModel) -> Family:
    """Find where the layers are, which projection reads the heads' contexts, what comes after the layers, and
    whether a token sees later ones. UserError where the layers are not in one list, or attention cannot be
    recorded."""
    kind, count = model.config.model_type, model.config.num_hidden_layers
    lists = [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.ModuleList) and len(module) == count
    ]
    if not lists or not count:
        raise UserError(
            f"'{kind}' models are not known here, and no list of {count} layers is found in this one."
        )
    layers, record = lists[0], Record("maps", "context")
    calls: list[str] = []
    inputs: dict[str, Tensor] = {}
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
    hooks.append(first.register_forward_hook(lambda _, __, found: outputs.append(isinstance(found, tuple))))
    ids = torch.arange(1, TOKENS + 1, device=model.device)[None] % model.config.vocab_size
    try:
        with torch.no_grad(), editing(model, record, Family(layers)):
            model(input_ids=ids)
    finally:
        for hook in hooks:
            hook.remove()
    maps, contexts = record.kept["maps"], record.kept["context"]
    if len(maps) != count:
        raise UserError(
            f"'{kind}' models are not known here, and their attention cannot be recorded: it was seen {len(maps)} times in "
            f"{count} layers."
        )
    own = [name for name in calls if name.startswith(f"{layers}.")]
    begin, end = calls.index(own[0]), len(calls) - calls[::-1].index(own[-1])
    context = contexts[0].transpose(1, 2).flatten(2)
    readers = [
        name.removeprefix(f"{layers}.0.") for name, given in inputs.items()
        if name.startswith(f"{layers}.0.") and given.shape == context.shape and torch.equal(given, context)
    ]  # fmt: skip
    return Family(
        layers,
        out=readers[0] if readers else "",
        shared=tuple(name for name in calls[begin:end] if name not in own),
        after=tuple(calls[end:]),
        causal=bool((maps[0].triu(1) == 0).all()),
        tuples=outputs[0],
        without_layers=False,  # which nothing could be found out about
    )
