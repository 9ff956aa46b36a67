"""Centred hidden states of some tokens, and their scatter matrices: what CKA, CCA and Procrustes distances are made of."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

ROWS = 4096


@dataclass(frozen=True)
class Centred:
    """The rows `positions` [n] of `states` [N, d] less their mean, in float64; memory holds a chunk of them at a time."""

    states: np.ndarray
    positions: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray) -> "Centred":
        return cls(x, np.arange(len(x)))

    def __len__(self) -> int:
        return len(self.positions)

    @cached_property
    def mean(self) -> np.ndarray:
        """[d]"""
        chunks = (self.states[self.positions[part]] for part in _parts(len(self)))
        return sum(chunk.sum(axis=0, dtype=np.float64) for chunk in chunks) / len(self)

    def __getitem__(self, part: slice) -> np.ndarray:
        return self.states[self.positions[part]] - self.mean

    @cached_property
    def squares(self) -> np.ndarray:
        """[n] squared lengths of the rows."""
        chunks = (self[part] for part in _parts(len(self)))
        return np.concatenate([np.einsum("ij,ij->i", chunk, chunk) for chunk in chunks])

    @property
    def varies(self) -> bool:
        """False where the rows differ by no more than float32 rounds, as the embedding of a first token that is always the same does."""
        return bool(self.squares.sum() > 1e-12 * len(self) * (self.mean @ self.mean))

    def permuted(self, order: np.ndarray) -> "Centred":
        return Centred(self.states, self.positions[order])


def scatter(x: Centred, y: Centred) -> np.ndarray:
    """X'Y [d_x, d_y], summed over chunks of rows."""
    if x is y:
        return sum(chunk.T @ chunk for chunk in map(x.__getitem__, _parts(len(x))))
    return sum(x[part].T @ y[part] for part in _parts(len(x)))


def _parts(count: int) -> list[slice]:
    return [slice(first, first + ROWS) for first in range(0, count, ROWS)]
