"""Tensors of a model folder, read part by part: memory never holds one whole."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from bertshift.errors import UserError
from bertshift.models.loading import check_numbers, rename_old
from bertshift.models.published import BUFFERS, parts_of, read_config, weights_of

NUMBERS = 1 << 22  # in memory at a time, in float64


@dataclass(frozen=True)
class StoredTensor:
    """A tensor `name` of `shape` in a safetensors `file`."""

    file: Path
    name: str
    shape: tuple[int, ...]

    def parts(self) -> Iterator[np.ndarray]:
        """Read parts along the longest axis, in float64. UserError for a quantised tensor, and for
        numbers that are not finite."""
        # Opened for each tensor: what was read of a file stays in memory until it is closed.
        with safe_open(self.file, framework="pt") as file:
            stored = file.get_slice(self.name)
            for where in self._places():
                part = stored[where]
                check_numbers(self.file, self.name, part)
                yield part.double().numpy()

    def _places(self) -> Iterator[Any]:
        if not self.shape:
            yield ...
            return
        axis = int(np.argmax(self.shape))
        across = math.prod(self.shape) // max(self.shape[axis], 1)
        step = max(NUMBERS // max(across, 1), 1)
        for start in range(0, self.shape[axis], step):
            yield (slice(None),) * axis + (slice(start, start + step),)


def tensors_of(folder: Path) -> dict[str, StoredTensor]:
    """List all tensors of a model folder but buffers, by transformers' present names. UserError
    for a folder without weights, for pickles, and for damaged files."""
    read_config(folder)
    tensors = {}
    for path in parts_of(weights_of(folder)):
        if path.suffix == ".bin":
            raise UserError(
                f"{path} can only be read whole; load the model and save it again with"
                " save_pretrained(...), which writes safetensors."
            )
        try:
            with safe_open(path, framework="pt") as file:
                for name in file.keys():  # noqa: SIM118, it is no mapping
                    shape = tuple(file.get_slice(name).get_shape())
                    tensors[name] = StoredTensor(path, name, shape)
        except SafetensorError as error:
            raise UserError(
                f"{path} is not a complete safetensors file ({error}); fetch or make it again."
            ) from error
    kept = {name: tensor for name, tensor in tensors.items() if not name.endswith(BUFFERS)}
    return dict(sorted(rename_old(kept).items()))


def matched(names: Iterable[str], others: Iterable[str]) -> dict[str, str]:
    """Match the tensors of two models of one family, {name: other's name}. A model with a head has
    a prefix before its encoder's names that the bare encoder has not."""
    names, others = list(names), set(others)
    ways = [
        {name: changed for name in names if (changed := change(name)) in others}
        for change in _changes_of_prefix(names, others)
    ]
    return max(ways, key=len)


def _changes_of_prefix(names: Iterable[str], others: Iterable[str]) -> list[Callable[[str], str]]:
    prefixes = {name.partition(".")[0] + "." for name in [*names, *others]}
    changes = [lambda name: name]
    for prefix in sorted(prefixes):
        changes.append(lambda name, prefix=prefix: prefix + name)
        changes.append(lambda name, prefix=prefix: name.removeprefix(prefix))
    return changes
