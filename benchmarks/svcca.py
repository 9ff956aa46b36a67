"""SVCCA from covariances against the decomposition of both n x d matrices, CPU time, same threads
for both.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/svcca.py [--tokens 20000] [--width 768]

The other route is what google/svcca's users do, written from its formulas: singular value
decomposition of each matrix, cut at 99% of the variance, then canonical correlations of what is
left.
"""

import argparse

import numpy as np
from timing import timed

from bertshift.metrics.hidden_states import CenteredStates, Comparison
from bertshift.metrics.svcca import SHARE, correlations, svcca


def principal_components(z):
    """Cut [neurons, n] at 99% of the variance."""
    _, s, v = np.linalg.svd(z - z.mean(axis=1, keepdims=True), full_matrices=False)
    k = int(np.searchsorted(np.cumsum(s**2), 0.99 * np.sum(s**2))) + 1
    return s[:k, None] * v[:k]


def inverse_root(covariance):
    values, vectors = np.linalg.eigh(np.linalg.pinv(covariance))
    return vectors * np.sqrt(values) @ vectors.T


def two_decompositions(x, y):
    """x, y [d, n], neurons first, as that library wants them."""
    x, y = principal_components(x.astype(np.float64)), principal_components(y.astype(np.float64))
    k = len(x)
    covariance = np.cov(x, y)
    cross = covariance[:k, k:]
    whitened = inverse_root(covariance[:k, :k]) @ cross @ inverse_root(covariance[k:, k:])
    return 1 - np.linalg.svd(whitened)[1].mean()


def only_svcca99(x, y):
    moments = Comparison.of(CenteredStates.of(x), CenteredStates.of(y)).moments
    a, b = moments.principal()
    return 1 - correlations(a, b, moments.xy, a.count_for(SHARE), b.count_for(SHARE)).mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=20_000)
    parser.add_argument("--width", type=int, default=768)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    shape = arguments.tokens, arguments.width
    spectrum = np.geomspace(2, 0.05, shape[1])
    x = rng.normal(size=shape) * spectrum @ rng.normal(size=(shape[1], shape[1]))
    x = x + 10 * rng.normal(size=shape[1])
    y = (x + x.std() / 4 * rng.normal(size=shape)).astype(np.float32)
    x = x.astype(np.float32)
    ours, value = timed(only_svcca99, x, y)
    all_variants, variants = timed(svcca, x, y)
    theirs, expected = timed(two_decompositions, x.T, y.T)
    kept = variants["svcca99"]["k_model"]
    print(f"{shape[0]} tokens, width {shape[1]}, kept {kept}, distance {value:.4f}")
    print(f"{'route':24}{'CPU s':>10}{'ratio':>8}  difference")
    print(f"{'ours':24}{ours:10.2f}{1:8.1f}")
    print(f"{'ours, all variants':24}{all_variants:10.2f}{all_variants / ours:8.1f}")
    print(
        f"{'two decompositions':24}{theirs:10.2f}{theirs / ours:8.1f}  {abs(value - expected):.1e}"
    )


if __name__ == "__main__":
    main()
