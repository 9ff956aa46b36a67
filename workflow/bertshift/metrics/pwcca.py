"""Projection-weighted canonical correlation analysis (Morcos et al. 2018).

    D = 1 - sum_i alpha_i rho_i / sum_i alpha_i,   alpha_i = sum_j |<h_i, x_j>|

rho are the canonical correlations of SVCCA, h_i [n] the canonical variates of one side and x_j [n]
that side's neurons: a correlation counts by how much of the side lies along it. Either side may
weigh, and the two distances differ. As in SVCCA, both sides are first cut to directions with 99 %
of the variance. Invariant to scaling and shifts of both sides and, where nothing is cut, to
invertible maps of the side that does not weigh; not to rotations of the one that does, as the sum
is over its neurons.
"""

import numpy as np

from bertshift.metrics.hidden_states import Principal


def variates(
    x: Principal, y: Principal, xy: np.ndarray, k_x: int, k_y: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute the canonical correlations rho [c] of the first k_x and k_y principal directions, c
    the fewer of the two. Return also the variates' coordinates [k_x, c] and [k_y, c] in the
    whitened directions."""
    whitened = x.whitening(k_x).T @ xy @ y.whitening(k_y)
    a, rho, b = np.linalg.svd(whitened, full_matrices=False)
    return np.clip(rho, 0.0, 1.0), a, b.T


def weights(side: Principal, coordinates: np.ndarray) -> np.ndarray:
    """Weight the canonical correlations of the side whose variates have these coordinates [k, c]:
    alpha [c], adding up to 1."""
    k = len(coordinates)
    # [d, k], in the same whitened directions.
    neurons = side.directions[:, :k] * np.sqrt(side.variances[:k])
    alpha = np.abs(neurons @ coordinates).sum(axis=0)
    return alpha / alpha.sum()


def distance(rho: np.ndarray, alpha: np.ndarray) -> float:
    """Measure the PWCCA distance, from 0 to 1.

    rho: [c], correlations
    alpha: [c], their weights
    """
    return float(1 - rho @ alpha)
