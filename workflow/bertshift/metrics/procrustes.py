"""Orthogonal Procrustes distance of hidden states (Ding et al. 2021), on a scale from 0 to 1.

    D = 1 - |X'Y|_* / (|X|_F |Y|_F) = min over orthogonal Q of |X / |X|_F - (Y / |Y|_F) Q|_F^2 / 2

for centred X and Y; |.|_* is the sum of singular values. Ding et al. print 2 D. Invariant to
orthogonal maps, scaling and shifts of either side.
"""

import numpy as np


def distance(xx: np.ndarray, xy: np.ndarray, yy: np.ndarray) -> float:
    """Measure the Procrustes distance, from 0 to 1, given scatter matrices of centred X [n, d_x]
    and Y [n, d_y]; the widths may differ."""
    nuclear = np.linalg.svd(xy, compute_uv=False).sum()
    return float(1 - nuclear / np.sqrt(np.trace(xx) * np.trace(yy)))
