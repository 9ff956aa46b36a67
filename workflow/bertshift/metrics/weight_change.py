"""How the weights of two models differ, tensor by tensor.

For a tensor W of a model, W0 of its reference and D = W - W0:

    norm      |D|_F / |W0|_F
    rank90    the fewest singular values of a matrix D whose squares are 90 % of |D|_F^2: from the
              eigenvalues of D'D, or DD' where that is smaller
    cosine    <D, E> / |D|_F |E|_F with a third model's change E from the same reference

All are sums over parts of the tensors, in float64, so that memory holds a few parts and the
smaller of D'D and DD'. The rank is what adapters of low rank limit (Hu et al. 2021, LoRA, section
4.1).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from scipy import linalg

from bertshift.models.tensors import StoredTensor

SHARE = 0.9  # of the squared norm, that the rank holds
ROUNDING = 1e-12


@dataclass(frozen=True)
class WeightChange:
    """change, size: |D|_F and |W0|_F
    rank: `rank90`; NaN for what is no matrix
    ranks: how many singular values there are
    cosine: NaN without a third model, and where one of both changes is 0
    """

    change: float
    size: float
    rank: float
    ranks: float
    cosine: float

    @property
    def norm(self) -> float:
        """The relative norm: infinite where the reference is 0 and the tensor is not."""
        if not self.change:
            return 0.0
        return self.change / self.size if self.size else np.inf


def compare(
    tensor: StoredTensor,
    reference: StoredTensor,
    third: StoredTensor | None = None,
    *,
    rank: bool = True,
) -> WeightChange:
    """Measure a tensor's change.

    third: of a third model; all three have one shape
    rank: whether the rank is computed, which takes longest
    """
    squares = size = product = third_squares = 0.0
    gram = None
    shape = reference.shape
    is_matrix = rank and len(shape) == 2
    for change, old, other in _changes(tensor, reference, third):
        squares += _dot(change, change)
        size += _dot(old, old)
        if other is not None:
            product += _dot(change, other)
            third_squares += _dot(other, other)
        if is_matrix and change.any():
            # Parts are along the longer side, so that this is the smaller of both products.
            own = change.T @ change if shape[0] >= shape[1] else change @ change.T
            gram = own if gram is None else np.add(gram, own, out=gram)
    lengths = (squares * third_squares) ** 0.5
    return WeightChange(
        change=squares**0.5,
        size=size**0.5,
        rank=_count_rank(gram) if is_matrix else np.nan,
        ranks=min(shape) if is_matrix else np.nan,
        cosine=product / lengths if lengths else np.nan,
    )


def _changes(
    tensor: StoredTensor, reference: StoredTensor, third: StoredTensor | None
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
    """Yield parts of the change, of the reference, and of the third model's change, if there is
    one."""
    for new, old, other in zip(
        tensor.parts(), reference.parts(), third.parts() if third else repeat(None)
    ):
        yield new - old, old, None if other is None else other - old


def _count_rank(gram: np.ndarray | None) -> int:
    """Count the fewest eigenvalues of D'D, or DD', that hold SHARE of their sum; 0 without any."""
    if gram is None:
        return 0
    values = np.clip(linalg.eigvalsh(gram, check_finite=False)[::-1], 0, None)
    cumulated = np.cumsum(values)
    return int(np.searchsorted(cumulated, SHARE * cumulated[-1] * (1 - ROUNDING))) + 1


def _dot(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.vdot(x, y))
