"""Plant a change of known place and size in an encoder (`bertshift.edits`).

Noise in a tensor W is `size |W| G / |G|`, G drawn from a standard normal distribution; the norms
are L2 norms over the whole tensor, or over the rows of it that are changed. Blocks are changed in
the matrices and biases of their projections; norms stay as they are. A change of rank one is
`size |W| u v'`, with random unit vectors u and v (as editing methods make: Meng et al. 2022). No
published measure: ours.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.pytorch_utils import Conv1D

from bertshift.edits import Edit
from bertshift.errors import UserError
from bertshift.models.family import (
    family_of,
    heads_of,
    matrix,
    output_columns,
    own_layers,
    projections,
)
from bertshift.models.noise import noise_like
from bertshift.models.tokenizer import word_pieces
from bertshift.seeds import seed_from

PROJECTIONS = (nn.Linear, Conv1D)


@torch.no_grad()
def plant(
    model: PreTrainedModel, edit: Edit, seed: int, tokenizer: PreTrainedTokenizerBase | None = None
) -> None:
    """Make the change in `model`, a bare encoder. `tokenizer` cuts the words of an edit of kind
    words.

    UserError where the model has no such place of its own: layers that share weights, heads that
    share keys, blocks or projections that are not known.
    """
    match edit.kind:
        case "head":
            parts = projections(model, edit.layer, edit.head, _describe(edit))
            for name in ("query", "key"):
                weights, bias = parts[name]
                _add_noise(weights, edit.size, seed_from(seed, name, "weight"))
                if bias is not None:
                    _add_noise(bias, edit.size, seed_from(seed, name, "bias"))
        case "attention" | "feed_forward":
            _add_noise_to_block(model, edit.layer, edit.kind, edit, seed)
        case "rank_one":
            _add_rank_one(_output(_block(model, edit.layer, "feed_forward", edit)), edit, seed)
        case "words":
            for piece in _pieces(edit.words, tokenizer):
                weights = model.get_input_embeddings().weight[piece]
                _add_noise(weights, edit.size, seed_from(seed, "word", piece))
        case "all_layers":
            for layer in range(1, model.config.num_hidden_layers + 1):
                for block in ("attention", "feed_forward"):
                    _add_noise_to_block(model, layer, block, edit, seed)
        case "heads_reordered":
            _reorder_heads(model, edit, seed)
        case "units_reordered":
            _reorder_units(_block(model, edit.layer, "feed_forward", edit), edit, seed)


def _describe(edit: Edit) -> str:
    return f"a change of kind {edit.kind}"


def _add_noise(tensor: Tensor, size: float, seed: int) -> None:
    """Add noise of `size` times the norm of a tensor, which may be a view of some rows."""
    before = tensor.double().cpu().numpy()
    noise = noise_like(size * before, seed)
    tensor.copy_(torch.from_numpy(before + noise))


def _add_noise_to_block(
    model: PreTrainedModel, layer: int, block: str, edit: Edit, seed: int
) -> None:
    for name, projection in _block(model, layer, block, edit).items():
        for kind, tensor in projection.named_parameters(recurse=False):
            _add_noise(tensor, edit.size, seed_from(seed, layer, name, kind))


def _block(
    model: PreTrainedModel, layer: int, block: str, edit: Edit
) -> dict[str, nn.Linear | Conv1D]:
    """Find the projections of a layer's attention or feed-forward block, by their paths in it."""
    module = own_layers(model, _describe(edit))[layer - 1]
    attention_block = family_of(model).attention_block
    if not attention_block:
        raise UserError(
            f"{_describe(edit)} is not possible: the two blocks of a layer of a"
            f" {model.config.model_type} model are not known."
        )
    beginnings = tuple(f"{path}." for path in attention_block)
    return {
        name: part
        for name, part in module.named_modules()
        if isinstance(part, PROJECTIONS)
        and f"{name}.".startswith(beginnings) == (block == "attention")
    }


def _output(block: dict[str, nn.Linear | Conv1D]) -> nn.Linear | Conv1D:
    """Find the projection of a feed-forward block that adds to the hidden states: the last."""
    return list(block.values())[-1]


def _add_rank_one(projection: nn.Linear | Conv1D, edit: Edit, seed: int) -> None:
    weights = matrix(projection)
    before = weights.double().cpu().numpy()
    left, right = (
        noise_like(np.ones(count) / np.sqrt(count), seed_from(seed, side))
        for side, count in zip(("left", "right"), before.shape, strict=True)
    )
    change = edit.size * np.linalg.norm(before) * np.outer(left, right)
    weights.copy_(torch.from_numpy(before + change))


def _pieces(words: Sequence[str], tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """List the pieces of words at the start of a text and within one, each once."""
    both_forms = word_pieces(tokenizer, [[word, word] for word in words])
    return sorted({piece for forms in both_forms for form in forms for piece in form})


def _reorder_heads(model: PreTrainedModel, edit: Edit, seed: int) -> None:
    what, heads = _describe(edit), heads_of(model)
    _check_heads_alike(model, edit)
    parts = [projections(model, edit.layer, head, what) for head in range(1, heads + 1)]
    order = _another_order(heads, seed)
    for name in ("query", "key", "value"):
        weights, biases = zip(*(part[name] for part in parts), strict=True)
        _reorder(weights, order)
        if biases[0] is not None:
            _reorder(biases, order)
    columns = [output_columns(model, edit.layer, head, what) for head in range(1, heads + 1)]
    _reorder(columns, order)


def _check_heads_alike(model: PreTrainedModel, edit: Edit) -> None:
    """Raise UserError where something outside the four projections depends on a head's number:
    biases of positions that all layers share, as MPNet has, or further projections."""
    family = family_of(model)
    known = {family.query, family.key, family.value, family.fused, family.out}
    others = _block(model, edit.layer, "attention", edit).keys() - known
    shared = [
        name
        for name, weight in model.named_parameters()
        if family.group(name) == "shared" and weight.shape[-1] == heads_of(model)
    ]
    if others or shared:
        part = min(others) if others else shared[0]
        raise UserError(
            f"{_describe(edit)} is not possible: {part} of a {model.config.model_type} model"
            " depends on the number of a head."
        )


def _reorder_units(block: dict[str, nn.Linear | Conv1D], edit: Edit, seed: int) -> None:
    output = _output(block)
    inputs = [projection for projection in block.values() if projection is not output]
    units = matrix(output).shape[1]
    order = _another_order(units, seed)
    for projection in inputs:
        weights = matrix(projection)
        # A gate and its values may be one projection, one above the other.
        for start in range(0, len(weights), units):
            rows = slice(start, start + units)
            _reorder(weights[rows], order)
            if projection.bias is not None:
                _reorder(projection.bias[rows], order)
    _reorder(matrix(output).T, order)


def _another_order(count: int, seed: int) -> np.ndarray:
    """Draw an order of `count` things in which none is where it was: one cycle through all."""
    cycle = np.random.default_rng(seed).permutation(count)
    order = np.empty(count, int)
    order[cycle] = np.roll(cycle, 1)
    return order


def _reorder(parts: Tensor | Sequence[Tensor], order: np.ndarray) -> None:
    """Give each part the values of the part that `order` names."""
    values = [part.clone() for part in parts]
    for part, source in zip(parts, order, strict=True):
        part.copy_(values[source])
