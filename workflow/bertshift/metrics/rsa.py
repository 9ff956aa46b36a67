"""Representational similarity analysis (Merchant et al. 2020, sections 5.1 and 6, figures 2 and 5).

The score is Pearson's correlation, over all pairs i < j of n tokens, of cos(x_i, x_j) with cos(y_i, y_j). Neither
n x n matrix is needed: with unit rows U = X / |X|, V = Y / |Y| and N = n (n - 1) / 2 pairs,

    sum cos = (|sum_i u_i|^2 - n) / 2,   sum cos^2 = (|U'U|_F^2 - n) / 2,   sum cos cos = (|U'V|_F^2 - n) / 2

so that d x d moments, additive over tokens, hold all of it. In float64: float32 moments lose up to 1e-2.
"""

import numpy as np
import pandas as pd

from bertshift.activations.store import Activations
from bertshift.errors import UserError
from bertshift.metrics.pairs import Pair, frame, matched_layers, opened, sample_tokens

ROWS = 4096


def unit_rows(x: np.ndarray, where: str = "the input") -> np.ndarray:
    """[n, d] -> float64 rows of norm 1. Raises UserError for a row that is zero or not finite."""
    x = np.asarray(x, np.float64)
    norms = np.sqrt(np.einsum("ij,ij->i", x, x))
    if not (np.isfinite(norms) & (norms > 0)).all():
        row = int(np.argmin(np.isfinite(norms) & (norms > 0)))
        raise UserError(
            f"Row {row} of {where} is zero or not finite, so it has no direction: check the model."
        )
    return x / norms[:, None]


def _pearson(n, sum_x, square_x, sum_y, square_y, product):
    """Correlation over pairs from sums over pairs; each may be an array of several samples' sums."""
    pairs = n * (n - 1) / 2
    spread = (square_x - sum_x**2 / pairs) * (square_y - sum_y**2 / pairs)
    if np.any(spread <= 0):
        raise UserError(
            "All tokens are equally similar to each other, so RSA is undefined: check the stimuli."
        )
    return np.clip((product - sum_x * sum_y / pairs) / np.sqrt(spread), -1.0, 1.0)


def _check_count(n: int) -> None:
    if n < 3:
        raise UserError(f"RSA needs at least 3 tokens and got {n}: ask for more stimuli.")


class Moments:
    """RSA of any number of token pairs in one pass: O(n d^2) time, O(d^2) memory.

    update(x, y) takes batches x [m, d_x], y [m, d_y] of the same m tokens; the widths may differ.
    """

    def __init__(self):
        self.n, self.identical = 0, True
        self.total = self.gram = (0.0, 0.0)
        self.cross = 0.0

    def update(self, x: np.ndarray, y: np.ndarray) -> None:
        if len(x) != len(y):
            raise ValueError("x and y hold different tokens")
        for first in range(0, len(x), ROWS):
            a, b = x[first : first + ROWS], y[first : first + ROWS]
            self.identical = self.identical and np.array_equal(a, b)
            u, v = unit_rows(a), unit_rows(b)
            self.n += len(u)
            self.total = (self.total[0] + u.sum(axis=0), self.total[1] + v.sum(axis=0))
            self.gram = (self.gram[0] + u.T @ u, self.gram[1] + v.T @ v)
            self.cross = self.cross + u.T @ v

    def correlation(self) -> float:
        """Raises UserError below 3 tokens, and where all tokens are equally similar."""
        _check_count(self.n)
        sums = [(total @ total - self.n) / 2 for total in self.total]
        squares = [(np.vdot(gram, gram) - self.n) / 2 for gram in self.gram]
        product = (np.vdot(self.cross, self.cross) - self.n) / 2
        value = _pearson(self.n, sums[0], squares[0], sums[1], squares[1], product)
        return 1.0 if self.identical else float(value)


def rsa(x: np.ndarray, y: np.ndarray) -> float:
    """RSA of x [n, d_x] and y [n, d_y], hidden states of the same n tokens. Raises as `Moments` does."""
    moments = Moments()
    moments.update(x, y)
    return moments.correlation()


