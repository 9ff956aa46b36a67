"""SVCCA from covariances against the decomposition of both n x d matrices, CPU time, same threads
for both.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/svcca.py [--tokens 20000] [--width 768]

The other route is what google/svcca's users do, written from its formulas: singular value
decomposition of each matrix, cut at 99% of the variance, then canonical correlations of what is
left.
"""

import argparse
from time import process_time

import numpy as np

from bertshift.metrics.hidden_states import CenteredStates, Comparison
from bertshift.metrics.svcca import SHARE, correlations, svcca


def two_decompositions(x, y):
    """x, y [d, n], neurons first, as that library wants them."""
    kept = []
    for z in (x, y):
        z = z.astype(np.float64)
        _, s, v = np.linalg.svd(z - z.mean(axis=1, keepdims=True), full_matrices=False)
        k = int(np.searchsorted(np.cumsum(s**2), 0.99 * np.sum(s**2))) + 1
        kept.append(s[:k, None] * v[:k])
    k = len(kept[0])
    covariance = np.cov(*kept)
    roots = []
    for block in (covariance[:k, :k], covariance[k:, k:]):
        values, vectors = np.linalg.eigh(np.linalg.pinv(block))
        roots.append(vectors * np.sqrt(values) @ vectors.T)
    return 1 - np.linalg.svd(roots[0] @ covariance[:k, k:] @ roots[1])[1].mean()


def only_svcca99(x, y):
    moments = Comparison.of(CenteredStates.of(x), CenteredStates.of(y)).moments
    a, b = moments.principal()
    return 1 - correlations(a, b, moments.xy, a.count_for(SHARE), b.count_for(SHARE)).mean()


def seconds_of(function):
    start = process_time()
    value = function()
    return process_time() - start, value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=20_000)
    parser.add_argument("--width", type=int, default=768)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    shape = arguments.tokens, arguments.width
    x = (
        rng.normal(size=shape)
        * np.geomspace(2, 0.05, shape[1])
        @ rng.normal(size=(shape[1], shape[1]))
    )
    x = x + 10 * rng.normal(size=shape[1])
    y = (x + x.std() / 4 * rng.normal(size=shape)).astype(np.float32)
    x = x.astype(np.float32)
    ours, value = seconds_of(lambda: only_svcca99(x, y))
    all_variants, variants = seconds_of(lambda: svcca(x, y))
    theirs, expected = seconds_of(lambda: two_decompositions(x.T, y.T))
    print(
        f"{shape[0]} tokens, width {shape[1]}, kept {variants['svcca99']['k_model']}, distance {value:.4f}"
    )
    print(f"{'route':24}{'CPU s':>10}{'ratio':>8}  difference")
    print(f"{'ours':24}{ours:10.2f}{1:8.1f}")
    print(f"{'ours, all variants':24}{all_variants:10.2f}{all_variants / ours:8.1f}")
    print(
        f"{'two decompositions':24}{theirs:10.2f}{theirs / ours:8.1f}  {abs(value - expected):.1e}"
    )


if __name__ == "__main__":
    main()
