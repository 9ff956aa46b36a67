"""Centred hidden states of some tokens, and their scatter matrices: what CKA, CCA and Procrustes distances are made of.

Without block b of the rows, which has n_b of n rows and the sums s_b, t_b of centred X and Y, the rest has

    X'Y - X_b'Y_b - s_b t_b' / (n - n_b)

about its own means: the blocks' scatter matrices, which add up to that of all rows, tell of it exactly.
"""

from collections.abc import Sequence
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

    def sums(self, blocks: Sequence[slice]) -> np.ndarray:
        """[blocks, d] sums of each block's rows."""
        return np.array([self[block].sum(axis=0) for block in blocks])

    def means_without(self, blocks: Sequence[slice], sums: np.ndarray) -> np.ndarray:
        """[blocks, d] means of the rows outside each block, whose own rows have these sums; 0 where none is outside."""
        left = np.array([[len(self) - (block.stop - block.start)] for block in blocks])
        return -sums / np.maximum(left, 1)

    def along(self, vectors: np.ndarray) -> np.ndarray:
        """[n, m] products of the rows and vectors [m, d]."""
        return np.concatenate([self[part] @ vectors.T for part in _parts(len(self))])

    def squares_without(self, blocks: Sequence[slice], sums: np.ndarray) -> np.ndarray:
        """[n, blocks] squared lengths of the rows about the means of the rows outside each block."""
        means = self.means_without(blocks, sums)
        return self.squares[:, None] - 2 * self.along(means) + np.einsum("bd,bd->b", means, means)


def scatter(x: Centred, y: Centred) -> np.ndarray:
    """X'Y [d_x, d_y], summed over chunks of rows."""
    if x is y:
        return sum(chunk.T @ chunk for chunk in map(x.__getitem__, _parts(len(x))))
    return sum(x[part].T @ y[part] for part in _parts(len(x)))


def _parts(count: int, start: int = 0) -> list[slice]:
    return [slice(first, min(first + ROWS, count)) for first in range(start, count, ROWS)]


@dataclass(frozen=True)
class Scatters:
    """X'Y of each block of rows, [blocks, d_x, d_y], and what it takes to know it of the rows outside a block.

    sums: of the blocks' rows, [blocks, d_x] and [blocks, d_y]; left [blocks]: how many rows are outside.
    """

    parts: np.ndarray
    sums: tuple[np.ndarray, np.ndarray]
    left: np.ndarray

    @classmethod
    def of(
        cls, x: Centred, y: Centred, blocks: Sequence[slice], sums: tuple[np.ndarray, np.ndarray]
    ) -> "Scatters":
        parts = np.zeros((len(blocks), *(one.states.shape[1] for one in (x, y))))
        for own, block in zip(parts, blocks, strict=True):
            for part in _parts(block.stop, block.start):
                rows = x[part]
                own += rows.T @ (rows if x is y else y[part])
        left = np.array([len(x) - (block.stop - block.start) for block in blocks])
        return cls(parts, sums, left)

    @cached_property
    def whole(self) -> np.ndarray:
        """[d_x, d_y] of all rows."""
        return self.parts.sum(axis=0)

    def rest_varies(self, block: int) -> bool:
        """Of X'X: False where the rows outside a block are none, or do not differ by more than rounding."""
        own, (sums, _) = self.parts[block].trace(), self.sums
        rest = self.whole.trace() - own - sums[block] @ sums[block] / max(self.left[block], 1)
        return bool(self.left[block] > 0 and rest > 1e-12 * self.whole.trace())

    def without(self, block: int) -> np.ndarray:
        """[d_x, d_y] of the rows outside a block, which must be some, about their means."""
        rest = self.whole - self.parts[block]
        rest -= np.outer(self.sums[0][block], self.sums[1][block] / self.left[block])
        return rest


def scatters(x: Centred, y: Centred, blocks: Sequence[slice]) -> tuple[Scatters, Scatters, Scatters]:
    """Of X'X, X'Y and Y'Y."""
    sums = x.sums(blocks), y.sums(blocks)
    pairs = ((x, x, 0, 0), (x, y, 0, 1), (y, y, 1, 1))
    return tuple(Scatters.of(one, other, blocks, (sums[i], sums[j])) for one, other, i, j in pairs)