def _sums(u: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """[1 + blocks] sum of cos over pairs: of all rows, then with each block of rows left out."""
    blocks = np.add.reduceat(u, starts, axis=0)
    total = blocks.sum(axis=0)
    totals = np.vstack([total, total - blocks])
    return (np.einsum("ij,ij->i", totals, totals) - _counts(u, starts)) / 2


def _products(u: np.ndarray, v: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """[1 + blocks] sum of cos cos over pairs: of all rows, then with each block of rows left out.

    |G - G_b|^2 = |G|^2 - 2 <G, G_b> + |G_b|^2 with G = U'V needs no block's own d x d moments:
    <G, G_b> is a sum of u_i' G v_i, and |G_b|^2 = <U_b U_b', V_b V_b'> is small.
    """
    gram = u.T @ v
    whole = np.vdot(gram, gram)
    inner = np.add.reduceat(np.einsum("ij,ij->i", u @ gram, v), starts)
    ends = np.append(starts[1:], len(u))
    own = [np.vdot(u[a:b] @ u[a:b].T, v[a:b] @ v[a:b].T) for a, b in zip(starts, ends, strict=True)]
    return (np.append(whole, whole - 2 * inner + own) - _counts(u, starts)) / 2


def _counts(u: np.ndarray, starts: np.ndarray) -> np.ndarray:
    return np.append(len(u), len(u) - np.diff(np.append(starts, len(u))))


def _blocks(activations: Activations, positions: np.ndarray) -> np.ndarray:
    """Where each jackknife block of sampled tokens starts: about 50 examples a block, at least 50 blocks if it can."""
    blocks = min(activations.examples, max(50, activations.examples // 50))
    block = activations.example_of_token()[positions] * blocks // activations.examples
    return np.flatnonzero(np.diff(block, prepend=-1))


def compare(pairs: list[Pair], tokens: int = 5000) -> pd.DataFrame:
    """One row a pair, layer and variant: "content" (no [CLS], [SEP]; the headline) and "all_tokens".

    tokens: how many are drawn, without replacement, from all of the stimuli's; the same ones for every model and
    layer. n is their number. The column sd holds the score's standard error: the jackknife over blocks of examples,
    as tokens of a sentence are not independent (NaN with fewer than two blocks).
    Raises UserError where tokens of a pair differ or are fewer than 3, and for a zero vector.
    """
    return frame(_rows(pairs, tokens))


def _rows(pairs: list[Pair], tokens: int):
    references = {}  # replicates share their parent: its own moments are computed once
    for pair, model, reference in opened("rsa", pairs):
        for variant in ("content", "all_tokens"):
            positions = sample_tokens(
                model, tokens, "rsa", pair.stimuli, variant, special=variant == "all_tokens"
            )
            _check_count(len(positions))
            starts = _blocks(model, positions)
            for layer, ref_layer in matched_layers(model.layers, reference.layers):
                x, y = model.hidden(layer)[positions], reference.hidden(ref_layer)[positions]
                v = unit_rows(y, f"hidden layer {ref_layer} in {pair.reference}")
                key = (pair.reference, pair.stimuli, variant, ref_layer)
                if key not in references:
                    references[key] = _sums(v, starts), _products(v, v, starts)
                if np.array_equal(x, y):
                    value, error = 1.0, 0.0
                else:
                    u = unit_rows(x, f"hidden layer {layer} in {pair.model}")
                    own = _sums(u, starts), _products(u, u, starts)
                    scores = _pearson(_counts(u, starts), *own, *references[key], _products(u, v, starts))
                    value, error = float(scores[0]), _jackknife(scores[1:])
                yield pair.keys | {
                    "variant": variant,
                    "layer": layer,
                    "ref_layer": ref_layer,
                    "head": 0,
                    "value": value,
                    "sd": error,
                    "n": len(positions),
                }


def _jackknife(left_out: np.ndarray) -> float:
    blocks = len(left_out)
    return float(np.sqrt((blocks - 1) * left_out.var())) if blocks > 1 else float("nan")
