"""Linear centred kernel alignment (Kornblith et al. 2019, section 3), biased as published and
debiased.

With K = XX' and L = YY' of centred X [n, d_x], Y [n, d_y],

    CKA = HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L)),   HSIC(K, L) proportional to tr KL = |X'Y|_F^2

which grows with d / n: independent X and Y have not 0 but `null_biased`. The unbiased estimator of
HSIC (Song et al. 2012) leaves out each token's product with itself. As K and L have rows that sum
to 0, with k = diag K and l = diag L it is, but for a factor 1 / n (n - 3) that cancels,

    |X'Y|_F^2 - n / (n - 2) k'l + sum(k) sum(l) / (n - 1)(n - 2)

so that d x d scatter matrices and squared lengths of rows replace the n x n kernels. Both forms of
CKA are invariant to orthogonal maps, to scaling and to shifts of either side, and both weigh a
direction by its variance squared: a few outlying tokens or dimensions can decide them (Davari et
al. 2023).
"""

import numpy as np

from bertshift.errors import UserError
from bertshift.metrics.hidden_states import FEWEST, Moments

# The least HSIC of a model with itself, as a share of the biased estimate: below, it is rounding.
LEAST_HSIC = 1e-9


def hsic(xy: np.ndarray, x_squares: np.ndarray, y_squares: np.ndarray) -> float:
    """Calculate n (n - 3) times the unbiased HSIC, from X'Y [d_x, d_y] and squared lengths [n] of
    the centred rows of X and Y.

    Its mean over all orders of the rows of Y is 0. UserError below 4 tokens.
    """
    n = len(x_squares)
    if n < FEWEST:
        raise UserError(f"Debiased CKA needs at least 4 tokens and got {n}: ask for more stimuli.")
    diagonals = n / (n - 2) * (x_squares @ y_squares)
    totals = x_squares.sum() * y_squares.sum() / ((n - 1) * (n - 2))
    return float(np.vdot(xy, xy) - diagonals + totals)


def debiased(moments: Moments) -> float:
    """Calculate CKA from unbiased estimates of HSIC. It is at most 1; 0 is expected of independent
    X and Y, so it is at times below 0. NaN, as 0 / 0, where the estimate of a model with itself is
    0 up to rounding: all tokens but one are equal, or all are equally far apart. UserError below 4
    tokens."""
    xx = moments.xx
    yy = moments.yy
    x_squares, y_squares = moments.squares()
    hsic_x = hsic(xx, x_squares, x_squares)
    hsic_y = hsic(yy, y_squares, y_squares)
    if hsic_x <= LEAST_HSIC * np.vdot(xx, xx) or hsic_y <= LEAST_HSIC * np.vdot(yy, yy):
        return np.nan
    return hsic(moments.xy, x_squares, y_squares) / (hsic_x * hsic_y) ** 0.5


def biased(moments: Moments) -> float:
    """Calculate CKA, from 0 to 1, from scatter matrices of centred X and Y."""
    norms = np.linalg.norm(moments.xx) * np.linalg.norm(moments.yy)
    return float(np.vdot(moments.xy, moments.xy) / norms)


def distances(moments: Moments) -> dict[str, float]:
    """Measure 1 - CKA in both forms: variant -> distance."""
    return {"cka_debiased": 1 - debiased(moments), "cka_biased": 1 - biased(moments)}


def null_distances(moments: Moments) -> dict[str, float]:
    """Measure the mean of `distances` over all orders of the rows of Y: of unrelated states."""
    return {"cka_debiased": 1.0, "cka_biased": 1 - null_biased(moments)}


def null_biased(moments: Moments) -> float:
    """Calculate the mean of `biased` over all orders of the rows of Y."""
    norms = np.linalg.norm(moments.xx) * np.linalg.norm(moments.yy)
    traces = np.trace(moments.xx) * np.trace(moments.yy)
    return float(traces / ((moments.tokens - 1) * norms))
