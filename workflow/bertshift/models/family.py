"""The parts of a model, found by the row of its family in `families`, or else by `explore`."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from bertshift.errors import UserError
from bertshift.models.families import FAMILIES, ONE_TYPE, Family


def family_of(model: PreTrainedModel) -> Family:
    """Return the row of the model's family, or the row that `explore` finds, which is stored in
    `model.family`. A stand-in for a model may have this attribute from the start."""
    family = getattr(model, "family", None)
    if isinstance(family, Family):
        return family
    if model.config.model_type in FAMILIES:
        return FAMILIES[model.config.model_type]
    from bertshift.models.explore import explore

    model.family = explore(model)
    return model.family


def layers_of(model: PreTrainedModel) -> list[nn.Module]:
    """List the layers from the first to the last. ALBERT has fewer than it runs: a layer is listed
    as often as it runs."""
    layers = list(model.get_submodule(family_of(model).layers))
    count = model.config.num_hidden_layers
    return [layers[number * len(layers) // count] for number in range(count)]


def own_layers(model: PreTrainedModel, what: str) -> list[nn.Module]:
    """List the layers of a model whose layers have weights of their own. UserError, saying that
    `what` is not possible, for a model that runs one layer several times."""
    layers = layers_of(model)
    if len({*layers}) < len(layers):
        raise UserError(
            f"{what} is not possible: this {model.config.model_type} model runs one layer"
            f" {len(layers)} times; name a model whose layers have weights of their own."
        )
    return layers


def matrix(projection: nn.Module) -> Tensor:
    """Return the weights [out, in] of a projection; GPT-2 stores them transposed."""
    return projection.weight.T if isinstance(projection, Conv1D) else projection.weight


def projections(
    model: PreTrainedModel, layer: int, head: int, what: str
) -> dict[str, tuple[Tensor, Tensor | None]]:
    """Find the projections of a head: {query, key, value: (its rows of the weights, its part of
    the bias)}.

    layer, head: both count from 1
    what: names in an error what is not possible

    UserError where a projection is not known or not this head's alone.
    """
    family, kind, width = family_of(model), model.config.model_type, head_width(model)
    module = own_layers(model, what)[layer - 1]
    if not (family.query or family.fused):
        raise UserError(
            f"{what} is not possible: which weights of a {kind} model belong to a head is not"
            " known."
        )
    # A model with fewer heads of keys than heads has this key in its configuration.
    key_heads = getattr(model.config, "num_key_value_heads", None) or heads_of(model)
    if key_heads < heads_of(model):
        raise UserError(
            f"{what} is not possible: in this {kind} model one head's keys and values serve others"
            " too."
        )
    if not family.heads_apart:
        raise UserError(
            f"{what} is not possible: a norm over all heads of this {kind} model would change the"
            " others too."
        )
    parameters = {}
    for number, name in enumerate(("query", "key", "value")):
        projection = module.get_submodule(getattr(family, name) or family.fused)
        if not family.fused:
            block = head - 1
        elif family.order == "head,qkv":
            block = (head - 1) * 3 + number
        else:  # all heads' queries, then all keys, then all values
            block = number * heads_of(model) + head - 1
        rows = slice(block * width, (block + 1) * width)
        bias = None if projection.bias is None else projection.bias[rows]
        parameters[name] = (matrix(projection)[rows], bias)
    return parameters


def output_columns(model: PreTrainedModel, layer: int, head: int, what: str) -> Tensor:
    """Find the columns [width, width of a head] of a layer's output projection that read a head,
    both counted from 1. UserError, saying that `what` is not possible, where the projection is not
    known."""
    family, width = family_of(model), head_width(model)
    if not family.out:
        raise UserError(
            f"{what} is not possible: the output projection of a {model.config.model_type} model"
            " is not known."
        )
    projection = layers_of(model)[layer - 1].get_submodule(family.out)
    return matrix(projection)[:, (head - 1) * width : head * width]


def heads_of(model: PreTrainedModel) -> int:
    return model.config.num_attention_heads


def head_width(model: PreTrainedModel) -> int:
    return getattr(model.config, "head_dim", None) or model.config.hidden_size // heads_of(model)


def longest_input(model: PreTrainedModel) -> int:
    """Count the tokens, special ones included, that the model has positions for."""
    config, family = model.config, family_of(model)
    if family.positions:
        return family.positions
    before = config.pad_token_id + 1 if family.positions_from_padding else 0
    return config.max_position_embeddings - before


def run(
    model: PreTrainedModel,
    input_ids: Tensor,
    attention_mask: Tensor | None = None,
    token_type_ids: Tensor | None = None,
):
    """Run the model and return its output. Only models that read them get `token_type_ids`.
    UserError for two texts where it is not known whether the model reads them."""
    family, options = family_of(model), {}
    if reads_segments(model):
        options["token_type_ids"] = token_type_ids
    elif family.segments is None and token_type_ids is not None and token_type_ids.any():
        raise UserError(
            f"how a {model.config.model_type} model reads which text a token is of is not known,"
            " so it cannot read pairs; write single texts, or name another model."
        )
    if family.causal:
        options["use_cache"] = False
    return model(input_ids=input_ids, attention_mask=attention_mask, **options)


def reads_segments(model: PreTrainedModel) -> bool:
    """Return whether the model reads the segments of tokens: it has more than one type of tokens,
    and its tokenizer writes them."""
    config = model.config
    types = 1 if getattr(config, ONE_TYPE, False) else getattr(config, "type_vocab_size", 2)
    return bool(family_of(model).segments) and types > 1


def needs_all_tokens(encoder: PreTrainedModel, what: str) -> None:
    """Raise UserError for a decoder, in which a word does not see the words after it."""
    if family_of(encoder).causal:
        raise UserError(
            f"{what} needs an encoder: in a {encoder.config.model_type} model a word has not read"
            " the words behind it."
        )


@contextmanager
def removing(hooks: Iterable[RemovableHandle]) -> Iterator[None]:
    """Remove the hooks at the end of the block."""
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def groups(model: PreTrainedModel) -> dict[str, list[nn.Parameter]]:
    """Group the model's parameters by part, in the order of the model."""
    parameters: dict[str, list[nn.Parameter]] = {}
    for name, weight in model.named_parameters():
        parameters.setdefault(family_of(model).group(name), []).append(weight)
    return parameters


def word_vectors(model: PreTrainedModel) -> Tensor:
    """Compute the vectors [vocabulary, width] of the model's words before positions are added:
    embeddings, normed and widened where the model does so."""
    vectors = model.get_input_embeddings().weight.detach()
    modules = [
        module
        for name, module in model.named_modules()
        if family_of(model).group(f"{name}.") == "embeddings"
    ]
    for kind in (nn.LayerNorm, nn.Linear):
        for module in modules:
            if isinstance(module, kind) and module.weight.shape[-1] == vectors.shape[-1]:
                vectors = module(vectors)
                break
    return vectors.detach()
