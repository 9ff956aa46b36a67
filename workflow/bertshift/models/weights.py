"""Single tensors of a model folder, read without torch, which takes seconds to import."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from safetensors import safe_open

from bertshift.errors import UserError


def heads_of(folder: Path) -> int:
    """Attention heads in a layer."""
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))["num_attention_heads"]


def layer_tensors(folder: Path, names: Sequence[str]) -> Iterator[list[np.ndarray]]:
    """Layer by layer, the tensors of these names (`attention.self.query.weight`), float64.

    UserError for weights that NumPy does not know (bfloat16).
    """
    with _opened(folder) as (layers, tensor):
        for layer in range(layers):
            yield [tensor(f"encoder.layer.{layer}.{name}") for name in names]


def norms(folder: Path) -> list[float]:
    """L2 norms of all weights of the embeddings, then of each layer. UserError as `layer_tensors`."""
    with _opened(folder) as (layers, tensor):
        parts = ["embeddings.", *(f"encoder.layer.{layer}." for layer in range(layers))]
        found = dict.fromkeys(parts, 0.0)
        for name in tensor.names:
            for part in parts:
                if name.startswith(part) and not name.endswith("_ids"):
                    found[part] += float(np.sum(tensor(name) ** 2))
    return [value**0.5 for value in found.values()]


class _Tensors:
    """The tensors of an open file, under the names of a bare encoder."""

    def __init__(self, file, folder: Path):
        self._file, self._folder = file, folder
        self._prefix = "bert." if any(name.startswith("bert.") for name in file.keys()) else ""  # noqa: SIM118
        self.names = [name.removeprefix(self._prefix) for name in file.keys()]  # noqa: SIM118

    def __call__(self, name: str) -> np.ndarray:
        try:
            return self._file.get_tensor(self._prefix + name).astype(np.float64)
        except TypeError as error:
            raise UserError(f"{self._folder}: {error}; store its weights as float32.") from None


@contextmanager
def _opened(folder: Path) -> Iterator[tuple[int, _Tensors]]:
    layers = json.loads((folder / "config.json").read_text(encoding="utf-8"))["num_hidden_layers"]
    with safe_open(folder / "model.safetensors", framework="numpy") as file:
        yield layers, _Tensors(file, folder)
