"""Scale numbers so that their squares are in range, and separate differences from rounding.

A product with a power of two is exact: a measure that does not depend on scale keeps its bits.
"""

import numpy as np

# The least sum of squared distances from the mean, as a share of the mean's squares.
LEAST_FLOAT64 = 1e-22  # numbers that agree to 11 digits: a measure of the rest is right to 1e-6
LEAST_NARROWER = 1e-12  # above the rounding of float32


def scaled(x: np.ndarray, axis: int | None = None) -> np.ndarray:
    """Scale x by a power of two, in float64, so that the largest magnitude is from 1/2 to 1.

    axis: as in numpy.max; each slice along it is scaled by itself. Zeros stay zeros.
    """
    largest = np.abs(x).max(axis=axis, keepdims=True, initial=0)
    exponents = np.clip(np.frexp(largest)[1], -1000, 1000)  # 2^1000 and 2^-1000 are exact
    return x * np.ldexp(1.0, -exponents)


def differ(spread: float, size: float, dtype: np.dtype) -> bool:
    """Test whether rows of type `dtype` differ by more than rounding.

    spread: sum of their squared distances from the mean
    size: the mean's squared length for each
    """
    least = LEAST_FLOAT64 if dtype == np.float64 else LEAST_NARROWER
    return bool(spread > least * size)
