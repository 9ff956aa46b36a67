"""A model's forward pass layer by layer: its hidden states, and single layers on inputs of one's
own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from torch import Tensor, nn
from transformers import PreTrainedModel

from bertshift.errors import UserError
from bertshift.models.attention import Edit, begin, editing
from bertshift.models.family import family_of, layers_of, run


def read(
    model: PreTrainedModel, maps: bool = False, **inputs: Tensor | None
) -> tuple[list[Tensor], list[Tensor]]:
    """Run a forward pass and keep its hidden states and, if asked, attention maps: what goes into
    each layer and what the last one puts out, [layers + 1] of [examples, tokens, width], and
    [layers] of [examples, heads, query, key].

    The last states are those before a final norm, so that they compare with the others.
    """
    states: list[Tensor] = []
    found: list[Tensor] = []
    visit(
        model,
        lambda _, one: states.append(one),
        (lambda _, one: found.append(one)) if maps else None,
        **inputs,
    )
    return states, found


Visitor = Callable[[int, Tensor], None]


def visit(
    model: PreTrainedModel, states: Visitor, maps: Visitor | None = None, **inputs: Tensor | None
) -> None:
    """Run a forward pass and hand on what `read` would keep, as soon as it is known. `states` gets
    (layer, states) from the embeddings, which are layer 0, on; `maps` gets (layer, maps) from
    layer 1 on."""
    layers, number = layers_of(model), count()
    last: list[Tensor] = []

    def keep(_, __, found: Tensor | tuple) -> None:
        last[:] = [first_of(found)]

    hooks = [
        layer.register_forward_pre_hook(lambda _, given: states(next(number), given[0]))
        for layer in dict.fromkeys(layers)
    ]
    if layers:
        hooks.append(layers[-1].register_forward_hook(keep))
    elif norms := norms_of(model):
        hooks.append(norms[0].register_forward_pre_hook(lambda _, given: last.append(given[0])))
    try:
        with editing(model, _Shown(maps)):
            output = run(model, **inputs)
    finally:
        for hook in hooks:
            hook.remove()
    states(len(layers), last[0] if last else output.last_hidden_state)


class _Shown(Edit):
    """Shows each layer's maps to a visitor, if there is one."""

    def __init__(self, visitor: Visitor | None):
        self.visitor = visitor

    def maps(self, layer: int, maps: Tensor, mask: Tensor | None) -> Tensor:
        if self.visitor:
            self.visitor(layer, maps)
        return maps


def norms_of(model: PreTrainedModel) -> list[nn.Module]:
    """Find what stands between the last layer and the model's last hidden states."""
    return [model.get_submodule(name) for name in family_of(model).after if name != "pooler"]


def first_of(output: Tensor | tuple) -> Tensor:
    """Take a layer's states from its output, which in some families is a tuple."""
    return output if isinstance(output, Tensor) else output[0]


class Layers:
    """The layers of a model on one batch of inputs, to be run one by one: `first` goes into layer
    1.

    What else a layer takes, such as masks and positions, is what the model gives it for these
    inputs.
    """

    def __init__(self, model: PreTrainedModel, **inputs: Tensor | None):
        if getattr(getattr(model, "encoder", None), "conv", None) is not None:
            raise UserError(
                "single layers of a model with a convolution behind its first layer cannot be run;"
                " name another model."
            )
        self.model, self.modules, self.given = model, layers_of(model), []
        self.tokens = inputs.get("attention_mask")
        with _passed_through(model, self.given):
            run(model, **inputs)
        self.first: Tensor | None = self.given[0][0] if self.given else None
        # For each layer, what it is called with beside the hidden states.
        self.given = [(more, named) for _, more, named in self.given]

    @property
    def mask(self) -> Tensor | None:
        """The term added to the logits of attention, in layers built as BERT's."""
        more, named = self.given[0]
        return named.get("attention_mask", more[0] if more else None)

    def __call__(self, number: int, hidden: Tensor) -> Tensor:
        """Run layer `number`, counted from 1, on `hidden` [examples, tokens, width]."""
        return self.through(self.modules[number - 1], number, hidden)

    def through(self, module: nn.Module, number: int, hidden: Tensor) -> Tensor:
        """Run `module` as if it stood in the place of layer `number`."""
        if not self.given:
            raise ValueError("a model without layers")
        more, named = self.given[number - 1]
        begin(self.tokens)
        return first_of(module(hidden, *more, **named))

    def after(self, hidden: Tensor) -> Tensor:
        """Compute the model's last hidden states from those of the last layer: a final norm, if
        there is one."""
        for norm in norms_of(self.model):
            hidden = norm(hidden)
        return hidden

    def pooled(self, hidden: Tensor) -> Tensor:
        """Apply the model's pooler to its last hidden states: [examples, width]. ALBERT's is a
        linear layer alone."""
        pooler = self.model.pooler
        if isinstance(pooler, nn.Linear):
            return self.model.pooler_activation(pooler(hidden[:, 0]))
        return pooler(hidden)


@contextmanager
def _passed_through(model: PreTrainedModel, given: list) -> Iterator[None]:
    """Make layers put out, inside the block, what goes into them; `given` gets all that each is
    called with."""
    modules, tuples = dict.fromkeys(layers_of(model)), family_of(model).tuples

    def stub(hidden: Tensor, *more, **named):
        given.append((hidden, more, named))
        return (hidden, None) if tuples else hidden

    for module in modules:
        module.forward = stub
    try:
        yield
    finally:
        for module in modules:
            del module.forward
