"""Representational similarity analysis (Merchant et al. 2020, sections 5.1 and 6, figures 2 and
5).

The score is Pearson's correlation, over all pairs i < j of n tokens, of cos(x_i, x_j) with
cos(y_i, y_j). Neither n x n matrix is needed: with unit rows U = X / |X|, V = Y / |Y| and
N = n (n - 1) / 2 pairs,

    sum cos     = (|sum_i u_i|^2 - n) / 2
    sum cos^2   = (|U'U|_F^2 - n) / 2
    sum cos cos = (|U'V|_F^2 - n) / 2

so that d x d moments, additive over tokens, suffice. In float64: float32 moments lose up to 1e-2.

Where all x_i point nearly the same way, all cosines are nearly 1 and these sums lose their digits.
The correlation is the same of 2 cos_ij - 2, which with w_i = u_i - mean(u) and a_i = |w_i|^2 is

    2 w_i'w_j - a_i - a_j = 2 w_i'w_j + (a_i - 1) (a_j - 1) / 2 - (a_i + 1) (a_j + 1) / 2

that is, r_i'r_j without conjugation, of complex rows r_i that then replace u_i:

    r_i = [sqrt(2) w_i, (a_i - 1) / sqrt(2), sqrt(-1) (a_i + 1) / sqrt(2)]
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bertshift.activations.sampling import is_special_or_first, two_samples
from bertshift.activations.store import Activations
from bertshift.errors import UserError
from bertshift.metrics.pairs import (
    Pair,
    frame,
    matched_layers,
    opened,
    tell_undefined,
    token_blocks,
)
from bertshift.metrics.scaling import differ, scaled
from bertshift.rows.table import Table

# The least spread of cosines, as a share of their squares: below, its digits are rounding.
LEAST_SPREAD = 1e-9
TOKENS = 5000  # of each variant
FEWEST = 3  # tokens that it is defined for
NARROW = 1e-3  # mean squared distance of unit rows from their mean: below, sums lose 6 digits


def unit_rows(x: np.ndarray, where: str = "the input") -> np.ndarray:
    """Scale the rows of x [n, d] to norm 1, in float64. UserError for a row that is zero or not
    finite."""
    x = scaled(x, axis=1)
    norms = np.sqrt(np.einsum("ij,ij->i", x, x))
    has_direction = np.isfinite(norms) & (norms > 0)
    if not has_direction.all():
        row = int(np.argmin(has_direction))
        raise UserError(
            f"Row {row} of {where} is zero or not finite, so it has no direction: check the model."
        )
    return x / norms[:, None]


def similarity_rows(x: np.ndarray, where: str = "the input") -> np.ndarray:
    """Compute rows whose products, without conjugation, give RSA of the rows of x [n, d].

    They are `unit_rows` [n, d]. Where these all point nearly the same way, they are the complex
    rows [n, d + 2] of the module's docstring, of w_i divided by their root mean square. UserError
    as `unit_rows`.
    """
    u = unit_rows(x, where)
    mean = u.mean(axis=0)
    if 1 - mean @ mean > NARROW:
        return u
    w = u - mean
    a = np.einsum("ij,ij->i", w, w)
    if not differ(a.sum(), len(u) * (mean @ mean), np.asarray(x).dtype):
        return u
    w = w / np.sqrt(a.mean())
    a = a / a.mean()
    return np.column_stack([2**0.5 * w, 2**-0.5 * (a - 1), 1j * 2**-0.5 * (a + 1)])


class OwnSums(NamedTuple):
    """One model's sums of cos and of cos^2 over the pairs of all tokens, then of those outside
    each block: [1 + blocks] each."""

    cosines: np.ndarray
    squares: np.ndarray


def _pair_sums(u: np.ndarray, v: np.ndarray, blocks: Sequence[slice] = ()) -> np.ndarray:
    """Sum r_i'r_j s_i's_j over the pairs i < j of rows r of u and s of v: [1 + blocks], of all
    rows, then of those outside each block.

    blocks: of these rows, all of them. The sum over all i, j is |U'V|_F^2. Each pair (i, i) adds
    1, as cos = 1, or 0 where rows are complex, as 2 cos - 2 = 0.
    """
    parts = [u[block].T @ v[block] for block in blocks]
    total = sum(parts) if parts else u.T @ v
    sums = [_norm_squared(total)]
    sums += [_norm_squared(total - part) for part in parts]
    diagonal = 0 if np.iscomplexobj(total) else _count_tokens(len(u), blocks)
    return (np.real(sums) - diagonal) / 2


def _norm_squared(matrix: np.ndarray) -> complex:
    return matrix.ravel() @ matrix.ravel()  # complex numbers are not conjugated


def _count_tokens(tokens: int, blocks: Sequence[slice] = ()) -> np.ndarray:
    """Count all tokens, then those outside each block: [1 + blocks]."""
    outside = [tokens - (block.stop - block.start) for block in blocks]
    return np.array([tokens, *outside])


def own_sums(u: np.ndarray, blocks: Sequence[slice] = ()) -> OwnSums:
    """Sum cos and cos^2 of `similarity_rows` u [n, d]."""
    ones = np.ones((len(u), 1))
    return OwnSums(_pair_sums(u, ones, blocks), _pair_sums(u, u, blocks))


def correlations(
    u: np.ndarray, v: np.ndarray, own_u: OwnSums, own_v: OwnSums, blocks: Sequence[slice] = ()
) -> np.ndarray:
    """Compute RSA [1 + blocks]: of all tokens, then without each block. NaN where all pairs are
    equally similar.

    u, v: `similarity_rows` of the two models
    own_u, own_v: their `own_sums`
    blocks: of these rows
    """
    tokens = _count_tokens(len(u), blocks)
    pairs = tokens * (tokens - 1) / 2
    products = _pair_sums(u, v, blocks)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread_u = own_u.squares - own_u.cosines**2 / pairs
        spread_v = own_v.squares - own_v.cosines**2 / pairs
        # The number of tokens was subtracted from the squares: its rounding counts as well.
        u_varies = spread_u > LEAST_SPREAD * (own_u.squares + tokens)
        v_varies = spread_v > LEAST_SPREAD * (own_v.squares + tokens)
        spread = np.sqrt(np.where(u_varies & v_varies, spread_u * spread_v, np.nan))
        covariance = products - own_u.cosines * own_v.cosines / pairs
        return np.clip(covariance / spread, -1.0, 1.0)


def _check_count(n: int) -> None:
    if n < FEWEST:
        raise UserError(f"RSA needs at least {FEWEST} tokens and got {n}: ask for more stimuli.")


def rsa(x: np.ndarray, y: np.ndarray) -> float:
    """Compute RSA of hidden states of the same n tokens in two models.

    x: [n, d_x]
    y: [n, d_y]

    UserError below 3 tokens, for a zero vector, and where all tokens are equally similar up to
    rounding.
    """
    if len(x) != len(y):
        raise UserError(f"x holds {len(x)} tokens and y {len(y)}; give states of the same tokens.")
    _check_count(len(x))
    u = similarity_rows(x, "x")
    v = similarity_rows(y, "y")
    value = float(correlations(u, v, own_sums(u), own_sums(v))[0])
    if np.isnan(value):
        raise UserError("All tokens are equally similar to each other, so RSA is undefined.")
    return 1.0 if np.array_equal(x, y) else value


def correlate(
    x: np.ndarray,
    y: np.ndarray,
    rows_y: np.ndarray,
    own_y: OwnSums,
    blocks: Sequence[slice] = (),
    where: str = "x",
) -> np.ndarray:
    """Compute RSA [1 + blocks] of states x [n, d_x] and y [n, d_y], exactly 1 where they are
    equal; rows_y, own_y: `similarity_rows` of y and their sums, which serve several x.

    NaN as `correlations`, and below FEWEST tokens. UserError, which names x by `where`, as
    `unit_rows`.
    """
    if np.array_equal(x, y):
        return np.where(_count_tokens(len(x), blocks) >= FEWEST, 1.0, np.nan)
    rows_x = similarity_rows(x, where)
    return correlations(rows_x, rows_y, own_sums(rows_x, blocks), own_y, blocks)


def samples(activations: Activations, tokens: int, stimuli: str) -> dict[str, np.ndarray]:
    """Draw the positions of the tokens that are compared, by variant."""
    is_excluded = is_special_or_first(activations.special, activations.offsets)
    return two_samples(is_excluded, tokens, stimuli)


def compare(pairs: list[Pair], tokens: int = TOKENS) -> Table:
    """Tabulate RSA, one row for each pair, layer and variant ("content", which is the headline,
    and "all_tokens").

    "content" has no special and no first tokens. n is the number of tokens, sd is empty. A layer
    has no row if all tokens are equally similar, which happens when a training collapsed.

    pairs: models to compare
    tokens: how many are drawn, without replacement, from all tokens of the stimuli; the same ones
        for every model and layer

    UserError where tokens of a pair differ or are fewer than 3, and for a zero vector.
    """
    return frame(_rows(pairs, tokens))


def _rows(pairs: list[Pair], tokens: int) -> Iterator[dict]:
    reference_sums = {}  # replicates share their parent, whose sums are computed once
    for pair, model, reference in opened("rsa", pairs):
        for variant, positions in samples(model, tokens, pair.stimuli).items():
            _check_count(len(positions))
            blocks = token_blocks(model.offsets, positions)
            for layer, ref_layer in matched_layers(model.layers, reference.layers):
                x = model.states(layer, positions)
                y = reference.states(ref_layer, positions)
                v = similarity_rows(y, f"hidden layer {ref_layer} in {pair.reference}")
                key = (pair.reference, pair.stimuli, variant, ref_layer)
                if key not in reference_sums:
                    reference_sums[key] = own_sums(v, blocks)
                where = f"hidden layer {layer} in {pair.model}"
                values = correlate(x, y, v, reference_sums[key], blocks, where)
                if np.isnan(values[0]):
                    tell_undefined("rsa", pair, layer)
                    continue
                keys = {"variant": variant, "layer": layer, "ref_layer": ref_layer, "head": 0}
                numbers = {"value": float(values[0]), "sd": np.nan, "n": len(positions)}
                yield pair.keys | keys | numbers | {"jackknife": values[1:]}
