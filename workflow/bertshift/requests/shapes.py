"""How large an encoder is: what its training holds in memory."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from bertshift.errors import UserError
from bertshift.files import read_object
from bertshift.naming import parse_model, parse_variant, shape_of

# Defaults for published checkpoints: all BERTs have heads of 64, and about so many word pieces.
HEAD_WIDTH, VOCABULARY = 64, 30_522
# Counts in a checkpoint's config.json, by the configuration's names.
COUNTS = {"layers": "num_hidden_layers", "heads": "num_attention_heads"}


@dataclass(frozen=True)
class Shape:
    layers: int
    heads: int
    width: int
    vocabulary: int

    @property
    def parameters(self) -> float:
        return 12 * self.width**2 * self.layers + (self.vocabulary + 512) * self.width

    def operations(self, number: float, length: float) -> float:
        """Count the floating-point operations of so many inputs of this length that pass through
        the encoder."""
        return number * length * self.layers * (24 * self.width**2 + 4 * length * self.width)

    def training_bytes(self, tokens: float, length: float) -> float:
        """Estimate the bytes that training holds, with so many tokens in a batch of inputs of this
        length.

        These are the states of a batch and seven times the model: weights, gradients, two of the
        optimiser's, and where norms are logged the start, the step before, and a difference.
        """
        states = tokens * self.layers * 2 * (34 * self.width + 5 * self.heads * length)
        return 28 * self.parameters + states


def shape_of_model(name: str, config: Mapping, variants: Iterable[str] | None = None) -> Shape:
    """Return the shape of a model's encoder: of a checkpoint on disk as it is, of others as
    published.

    variants: in the place of those in the name."""
    model = parse_model(name, config)
    base = shape_of(config["bases"][model.base])
    texts = variants or [variant.text for variant in model.variants]
    kept = [variant for variant in map(parse_variant, texts) if variant.kind == "keep"]
    layers = int(kept[0]["layers"]) if kept else base["layers"]
    own = [
        checkpoint["path"] for checkpoint in base.get("checkpoints", []) if "path" in checkpoint
    ]
    for folder in [f"results/pretrained/{model.base}/init1", *own]:
        made = _json(f"{folder}/config.json")
        if all(made.get(key) == base[count] for count, key in COUNTS.items()):
            return Shape(layers, base["heads"], made["hidden_size"], made["vocab_size"])
    width = base.get("width", HEAD_WIDTH * base["heads"])
    vocabulary = config["vocabularies"].get(base["vocabulary"], {}).get("size", VOCABULARY)
    return Shape(layers, base["heads"], width, vocabulary)


def _json(path: str) -> dict:
    """Read a file that may be there already; empty where it tells nothing."""
    with suppress(FileNotFoundError, UserError):  # the job that reads it will say what is wrong
        return read_object(path)
    return {}
