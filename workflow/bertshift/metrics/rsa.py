"""Representational similarity analysis (Merchant et al. 2020, sections 5.1 and 6, figures 2 and
5).

The score is Pearson's correlation, over all pairs i < j of n tokens, of cos(x_i, x_j) with
cos(y_i, y_j). Neither n x n matrix is needed: with unit rows U = X / |X|, V = Y / |Y| and N = n (n
- 1) / 2 pairs,

    sum cos = (|sum_i u_i|^2 - n) / 2,   sum cos^2 = (|U'U|_F^2 - n) / 2,   sum cos cos = (|U'V|_F^2 - n) / 2

so that d x d moments, additive over tokens, hold all of it. In float64: float32 moments lose up to
1e-2.

Where all x_i point nearly the same way, all cosines are nearly 1 and these sums lose their digits.
The correlation is the same of 2 cos_ij - 2, which with w_i = u_i - mean(u) and a_i = |w_i|^2 is

    2 w_i'w_j - a_i - a_j = 2 w_i'w_j + (a_i - 1) (a_j - 1) / 2 - (a_i + 1) (a_j + 1) / 2

that is, r_i'r_j without conjugation, of complex rows r_i that then replace u_i:

    r_i = [sqrt(2) w_i, (a_i - 1) / sqrt(2), sqrt(-1) (a_i + 1) / sqrt(2)]
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bertshift.activations.sampling import beside_content, two_samples
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

# The least spread of cosines, as a share of their squares: below, its digits are rounding.
LEAST_SPREAD = 1e-9
NARROW = 1e-3  # mean squared distance of unit rows from their mean: below, sums lose 6 digits
CELLS = 1 << 22  # numbers in a slice of the blocks' moments: 32 MB


def unit_rows(x: np.ndarray, where: str = "the input") -> np.ndarray:
    """Scale the rows of x [n, d] to norm 1, in float64. Raises UserError for a row that is zero or
    not finite."""
    x = scaled(x, axis=1)
    norms = np.sqrt(np.einsum("ij,ij->i", x, x))
    if not (np.isfinite(norms) & (norms > 0)).all():
        row = int(np.argmin(np.isfinite(norms) & (norms > 0)))
        raise UserError(
            f"Row {row} of {where} is zero or not finite, so it has no direction: check the model."
        )
    return x / norms[:, None]


def similarity_rows(x: np.ndarray, where: str = "the input") -> np.ndarray:
    """Compute rows whose products, without conjugation, give RSA of the rows of x [n, d].

    They are `unit_rows` [n, d]. Where these all point nearly the same way, they are the complex
    rows [n, d + 2] of the module's docstring, of w_i divided by their root mean square.
    Raises UserError as `unit_rows`.
    """
    u = unit_rows(x, where)
    mean = u.mean(axis=0)
    if 1 - mean @ mean > NARROW:
        return u
    w = u - mean
    a = np.einsum("ij,ij->i", w, w)
    if not differ(a.sum(), len(u) * (mean @ mean), np.asarray(x).dtype):
        return u
    w, a = w / np.sqrt(a.mean()), a / a.mean()
    return np.column_stack([2**0.5 * w, 2**-0.5 * (a - 1), 1j * 2**-0.5 * (a + 1)])


def _pearson(tokens, sum_x, square_x, sum_y, square_y, product):
    """Compute a correlation from sums over all pairs of so many tokens; NaN without spread.

    All arguments may be arrays over several samples.
    """
    pairs = tokens * (tokens - 1) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        spread_x, spread_y = square_x - sum_x**2 / pairs, square_y - sum_y**2 / pairs
        # The number of tokens was subtracted from the squares: its rounding counts as well.
        known_x = spread_x > LEAST_SPREAD * (square_x + tokens)
        known_y = spread_y > LEAST_SPREAD * (square_y + tokens)
        known = known_x & known_y
        spread = np.sqrt(np.where(known, spread_x * spread_y, np.nan))
        return np.clip((product - sum_x * sum_y / pairs) / spread, -1.0, 1.0)


def _check_count(n: int) -> None:
    if n < 3:
        raise UserError(f"RSA needs at least 3 tokens and got {n}: ask for more stimuli.")


class Deleted:
    """RSA of all rows, then without each of some blocks of rows.

    Sums over the pairs of the rest follow from the blocks' moments, as for all rows: with M_b =
    U_b'V_b and M their sum,

        <M - M_b, M - M_b> = <M, M> - 2 <M, M_b> + <M_b, M_b>

    for cos cos, and likewise with sums of u for cos: as many operations as U'V, and 4 d^2 for each
    block.
    """

    def __init__(self, blocks: Sequence[slice]):
        self.blocks = blocks
        rows = np.array([block.stop - block.start for block in blocks])
        self.left = np.append(rows.sum(), rows.sum() - rows)

    def own(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sum cos and cos^2 over the pairs of `similarity_rows`: [1 + blocks] each."""
        totals = np.array([u[block].sum(axis=0) for block in self.blocks])
        return self._over_pairs(*_products(totals), u), self._moments(u, u)

    def correlations(
        self, u: np.ndarray, v: np.ndarray, own_v: tuple[np.ndarray, np.ndarray]
    ) -> np.ndarray:
        """Compute RSA [1 + blocks] of `similarity_rows` u, v; own_v is `own(v)`.

        NaN where all pairs are equally similar.
        """
        return _pearson(self.left, *self.own(u), *own_v, self._moments(u, v))

    def _moments(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        # All blocks' d x d moments at once would be too large.
        width = max(1, CELLS // (len(self.blocks) * u.shape[1]))
        parts = (slice(first, first + width) for first in range(0, v.shape[1], width))
        found = [
            _products(np.array([(u[b].T @ v[b, part]).ravel() for b in self.blocks]))
            for part in parts
        ]
        return self._over_pairs(*map(sum, zip(*found, strict=True)), u, v)

    def _over_pairs(self, whole, with_whole, own, *rows: np.ndarray) -> np.ndarray:
        """Derive the sums [1 + blocks] over pairs i < j from `_products` of these rows.

        Each pair (i, i) adds 1, as cos = 1, or 0 where rows are complex, as 2 cos - 2 = 0.
        """
        itself = 0 if any(map(np.iscomplexobj, rows)) else self.left
        return (np.append(whole, whole - 2 * with_whole + own).real - itself) / 2


def rsa(x: np.ndarray, y: np.ndarray) -> float:
    """Compute RSA of x [n, d_x] and y [n, d_y], hidden states of the same n tokens.

    Raises UserError below 3 tokens, for a zero vector, and where all tokens are equally similar
    up to rounding.
    """
    if len(x) != len(y):
        raise UserError(f"x holds {len(x)} tokens and y {len(y)}; give states of the same tokens.")
    _check_count(len(x))
    u, v = similarity_rows(x, "x"), similarity_rows(y, "y")
    whole = Deleted([slice(0, len(x))])
    value = float(whole.correlations(u, v, whole.own(v))[0])
    if np.isnan(value):
        raise UserError("All tokens are equally similar to each other, so RSA is undefined.")
    return 1.0 if np.array_equal(x, y) else value


def _products(blocks: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Compute <M, M>, <M, M_b> [blocks] and <M_b, M_b> [blocks] of M_b [blocks, ...] and their sum
    M."""
    whole = blocks.sum(axis=0)
    return whole @ whole, blocks @ whole, np.einsum("bi,bi->b", blocks, blocks)


def compare(pairs: list[Pair], tokens: int = 5000) -> pd.DataFrame:
    """Tabulate RSA, one row for each pair, layer and variant ("content", which is the headline,
    and "all_tokens").

    "content" has no special and no first tokens. tokens: how many are drawn, without replacement,
    from all tokens of the stimuli; the same ones for every model and layer. n is their number, sd
    is empty. A layer in which all tokens are equally similar, as after a training that collapsed,
    has no row. Raises UserError where tokens of a pair differ or are fewer than 3, and for a zero
    vector.
    """
    return frame(_rows(pairs, tokens))


def _rows(pairs: list[Pair], tokens: int):
    references = {}  # replicates share their parent: its own sums are computed once
    for pair, model, reference in opened("rsa", pairs):
        apart = beside_content(model.special, model.offsets)
        for variant, positions in two_samples(apart, tokens, pair.stimuli).items():
            _check_count(len(positions))
            deleted = Deleted(token_blocks(model.offsets, positions))
            for layer, ref_layer in matched_layers(model.layers, reference.layers):
                x, y = model.states(layer, positions), reference.states(ref_layer, positions)
                v = similarity_rows(y, f"hidden layer {ref_layer} in {pair.reference}")
                key = (pair.reference, pair.stimuli, variant, ref_layer)
                if key not in references:
                    references[key] = deleted.own(v)
                if np.array_equal(x, y):
                    scores = np.where(deleted.left > 2, 1.0, np.nan)
                else:
                    u = similarity_rows(x, f"hidden layer {layer} in {pair.model}")
                    scores = deleted.correlations(u, v, references[key])
                if np.isnan(scores[0]):
                    tell_undefined("rsa", pair, layer)
                    continue
                yield pair.keys | {
                    "variant": variant,
                    "layer": layer,
                    "ref_layer": ref_layer,
                    "head": 0,
                    "value": float(scores[0]),
                    "sd": np.nan,
                    "n": len(positions),
                    "without": scores[1:],
                }
