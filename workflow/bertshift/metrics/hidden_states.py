"""Hidden states of two models for the same tokens: the input of CKA, CCA and Procrustes distances.

All of them are functions of the second moments X'X, X'Y, Y'Y of centred states X and Y, and of the
squared lengths of their rows. The moments are sums over tokens. So they also give, exactly, each
measure without a block b of the tokens, which has n_b of n rows and the sums s_b, t_b of X and Y:

    X'Y - X_b'Y_b - s_b t_b' / (n - n_b)

are the moments of the other tokens about their own means.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import itemgetter

import numpy as np
from scipy.linalg.blas import dger

from bertshift.activations.sampling import is_special_or_first
from bertshift.activations.store import Activations
from bertshift.errors import UserError
from bertshift.metrics.cores import on_each_core
from bertshift.metrics.pairs import (
    Pair,
    matched_layers,
    opened_by_reference,
    tell_undefined,
    token_blocks,
)
from bertshift.metrics.scaling import differ, scaled

ROWS = 4096  # in memory at a time
FEWEST = 4  # tokens that every measure is defined for
LEAST_SPREAD = 1e-12  # of the tokens outside a block, as a share of the spread of all tokens


@dataclass(frozen=True)
class CenteredStates:
    """Rows of hidden states less their mean, in float64. Memory holds a chunk of them at a time.

    states: [N, d]
    positions: [n], the rows of `states` that are taken
    blocks: of these n rows, all of them in order, for values without each block
    """

    states: np.ndarray
    positions: np.ndarray
    blocks: Sequence[slice] = ()

    @classmethod
    def of(cls, x: np.ndarray, blocks: Sequence[slice] = ()) -> "CenteredStates":
        """Take all rows of x [n, d], of any magnitude and about any mean, scaled by a power of 2.

        UserError where the rows differ by no more than rounding.
        """
        rows = scaled(x)
        mean = rows.mean(axis=0)
        rows -= mean  # centred here and by `mean` again, as a large mean has large rounding
        spread = np.vdot(rows, rows)
        size = len(x) * (mean @ mean)
        if not differ(spread, size, x.dtype):
            raise UserError(
                "Hidden states do not vary between tokens, so no measure is defined: check the"
                " model."
            )
        return cls(rows, np.arange(len(x)), blocks)

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, part: slice) -> np.ndarray:
        return self.states[self.positions[part]] - self.mean

    @property
    def width(self) -> int:
        return self.states.shape[1]

    @cached_property
    def mean(self) -> np.ndarray:
        """Mean of the rows, [d]."""
        total = 0
        for part in _chunks(len(self)):
            rows = self.states[self.positions[part]]
            total = total + rows.sum(axis=0, dtype=np.float64)
        return total / len(self)

    @cached_property
    def squares(self) -> np.ndarray:
        """[n] squared lengths of the rows."""
        chunks = (self[part] for part in _chunks(len(self)))
        return np.concatenate([np.einsum("ij,ij->i", chunk, chunk) for chunk in chunks])

    @property
    def varies(self) -> bool:
        """Whether the rows differ by more than rounding. The embeddings of a first token that is
        always the same do not."""
        size = len(self) * (self.mean @ self.mean)
        return differ(self.squares.sum(), size, self.states.dtype)

    def permuted(self, order: np.ndarray) -> "CenteredStates":
        return CenteredStates(self.states, self.positions[order])

    @cached_property
    def counts_without(self) -> np.ndarray:
        """[blocks] how many rows are outside each block."""
        sizes = [block.stop - block.start for block in self.blocks]
        return len(self) - np.array(sizes, int)

    @cached_property
    def block_sums(self) -> np.ndarray:
        """[blocks, d] sums of each block's rows."""
        return np.array([self[block].sum(axis=0) for block in self.blocks])

    @cached_property
    def means_without(self) -> np.ndarray:
        """[blocks, d] means of the rows outside each block; 0 where none is outside."""
        return -self.block_sums / np.maximum(self.counts_without, 1)[:, None]

    def along(self, vectors: np.ndarray) -> np.ndarray:
        """Compute the products [n, m] of the rows and vectors [m, d]."""
        return np.concatenate([self[part] @ vectors.T for part in _chunks(len(self))])

    @cached_property
    def squares_without(self) -> np.ndarray:
        """[n, blocks] squared lengths of the rows about the means of the rows outside each
        block."""
        means = self.means_without
        mean_squares = np.einsum("bd,bd->b", means, means)
        return self.squares[:, None] - 2 * self.along(means) + mean_squares


def scatter(x: CenteredStates, y: CenteredStates) -> np.ndarray:
    """Sum X'Y [d_x, d_y] over chunks of rows."""
    total = 0
    for part in _chunks(len(x)):
        x_rows = x[part]
        y_rows = x_rows if x is y else y[part]
        total = total + x_rows.T @ y_rows
    return total


