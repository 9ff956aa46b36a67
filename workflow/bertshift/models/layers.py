"""A model's forward pass layer by layer: its hidden states, and single layers on given inputs."""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count

from torch import Tensor, nn
from transformers import PreTrainedModel

from bertshift.errors import UserError
from bertshift.models.attention import Edit, begin, editing
from bertshift.models.family import family_of, layers_of, removing, run


def read(
    model: PreTrainedModel, maps: bool = False, **inputs: Tensor | None
) -> tuple[list[Tensor], list[Tensor]]:
    """Run a forward pass and return its hidden states, [layers + 1] of [examples, tokens, width],
    and with `maps` its attention maps, [layers] of [examples, heads, query, key].

    The states are the input of each layer and the output of the last one, before a final norm, so
    that they are comparable.
    """
    all_states: list[Tensor] = []
    all_maps: list[Tensor] = []

    def append_states(_, states: Tensor) -> None:
        all_states.append(states)

    def append_maps(_, maps: Tensor) -> None:
        all_maps.append(maps)

    visit(model, append_states, append_maps if maps else None, **inputs)
    return all_states, all_maps


Visitor = Callable[[int, Tensor], None]


def visit(
    model: PreTrainedModel, states: Visitor, maps: Visitor | None = None, **inputs: Tensor | None
) -> None:
    """Run a forward pass and call the visitors with the values that `read` returns, as soon as
    they are computed. `states` gets (layer, states) from the embeddings, which are layer 0, on;
    `maps` gets (layer, maps) from layer 1 on."""
    layers, number = layers_of(model), count()
    last = None

    def visit_input(_, args: tuple) -> None:
        states(next(number), args[0])

    def keep_output(_, __, output: Tensor | tuple) -> None:
        nonlocal last
        last = first_of(output)

    def keep_input(_, args: tuple) -> None:
        nonlocal last
        last = args[0]

    hooks = [layer.register_forward_pre_hook(visit_input) for layer in dict.fromkeys(layers)]
    if layers:
        hooks.append(layers[-1].register_forward_hook(keep_output))
    elif norms := norms_of(model):
        hooks.append(norms[0].register_forward_pre_hook(keep_input))
    with removing(hooks), editing(model, _MapVisit(maps)):
        output = run(model, **inputs)
    states(len(layers), output.last_hidden_state if last is None else last)


class _MapVisit(Edit):
    """Calls a visitor, if there is one, with each layer's maps."""

    def __init__(self, visitor: Visitor | None):
        self.visitor = visitor

    def maps(self, layer: int, maps: Tensor, mask: Tensor | None) -> Tensor:
        if self.visitor:
            self.visitor(layer, maps)
        return maps


def norms_of(model: PreTrainedModel) -> list[nn.Module]:
    """List the modules between the last layer and the model's last hidden states: not the pooler,
    which reads these, nor its parts."""
    names = [name for name in family_of(model).after if name.split(".")[0] != "pooler"]
    return [model.get_submodule(name) for name in names]


def pooled(model: PreTrainedModel, hidden: Tensor) -> Tensor:
    """Apply a model's pooler to its last hidden states: [examples, width]. ALBERT's is a linear
    layer alone."""
    if isinstance(model.pooler, nn.Linear):
        return model.pooler_activation(model.pooler(hidden[:, 0]))
    return model.pooler(hidden)


def first_of(output: Tensor | tuple) -> Tensor:
    """Take a layer's states from its output, which in some families is a tuple."""
    return output if isinstance(output, Tensor) else output[0]


def with_feed_forward_of(
    layer: nn.Module, giver: nn.Module, attention_block: Sequence[str]
) -> nn.Module:
    """Make a layer of the `attention_block` of `layer` and all other parts of `giver`, a layer
    built alike."""
    mixed = copy.deepcopy(giver)
    for path in attention_block:
        parent, _, name = path.rpartition(".")
        setattr(mixed.get_submodule(parent), name, layer.get_submodule(path))
    return mixed


class Layers:
    """The layers of a model on one batch of inputs, to be run one by one. `first` is the input of
    layer 1.

    Layers get the other arguments, such as masks and positions, that the model passes for these
    inputs.
    """

    def __init__(self, model: PreTrainedModel, **inputs: Tensor | None):
        if getattr(getattr(model, "encoder", None), "conv", None) is not None:
            raise UserError(
                "single layers of a model with a convolution behind its first layer cannot be run;"
                " name another model."
            )
        self.model, self.modules = model, layers_of(model)
        self.tokens = inputs.get("attention_mask")
        with _recording_calls(model) as calls:
            run(model, **inputs)
        self.first: Tensor | None = calls[0][0] if calls else None
        # The arguments of each layer after the hidden states: (args, kwargs).
        self.arguments = [(args, kwargs) for _, args, kwargs in calls]

    @property
    def mask(self) -> Tensor | None:
        """The term added to the logits of attention, in layers built like BERT's."""
        args, kwargs = self.arguments[0]
        return kwargs.get("attention_mask", args[0] if args else None)

    def __call__(self, number: int, hidden: Tensor) -> Tensor:
        """Run layer `number`, counted from 1, on `hidden` [examples, tokens, width]."""
        return self.through(self.modules[number - 1], number, hidden)

    def through(self, module: nn.Module, number: int, hidden: Tensor) -> Tensor:
        """Run `module` in the place of layer `number`."""
        if not self.arguments:
            raise ValueError("a model without layers")
        args, kwargs = self.arguments[number - 1]
        begin(self.tokens)
        return first_of(module(hidden, *args, **kwargs))

    def after(self, hidden: Tensor) -> Tensor:
        """Compute the model's last hidden states from those of the last layer: a final norm, if
        there is one."""
        for norm in norms_of(self.model):
            hidden = norm(hidden)
        return hidden

    def pooled(self, hidden: Tensor) -> Tensor:
        """Apply the model's pooler to its last hidden states: [examples, width]."""
        return pooled(self.model, hidden)


@contextmanager
def _recording_calls(model: PreTrainedModel) -> Iterator[list[tuple]]:
    """Make layers return their input inside the block, and list their calls: (hidden states, args,
    kwargs)."""
    modules, tuples = dict.fromkeys(layers_of(model)), family_of(model).tuples
    calls = []

    def stub(hidden: Tensor, *args, **kwargs):
        calls.append((hidden, args, kwargs))
        return (hidden, None) if tuples else hidden

    for module in modules:
        module.forward = stub
    try:
        yield calls
    finally:
        for module in modules:
            del module.forward
