"""Linear CKA from scatter matrices against the usual form with n x n Gram matrices, CPU time, same
threads for both.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/cka.py [--tokens 5000] [--width 768]

The other route is the one of most published code: two Gram matrices, centred, or with their
diagonals left out for the unbiased estimator of HSIC, and products of these.
"""

import argparse
import tracemalloc

import numpy as np
from timing import timed

from bertshift.metrics import cka
from bertshift.metrics.hidden_states import CenteredStates, Comparison


def from_scatter(x, y):
    moments = Comparison.of(CenteredStates.of(x), CenteredStates.of(y)).moments
    return cka.debiased(moments), cka.biased(moments)


def from_gram_matrices(x, y):
    x, y = x.astype(np.float64), y.astype(np.float64)
    k, l = x @ x.T, y @ y.T
    return normalise(unbiased_hsic, k, l), normalise(biased_hsic, k, l)


def normalise(hsic, k, l):
    return hsic(k, l) / np.sqrt(hsic(k, k) * hsic(l, l))


def unbiased_hsic(k, l):
    n = len(k)
    k, l = k.copy(), l.copy()
    np.fill_diagonal(k, 0)
    np.fill_diagonal(l, 0)
    rows_k, rows_l = k.sum(axis=0), l.sum(axis=0)
    totals = rows_k.sum() * rows_l.sum() / ((n - 1) * (n - 2))
    return np.sum(k * l) + totals - 2 / (n - 2) * rows_k @ rows_l


def biased_hsic(k, l):
    return np.sum(center(k) * center(l))


def center(k):
    means = k.mean(axis=0)
    return k - means - means[:, None] + means.mean()


def measure(function, x, y):
    """Return CPU seconds, and peak megabytes of a second call, as watching memory takes time."""
    seconds, values = timed(function, x, y)
    tracemalloc.start()
    function(x, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return seconds, peak / 1e6, np.array(values)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=5000)
    parser.add_argument("--width", type=int, default=768)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    shape = arguments.tokens, arguments.width
    x = rng.normal(size=shape) * np.geomspace(2, 0.05, shape[1]) + 10 * rng.normal(size=shape[1])
    y = (x + rng.normal(size=shape)).astype(np.float32)
    x = x.astype(np.float32)
    ours, memory, values = measure(from_scatter, x, y)
    theirs, their_memory, expected = measure(from_gram_matrices, x, y)
    print(f"{shape[0]} tokens, width {shape[1]}, debiased {values[0]:.4f}, biased {values[1]:.4f}")
    print(f"{'route':16}{'CPU s':>10}{'ratio':>8}{'MB':>8}  difference")
    print(f"{'ours':16}{ours:10.2f}{1:8.1f}{memory:8.0f}")
    difference = abs(values - expected).max()
    print(
        f"{'Gram matrices':16}{theirs:10.2f}{theirs / ours:8.1f}{their_memory:8.0f}"
        f"  {difference:.1e}"
    )


if __name__ == "__main__":
    main()
