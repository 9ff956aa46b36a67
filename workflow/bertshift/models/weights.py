"""Weights of a model folder, read without torch, which takes seconds to import."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import safe_open

from bertshift.errors import UserError
from bertshift.models.families import FAMILIES, Family
from bertshift.models.published import BUFFERS
from bertshift.models.seal import check_seal

# The weights of attention in each layer.
MATRICES = ("query", "key", "value", "output")


@dataclass(frozen=True)
class Folder:
    """An open model folder: the configuration, the family's row, the file of weights, and `names`,
    which maps the family's names of the bare model's weights to the file's."""

    path: Path
    config: dict
    family: Family
    file: safe_open
    names: dict[str, str]

    def read(self, name: str) -> np.ndarray:
        """Read a weight matrix or bias in float64. UserError for weights that NumPy does not know
        (bfloat16)."""
        try:
            return self.file.get_tensor(self.names[name]).astype(np.float64)
        except TypeError as error:
            raise UserError(f"{self.path}: {error}; store its weights as float32.") from None

    @property
    def layers(self) -> int:
        """Number of layers with weights of their own."""
        groups = map(self.family.group, self.names)
        return max((int(group) for group in groups if group.isdecimal()), default=0)


@contextmanager
def opened(folder: Path, instead: str) -> Iterator[Folder]:
    """Open a model folder. UserError, with what to do `instead`, for a family without a row in
    `families`."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    family = FAMILIES.get(config["model_type"])
    if family is None:
        raise UserError(
            f"{folder}: which weights of a {config['model_type']} model are a layer's is known"
            f" while it runs alone; {instead}."
        )
    check_seal(folder / "model.safetensors")
    with safe_open(folder / "model.safetensors", framework="numpy") as file:
        names = list(file.keys())
        prefix = _find_prefix(names, f"{family.layers}.0.")
        bare_names = {name.removeprefix(prefix): name for name in names if name.startswith(prefix)}
        yield Folder(folder, config, family, file, bare_names)


def _find_prefix(names: list[str], first_layer: str) -> str:
    """Find the text before the name of the first layer; empty if no name has one."""
    for name in names:
        if match := re.match(rf"(|.*?\.){re.escape(first_layer)}", name):
            return match[1]
    return ""


def norms(folder: Path) -> list[float]:
    """Measure the L2 norms of all weights of the embeddings, then of each layer. UserError as
    `opened` and `Folder.read`."""
    squares = {0: 0.0}  # by layer; 0 has the embeddings
    with opened(folder, "leave results/steps out for it") as model:
        for name in model.names:
            group = model.family.group(name)
            layer = "0" if group == "embeddings" else group
            if layer.isdecimal() and not name.endswith(BUFFERS):
                square = float(np.sum(model.read(name) ** 2))
                squares[int(layer)] = squares.get(int(layer), 0.0) + square
    return [squares[layer] ** 0.5 for layer in sorted(squares)]


def projection(model: Folder, layer: int, matrix: str) -> np.ndarray:
    """Read one of MATRICES of a layer, counted from 1: [out, in] float64."""
    family = model.family
    path = family.out if matrix == "output" else getattr(family, matrix) or family.fused
    weights = model.read(f"{family.layers}.{layer - 1}.{path}.weight")
    if family.inputs_first:
        weights = weights.T
    if matrix == "output" or not family.fused:
        return weights
    blocks = 1 if family.order == "qkv,head" else model.config["num_attention_heads"]
    inputs = weights.shape[1]
    parts = weights.reshape(blocks, 3, -1, inputs)
    return parts[:, MATRICES.index(matrix)].reshape(-1, inputs)
