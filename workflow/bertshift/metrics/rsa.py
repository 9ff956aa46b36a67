"""Representational similarity analysis (Merchant et al. 2020, sections 5.1 and 6, figures 2 and 5).

The score is Pearson's correlation, over all pairs i < j of n tokens, of cos(x_i, x_j) with cos(y_i, y_j). Neither
n x n matrix is needed: with unit rows U = X / |X|, V = Y / |Y| and N = n (n - 1) / 2 pairs,

    sum cos = (|sum_i u_i|^2 - n) / 2,   sum cos^2 = (|U'U|_F^2 - n) / 2,   sum cos cos = (|U'V|_F^2 - n) / 2

so that d x d moments, additive over tokens, hold all of it. In float64: float32 moments lose up to 1e-2.
"""

from itertools import pairwise

import numpy as np
import pandas as pd

from bertshift.activations.sampling import beside_content, two_samples
from bertshift.activations.store import Activations
from bertshift.errors import UserError
from bertshift.metrics.pairs import Pair, frame, matched_layers, opened, tell_undefined
from bertshift.seeds import seed_from

ROWS = 4096
# What sums of equal cosines may differ by.
ROUNDING = 1e-12
CELLS = 1 << 22  # numbers in a slice of the blocks' moments: 32 MB
DRAWS = 200
INTERVAL = ("sd", "low", "high")


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


def _pearson(pairs, sum_x, square_x, sum_y, square_y, product):
    """Correlation over pairs from sums over pairs; NaN without spread. Each may be an array of several samples' sums."""
    spread_x, spread_y = square_x - sum_x**2 / pairs, square_y - sum_y**2 / pairs
    known = (spread_x > ROUNDING * square_x) & (spread_y > ROUNDING * square_y)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(np.where(known, spread_x * spread_y, np.nan))
        return np.clip((product - sum_x * sum_y / pairs) / spread, -1.0, 1.0)


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
        pairs = self.n * (self.n - 1) / 2
        value = float(_pearson(pairs, sums[0], squares[0], sums[1], squares[1], product))
        if np.isnan(value):
            raise UserError("All tokens are equally similar to each other, so RSA is undefined.")
        return 1.0 if self.identical else value


def rsa(x: np.ndarray, y: np.ndarray) -> float:
    """RSA of x [n, d_x] and y [n, d_y], hidden states of the same n tokens. Raises as `Moments` does."""
    moments = Moments()
    moments.update(x, y)
    return moments.correlation()