def _chunks(count: int, start: int = 0) -> list[slice]:
    return [slice(first, min(first + ROWS, count)) for first in range(start, count, ROWS)]


@dataclass(frozen=True)
class Scatter:
    """X'Y [d_x, d_y] of all rows, and of those outside each block. Both sides have the same
    blocks."""

    x: CenteredStates
    y: CenteredStates

    @cached_property
    def blocks(self) -> np.ndarray:
        """X'Y of each block's rows, [blocks, d_x, d_y]."""
        products = np.zeros((len(self.x.blocks), self.x.width, self.y.width))
        for product, block in zip(products, self.x.blocks, strict=True):
            for number, part in enumerate(_chunks(block.stop, block.start)):
                x_rows = self.x[part]
                y_rows = x_rows if self.x is self.y else self.y[part]
                if number:
                    product += x_rows.T @ y_rows
                else:  # with no copy in between
                    np.matmul(x_rows.T, y_rows, out=product)
        return products

    @cached_property
    def total(self) -> np.ndarray:
        return self.blocks.sum(axis=0) if self.x.blocks else scatter(self.x, self.y)

    def without(self, block: int) -> np.ndarray:
        """Calculate X'Y of the rows outside a block, about their own means. There must be some
        such rows."""
        rest = self.total - self.blocks[block]
        x_sum = self.x.block_sums[block]
        y_sum = self.y.block_sums[block]
        factor = -1 / self.x.counts_without[block]
        # rest + factor * outer(x_sum, y_sum), in place.
        return dger(factor, y_sum, x_sum, a=rest.T, overwrite_a=True).T


@dataclass(frozen=True)
class Principal:
    """Principal directions of hidden states; r is their numerical rank.

    variances: [r], falling
    directions: [d, r]
    """

    variances: np.ndarray
    directions: np.ndarray

    @classmethod
    def of(cls, xx: np.ndarray) -> "Principal":
        """Find the principal directions of xx [d, d], X'X of centred X. UserError where nothing
        varies."""
        variances, directions = np.linalg.eigh(xx)
        variances = variances[::-1]
        directions = directions[:, ::-1]
        rounding = variances[0] * len(variances) * np.finfo(np.float64).eps
        rank = int(np.sum(variances > rounding))
        if not variances[0] > 0:
            raise UserError(
                "Hidden states do not vary between tokens, so SVCCA is undefined: check the model."
            )
        return cls(variances[:rank], directions[:, :rank])

    def count_for(self, share: float) -> int:
        """Find the smallest k for which the first k directions hold this share of the variance."""
        cumulated = np.cumsum(self.variances)
        k = int(np.searchsorted(cumulated, share * cumulated[-1])) + 1
        return min(k, len(cumulated))

    def whitening(self, k: int) -> np.ndarray:
        return self.directions[:, :k] / np.sqrt(self.variances[:k])


class Representation:
    """Hidden states of one model with their second moments, decomposed once for all
    comparisons."""

    def __init__(self, states: CenteredStates):
        self.states = states
        self.scatter = Scatter(states, states)
        self._principal: dict[int | None, Principal] = {}

    def principal(self, block: int | None = None) -> Principal:
        """Find the principal directions of all tokens, or of those outside a block."""
        if block not in self._principal:
            xx = self.scatter.total if block is None else self.scatter.without(block)
            self._principal[block] = Principal.of(xx)
        return self._principal[block]

    def varies_without(self, block: int) -> bool:
        """Test whether the tokens outside a block differ by more than rounding."""
        block_sum = self.states.block_sums[block]
        count = self.states.counts_without[block]
        total = self.scatter.total.trace()
        inside = self.scatter.blocks[block].trace()
        outside = total - inside - block_sum @ block_sum / max(count, 1)
        return bool(count > 0 and outside > LEAST_SPREAD * total)


@dataclass(frozen=True)
class Moments:
    """The numbers that measures are functions of, for n tokens of two models. Numbers that some
    measures do not need are functions.

    tokens: n
    xx: X'X of the centred states
    xy: X'Y
    yy: Y'Y
    squares: -> squared lengths [n] of both sides' rows
    principal: -> both sides' principal directions
    """

    tokens: int
    xx: np.ndarray
    xy: np.ndarray
    yy: np.ndarray
    squares: Callable[[], tuple[np.ndarray, np.ndarray]]
    principal: Callable[[], tuple[Principal, Principal]]

    @property
    def width(self) -> int:
        return max(self.xy.shape)


