"""Tensors of a model folder, read part by part: memory never holds one whole."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open

from bertshift.errors import UserError
from bertshift.models.loading import rename_old
from bertshift.models.published import BUFFERS, parts_of, read_config, weights_of

NUMBERS = 1 << 22  # in memory at a time, in float64


@dataclass(frozen=True)
class StoredTensor:
    """A tensor in a file.

    file: where it is, for messages
    name: its name there
    stored: its slices, of safetensors
    """

    file: Path
    name: str
    stored: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.stored.get_shape())

    def parts(self) -> Iterator[np.ndarray]:
        """Read parts along the longest axis, in float64. UserError for a quantised tensor, and for
        numbers that are not finite."""
        if not self.shape:
            yield self._read(...)
            return
        axis = int(np.argmax(self.shape))
        across = int(np.prod(self.shape)) // max(self.shape[axis], 1)
        step = max(NUMBERS // max(across, 1), 1)
        for start in range(0, self.shape[axis], step):
            yield self._read((slice(None),) * axis + (slice(start, start + step),))

    def _read(self, where: Any) -> np.ndarray:
        part: torch.Tensor = self.stored[where]
        if not part.is_floating_point() or part.element_size() == 1:
            kind = str(part.dtype).removeprefix("torch.")
            raise UserError(
                f"{self.file}: {self.name} holds {kind}, a quantised checkpoint; name the one with"
                " all its digits."
            )
        if not part.isfinite().all():
            raise UserError(
                f"{self.file}: {self.name} holds NaN or infinite numbers; name a checkpoint of"
                " before its training failed."
            )
        return part.double().numpy()


@contextmanager
def opened(folder: Path) -> Iterator[dict[str, StoredTensor]]:
    """Open all tensors of a model folder but buffers, by transformers' present names. UserError
    for a folder without weights, for pickles, and for damaged files."""
    read_config(folder)
    weights = weights_of(folder)
    with ExitStack() as stack:
        tensors = {}
        for path in parts_of(weights):
            if path.suffix == ".bin":
                raise UserError(
                    f"{path} can only be read whole; load the model and save it again with"
                    " save_pretrained(...), which writes safetensors."
                )
            try:
                file = stack.enter_context(safe_open(path, framework="pt"))
            except SafetensorError as error:
                raise UserError(
                    f"{path} is not a complete safetensors file ({error}); fetch or make it again."
                ) from error
            for name in file.keys():  # noqa: SIM118, it is no mapping
                if not name.endswith(BUFFERS):
                    tensors[name] = StoredTensor(path, name, file.get_slice(name))
        yield dict(sorted(rename_old(tensors).items()))


def matched(names: Iterable[str], others: Iterable[str]) -> dict[str, str]:
    """Match the tensors of two models of one family, {name: other's name}. A model with a head has
    a prefix before its encoder's names that the bare encoder has not."""
    names, others = list(names), set(others)
    ways = [
        {name: changed for name in names if (changed := change(name)) in others}
        for change in _changes_of_prefix(names, others)
    ]
    return max(ways, key=len)


def _changes_of_prefix(names: Iterable[str], others: Iterable[str]) -> list:
    prefixes = {name.partition(".")[0] + "." for name in [*names, *others]}
    changes = [lambda name: name]
    for prefix in sorted(prefixes):
        changes.append(lambda name, prefix=prefix: prefix + name)
        changes.append(lambda name, prefix=prefix: name.removeprefix(prefix))
    return changes


def unmatched(names: Mapping[str, StoredTensor], found: Iterable[str]) -> list[str]:
    return sorted({*names} - {*found})
