"""The size of an encoder, and the memory that its training needs."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from bertshift.errors import UserError
from bertshift.files import read_object
from bertshift.naming import Model, parse_model, parse_variant, shape_of

# Defaults for published checkpoints: the width of a head, and about the number of word pieces.
HEAD_WIDTH, VOCABULARY = 64, 30_522


@dataclass(frozen=True)
class EncoderShape:
    layers: int
    heads: int
    width: int
    vocabulary: int

    @property
    def parameters(self) -> float:
        return 12 * self.width**2 * self.layers + (self.vocabulary + 512) * self.width

    def operations(self, number: float, length: float) -> float:
        """Count the floating-point operations of a forward pass of this number of inputs of this
        length."""
        return number * length * self.layers * (24 * self.width**2 + 4 * length * self.width)

    def training_bytes(self, tokens: float, length: float) -> float:
        """Estimate the bytes that training holds, with this number of tokens in a batch of inputs
        of this length.

        These are the states of a batch and seven times the model: weights, gradients, two of the
        optimiser's, and where norms are logged the start, the step before, and a difference.
        """
        states = tokens * self.layers * 2 * (34 * self.width + 5 * self.heads * length)
        return 28 * self.parameters + states


def layers_of(model: Model, config: Mapping) -> int:
    """Count the layers of a model: those of its checkpoint, or those that `.keep5` names."""
    keep = model.variant("keep")
    return int(keep["layers"]) if keep else shape_of(config["bases"][model.base])["layers"]


def check_layers(model: Model, config: Mapping, path: str) -> None:
    """Raise UserError where the result at `path` is about layers and the model has none."""
    if layers_of(model, config) == 0:
        raise UserError(f"{path}: '{model}' has no layer; name one that keeps a layer.")


def shape_of_model(
    name: str, config: Mapping, variants: Iterable[str] | None = None
) -> EncoderShape:
    """Return the shape of a model's encoder, from a checkpoint on disk or else as published.

    variants: replace those in the name."""
    model = parse_model(name, config)
    if variants:
        model = replace(model, variants=tuple(map(parse_variant, variants)))
    base = shape_of(config["bases"][model.base])
    layers, heads = layers_of(model, config), base["heads"]
    folders = [f"results/pretrained/{model.base}/init1"]
    folders += [entry["path"] for entry in base.get("checkpoints", []) if "path" in entry]
    for folder in folders:
        saved = _read_if_present(f"{folder}/config.json")
        counts = saved.get("num_hidden_layers"), saved.get("num_attention_heads")
        if counts == (base["layers"], heads):
            return EncoderShape(layers, heads, saved["hidden_size"], saved["vocab_size"])
    width = base.get("width", HEAD_WIDTH * heads)
    vocabulary = config["vocabularies"].get(base["vocabulary"], {}).get("size", VOCABULARY)
    return EncoderShape(layers, heads, width, vocabulary)


def _read_if_present(path: str) -> dict:
    """Read a JSON file that may exist already; empty if it is missing or damaged."""
    with suppress(FileNotFoundError, UserError):  # the job that reads it will report an error
        return read_object(path)
    return {}
