"""Orthogonal Procrustes distance of hidden states (Ding et al. 2021), on a scale from 0 to 1.

    D = 1 - |X'Y|_* / (|X|_F |Y|_F) = min over orthogonal Q of |X / |X|_F - (Y / |Y|_F) Q|_F^2 / 2

for centred X and Y; |.|_* is the sum of singular values. Ding et al. print 2 D. Invariant to
orthogonal maps, scaling and shifts of either side.
"""

import numpy as np

from bertshift.metrics.hidden_states import Moments


def distance(moments: Moments) -> float:
    """Measure the Procrustes distance, from 0 to 1, of two sides; their widths may differ."""
    nuclear = np.linalg.svd(moments.xy, compute_uv=False).sum()
    norms = np.sqrt(np.trace(moments.xx) * np.trace(moments.yy))
    return float(1 - nuclear / norms)