class Samples:
    """RSA of weighted samples of blocks of rows: block b is in sample s `weights[s, b]` times.

    starts [blocks] are the blocks' first rows, of `rows` in all. Pairs of rows in different blocks count as often as
    the product of their weights. Rows of two copies of one block are no pair: a row has cosine 1 with its copy in every
    model, so such pairs would make any two models alike; pairs within a block count as often as the block.

    Sums over pairs of rows in blocks a and b follow from the blocks' moments, as for all rows: of cos, from the product
    of sum u over a with that over b; of cos cos, <U_a'V_a, U_b'V_b>, as many operations as U'V and blocks^2 d^2 more.
    """

    def __init__(self, rows: int, starts: np.ndarray, weights: np.ndarray):
        self.blocks = [slice(*ends) for ends in pairwise([*starts, rows])]
        self.starts, self.weights = starts, weights
        self.sizes = np.diff([*starts, rows])
        self.pairs = self._over_pairs(np.outer(self.sizes, self.sizes).astype(np.float64))

    def own(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """[samples] sums of cos and of cos^2 over the pairs of unit rows."""
        totals = np.add.reduceat(u, self.starts, axis=0)
        return self._over_pairs(totals @ totals.T), self._products(u, u)

    def correlations(self, u: np.ndarray, v: np.ndarray, own_v: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """[samples] RSA of the unit rows u and v; own_v is `own(v)`. NaN where all pairs are equally similar."""
        return _pearson(self.pairs, *self.own(u), *own_v, self._products(u, v))

    def _products(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        # All blocks' d x d moments at once would be too large.
        width = max(1, CELLS // (len(self.blocks) * u.shape[1]))
        sums = 0.0
        for first in range(0, v.shape[1], width):
            moments = np.array([(u[b].T @ v[b, first : first + width]).ravel() for b in self.blocks])
            sums = sums + moments @ moments.T
        return self._over_pairs(sums)

    def _over_pairs(self, sums: np.ndarray) -> np.ndarray:
        """[samples] sums over pairs i < j from [blocks, blocks] sums over all i, j, where each i, i holds a 1."""
        diagonal = sums.diagonal()
        between = np.einsum("sb,sb->s", self.weights @ (sums - np.diag(diagonal)), self.weights)
        return (between + self.weights @ (diagonal - self.sizes)) / 2


def draws(blocks: int, stimuli: str) -> np.ndarray:
    """[1 + DRAWS, blocks] how often each block is in the stimuli themselves, then in each bootstrap sample.

    The stimuli's name alone decides, so that samples for several models, layers and variants can be paired.
    """
    generator = np.random.default_rng(seed_from("rsa", "bootstrap", stimuli))
    return np.vstack([np.ones(blocks), generator.multinomial(blocks, np.full(blocks, 1 / blocks), DRAWS)])


def _blocks(activations: Activations) -> tuple[np.ndarray, int]:
    """[n] the block of each example: about 50 examples a block, at least 50 blocks if it can; and their number."""
    blocks = min(activations.examples, max(50, activations.examples // 50))
    return np.arange(activations.examples) * blocks // activations.examples, blocks


def compare(pairs: list[Pair], tokens: int = 5000) -> pd.DataFrame:
    """One row a pair, layer and variant: "content" (no special and no first tokens; the headline) and "all_tokens".

    tokens: how many are drawn, without replacement, from all of the stimuli's; the same ones for every model and
    layer. n is their number. sd, the score's standard error, and low, high, its 95 % interval, are standard deviation
    and quantiles of 200 bootstrap samples of blocks of examples, as tokens of a sentence are not independent (NaN with
    fewer than two blocks). A layer in which all tokens are equally similar, as after a training that collapsed, has no row.
    Raises UserError where tokens of a pair differ or are fewer than 3, and for a zero vector.
    """
    return frame(_rows(pairs, tokens), extra=("low", "high"))


def _rows(pairs: list[Pair], tokens: int):
    references = {}  # replicates share their parent: its own sums are computed once
    for pair, model, reference in opened("rsa", pairs):
        block_of_example, blocks = _blocks(model)
        weights = draws(blocks, pair.stimuli)
        apart = beside_content(model.special, model.offsets)
        for variant, positions in two_samples(apart, tokens, "rsa", pair.stimuli).items():
            _check_count(len(positions))
            block_of_token = block_of_example[model.example_of_token()[positions]]
            present, starts = np.unique(block_of_token, return_index=True)
            samples = Samples(len(positions), starts, weights[:, present])
            for layer, ref_layer in matched_layers(model.layers, reference.layers):
                x, y = model.states(layer, positions), reference.states(ref_layer, positions)
                v = unit_rows(y, f"hidden layer {ref_layer} in {pair.reference}")
                key = (pair.reference, pair.stimuli, variant, ref_layer)
                if key not in references:
                    references[key] = samples.own(v)
                if np.array_equal(x, y):
                    scores = np.ones(1 + DRAWS)
                else:
                    u = unit_rows(x, f"hidden layer {layer} in {pair.model}")
                    scores = samples.correlations(u, v, references[key])
                if np.isnan(scores[0]):
                    tell_undefined("rsa", pair, layer)
                    continue
                yield pair.keys | {
                    "variant": variant,
                    "layer": layer,
                    "ref_layer": ref_layer,
                    "head": 0,
                    "value": float(scores[0]),
                    **(interval(scores[1:]) if len(present) > 1 else dict.fromkeys(INTERVAL, np.nan)),
                    "n": len(positions),
                }


def interval(scores: np.ndarray) -> dict[str, float]:
    """Standard error and 95 % interval from the scores of bootstrap samples; NaN if one of them is undefined."""
    return dict(zip(INTERVAL, (scores.std(ddof=1), *np.quantile(scores, [0.025, 0.975])), strict=True))
