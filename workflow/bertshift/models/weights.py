"""Weights of a model folder, read without torch, which takes seconds to import."""

import json
import re
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from bertshift.errors import UserError
from bertshift.models.families import FAMILIES

# Names of what predicts words, in any family; a decoder's may be its embeddings alone.
HEADS = re.compile(
    r"(^|\.)(predictions|lm_head|lm_predictions|generator_predictions|vocab_transform|head|decoder)\."
)


def has_no_head(folder: Path) -> bool:
    """Whether the weights in `folder` surely hold an encoder alone, without the head that it was pretrained with. False
    where that cannot be told: no weights yet, another file than safetensors, a decoder."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        with safe_open(folder / "model.safetensors", framework="numpy") as file:
            names = list(file.keys())
    except (OSError, ValueError, SafetensorError):
        return False
    family = FAMILIES.get(config.get("model_type", "bert"))
    return family is not None and not family.causal and not any(map(HEADS.search, names))


def no_head(folder: Path, lacks: str = "") -> str:
    """A sentence for a user."""
    return (
        f"{folder} has no head for words{lacks}, so nothing tells what its fine-tuned models forgot; name a checkpoint that "
        "was published with its head, or leave its models out of figures.beyond.forgetting (null leaves out the figure)."
    )


def norms(folder: Path) -> list[float]:
    """L2 norms of all weights of the embeddings, then of each layer. UserError for weights that NumPy does not know
    (bfloat16), and for a family without a row in `families`."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    family = FAMILIES.get(config["model_type"])
    if family is None:
        raise UserError(f"{folder}: which weights of a {config['model_type']} model are a layer's is known while it runs alone; "
                        "leave results/steps out for it.")  # fmt: skip
    found: dict[str, float] = {"embeddings": 0.0}
    with safe_open(folder / "model.safetensors", framework="numpy") as file:
        names = list(file.keys())
        first = next(
            (name for name in names if re.search(rf"(^|\.){re.escape(family.layers)}\.0\.", name)), ""
        )
        prefix = first[: first.find(f"{family.layers}.0.")] if first else ""
        for name in names:
            group = family.group(name.removeprefix(prefix))
            if (
                name.startswith(prefix)
                and (group.isdecimal() or group == "embeddings")
                and not name.endswith("_ids")
            ):
                try:
                    squares = float(np.sum(file.get_tensor(name).astype(np.float64) ** 2))
                except TypeError as error:
                    raise UserError(f"{folder}: {error}; store its weights as float32.") from None
                found[group] = found.get(group, 0.0) + squares
    layers = sorted((group for group in found if group != "embeddings"), key=int)
    return [found[group] ** 0.5 for group in ("embeddings", *layers)]