@dataclass(frozen=True)
class Comparison:
    """Two models' representations of the same tokens."""

    model: Representation
    reference: Representation

    @classmethod
    def of(cls, x: CenteredStates, y: CenteredStates) -> "Comparison":
        return cls(Representation(x), Representation(y))

    @property
    def _states(self) -> tuple[CenteredStates, CenteredStates]:
        return self.model.states, self.reference.states

    @cached_property
    def _scatter(self) -> Scatter:
        return Scatter(*self._states)

    def _principal(self, block: int | None = None) -> tuple[Principal, Principal]:
        return self.model.principal(block), self.reference.principal(block)

    @cached_property
    def moments(self) -> Moments:
        """The moments of all tokens."""
        x, y = self._states
        return Moments(
            tokens=len(x),
            xx=self.model.scatter.total,
            xy=self._scatter.total,
            yy=self.reference.scatter.total,
            squares=lambda: (x.squares, y.squares),
            principal=self._principal,
        )

    def moments_without(self, block: int) -> Moments | None:
        """Calculate the moments of the tokens outside a block; None where these are fewer than
        FEWEST or do not vary."""
        x, y = self._states
        count = int(x.counts_without[block])
        if count < FEWEST:
            return None
        if not (self.model.varies_without(block) and self.reference.varies_without(block)):
            return None
        rows = x.blocks[block]

        def squares() -> tuple[np.ndarray, np.ndarray]:
            x_squares = x.squares_without[:, block]
            y_squares = y.squares_without[:, block]
            return np.delete(x_squares, rows), np.delete(y_squares, rows)

        return Moments(
            tokens=count,
            xx=self.model.scatter.without(block),
            xy=self._scatter.without(block),
            yy=self.reference.scatter.without(block),
            squares=squares,
            principal=partial(self._principal, block),
        )

    def measure(
        self, distances: Callable[[Moments], Mapping]
    ) -> Iterator[tuple[str, float, np.ndarray]]:
        """Yield (variant, value, values without each block) of `distances`, which maps variants to
        values.

        A value without a block is NaN where there is none.
        """

        def distances_without(block: int) -> Mapping:
            moments = self.moments_without(block)
            return distances(moments) if moments else {}

        rests = on_each_core(distances_without, range(len(self.model.states.blocks)))
        for variant, value in distances(self.moments).items():
            jackknife = np.array([rest.get(variant, np.nan) for rest in rests])
            yield variant, value, jackknife


def compared_layers(
    metric: str,
    group: Sequence[tuple[Pair, Activations, Activations]],
    positions: np.ndarray,
    tokens: str = "tokens",
) -> Iterator[tuple[int, dict, Comparison]]:
    """Compare the same tokens of each pair of a group in each layer. What is calculated of the
    reference's layer serves all pairs.

    group: of `opened_by_reference`
    positions: [n], of the tokens
    tokens: their name, for the report on layers that are left out

    Yield the pair's position in the group, the keys of its rows, and the comparison. A layer where
    tokens are fewer than FEWEST or do not differ is left out.
    """
    _, model, reference = group[0]
    blocks = token_blocks(reference.offsets, positions)
    for layer, ref_layer in matched_layers(model.layers, reference.layers):
        keys = {"layer": layer, "ref_layer": ref_layer, "head": 0, "n": len(positions)}
        y = Representation(CenteredStates(reference.hidden(ref_layer), positions, blocks))
        for number, (pair, model, _) in enumerate(group):
            x = Representation(CenteredStates(model.hidden(layer), positions, blocks))
            if len(positions) >= FEWEST and x.states.varies and y.states.varies:
                yield number, pair.keys | keys, Comparison(x, y)
            else:
                tell_undefined(metric, pair, layer, tokens)


def rows_by_layer(
    metric: str,
    pairs: list[Pair],
    draw: Callable[[Activations, str], np.ndarray],
    rows_of_comparison: Callable[[Comparison], Iterable[dict]],
) -> Iterator[dict]:
    """Yield the rows of every pair, layer by layer, with the keys of `compared_layers`.

    draw: a reference's activations and the name of the stimuli -> positions of the tokens
    rows_of_comparison: gives the rows of two layers
    """
    for group in opened_by_reference(metric, pairs):
        pair, _, reference = group[0]
        positions = draw(reference, pair.stimuli)
        yield from in_order_of_pairs(
            (number, keys | row)
            for number, keys, comparison in compared_layers(metric, group, positions)
            for row in rows_of_comparison(comparison)
        )


def in_order_of_pairs(rows: Iterable[tuple[int, dict]]) -> list[dict]:
    """Sort rows by the position of their pair, and keep the order of those of one pair."""
    return [row for _, row in sorted(rows, key=itemgetter(0))]


def token_classes(activations: Activations) -> dict[str, np.ndarray]:
    """Mark the tokens of each class: class -> [N] bool.

    Classes: all; content, without special and first tokens; cls, the first tokens; sep, the other
    special ones.
    """
    special = activations.special
    offsets = activations.offsets
    first = is_special_or_first(np.zeros_like(special), offsets)
    return {
        "all": np.ones_like(special),
        "content": ~is_special_or_first(special, offsets),
        "cls": first,
        "sep": special & ~first,
    }
