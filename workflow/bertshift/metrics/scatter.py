"""Centred hidden states of some tokens, and their scatter matrices: what CKA, CCA and Procrustes
distances are made of.

Without block b of the rows, which has n_b of n rows and the sums s_b, t_b of centred X and Y, the
rest has

    X'Y - X_b'Y_b - s_b t_b' / (n - n_b)

about its own means: the blocks' scatter matrices, which add up to that of all rows, tell of it
exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.blas import dger

from bertshift.errors import UserError
from bertshift.metrics.scaling import differ, scaled

ROWS = 4096


@dataclass(frozen=True)
class Centred:
    """The rows `positions` [n] of `states` [N, d] less their mean, in float64; memory holds a
    chunk of them at a time.

    blocks: of these rows, all of them in order, for values without each block.
    """

    states: np.ndarray
    positions: np.ndarray
    blocks: Sequence[slice] = ()

    @classmethod
    def of(cls, x: np.ndarray, blocks: Sequence[slice] = ()) -> "Centred":
        """Take all rows of x [n, d], of any magnitude and about any mean, scaled by a power of 2.

        Raises UserError where the rows differ by no more than rounding.
        """
        rows = scaled(x)
        mean = rows.mean(axis=0)
        rows -= mean  # centred here and by `mean` again, as a large mean has large rounding
        if not differ(np.vdot(rows, rows), len(x) * (mean @ mean), x.dtype):
            raise UserError(
                "Hidden states do not vary between tokens, so no measure is defined: check the"
                " model."
            )
        return cls(rows, np.arange(len(x)), blocks)

    def __len__(self) -> int:
        return len(self.positions)

    @cached_property
    def mean(self) -> np.ndarray:
        """Mean of the rows, [d]."""
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
        """Whether the rows differ by more than rounding. The embeddings of a first token that is
        always the same do not."""
        return differ(self.squares.sum(), len(self) * (self.mean @ self.mean), self.states.dtype)

    def permuted(self, order: np.ndarray) -> "Centred":
        return Centred(self.states, self.positions[order])

    @cached_property
    def left(self) -> np.ndarray:
        """[blocks] how many rows are outside each block."""
        return np.array([len(self) - (block.stop - block.start) for block in self.blocks], int)

    @cached_property
    def sums(self) -> np.ndarray:
        """[blocks, d] sums of each block's rows."""
        return np.array([self[block].sum(axis=0) for block in self.blocks])

    @cached_property
    def means_without(self) -> np.ndarray:
        """[blocks, d] means of the rows outside each block; 0 where none is outside."""
        return -self.sums / np.maximum(self.left, 1)[:, None]

    def along(self, vectors: np.ndarray) -> np.ndarray:
        """Compute the products [n, m] of the rows and vectors [m, d]."""
        return np.concatenate([self[part] @ vectors.T for part in _parts(len(self))])

    def squares_without(self) -> np.ndarray:
        """Compute the squared lengths [n, blocks] of the rows about the means of the rows outside
        each block."""
        means = self.means_without
        return self.squares[:, None] - 2 * self.along(means) + np.einsum("bd,bd->b", means, means)


def scatter(x: Centred, y: Centred) -> np.ndarray:
    """Sum X'Y [d_x, d_y] over chunks of rows."""
    if x is y:
        return sum(chunk.T @ chunk for chunk in map(x.__getitem__, _parts(len(x))))
    return sum(x[part].T @ y[part] for part in _parts(len(x)))


def _parts(count: int, start: int = 0) -> list[slice]:
    return [slice(first, min(first + ROWS, count)) for first in range(start, count, ROWS)]


@dataclass(frozen=True)
class Scatters:
    """X'Y [d_x, d_y] of the same rows of two sides, which have the same blocks: of all, and of
    those outside each block."""

    x: Centred
    y: Centred

    @cached_property
    def _parts(self) -> np.ndarray:
        """X'Y of each block's rows, [blocks, d_x, d_y]."""
        parts = np.zeros((len(self.x.blocks), *(one.states.shape[1] for one in (self.x, self.y))))
        for own, block in zip(parts, self.x.blocks, strict=True):
            for number, part in enumerate(_parts(block.stop, block.start)):
                rows = self.x[part]
                others = rows if self.x is self.y else self.y[part]
                if number:
                    own += rows.T @ others
                else:  # with no copy in between
                    np.matmul(rows.T, others, out=own)
        return parts

    @cached_property
    def whole(self) -> np.ndarray:
        return self._parts.sum(axis=0) if self.x.blocks else scatter(self.x, self.y)

    def rest_varies(self, block: int) -> bool:
        """Test, where this is X'X, whether the rows outside a block vary. They do not where there
        are none, or where they differ by no more than rounding."""
        sums, left = self.x.sums[block], self.x.left[block]
        rest = self.whole.trace() - self._parts[block].trace() - sums @ sums / max(left, 1)
        return bool(left > 0 and rest > 1e-12 * self.whole.trace())

    def without(self, block: int) -> np.ndarray:
        """Calculate X'Y of the rows outside a block, about their own means. There must be some
        such rows."""
        rest, share = self.whole - self._parts[block], -1 / self.x.left[block]
        return dger(share, self.y.sums[block], self.x.sums[block], a=rest.T, overwrite_a=True).T
