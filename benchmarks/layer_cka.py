"""CKA of all pairs of layers of two models in one pass against a loop over pairs of Gram matrices,
CPU time, same threads.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/layer_cka.py
        [--tokens 5000] [--width 768] [--layers 13] [--pairs 3]

The three maps, before, after and across, are all pairs of 2 x 13 layers. The loop makes both Gram
matrices of each pair, in float64, and takes the unbiased HSIC of Song et al. 2012 term by term;
`kept` makes each Gram matrix once and keeps it, for which 2 x 13 of them need 5.2 GB. Both are
timed on the first `pairs` and multiplied.
"""

import argparse
import resource
import tempfile
from pathlib import Path

import numpy as np
from timing import timed

from bertshift.metrics.hidden_states import CenteredStates
from bertshift.metrics.layer_cka import all_pairs


def memory_mapped(path, x):
    x.tofile(path)
    return np.memmap(path, x.dtype, "r", shape=x.shape)


def draw_layers(number, tokens, width, folder):
    """Write a walk of states from layer to layer to float32 files."""
    rng = np.random.default_rng(0)
    spectrum = np.geomspace(2, 0.05, width)
    x = rng.normal(size=(tokens, width)) * spectrum + 10 * rng.normal(size=width)
    for layer in range(number):
        x = x + 0.4 * rng.normal(size=(tokens, width)) * spectrum
        yield memory_mapped(folder / f"{layer}", x.astype(np.float32))


def gram(x):
    x = x.astype(np.float64)
    k = x @ x.T
    np.fill_diagonal(k, 0)
    return k


def hsic(k, l):
    n, rows_k, rows_l = len(k), k.sum(axis=0), l.sum(axis=0)
    totals = rows_k.sum() * rows_l.sum() / ((n - 1) * (n - 2))
    return np.vdot(k, l) + totals - 2 / (n - 2) * rows_k @ rows_l


def cka(k, l):
    return hsic(k, l) / np.sqrt(hsic(k, k) * hsic(l, l))


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def compare_layers(layers):
    values, _ = all_pairs([CenteredStates.of(x) for x in layers])
    return values


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("tokens", 5000), ("width", 768), ("layers", 13), ("pairs", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    number = 2 * arguments.layers
    with tempfile.TemporaryDirectory() as folder:
        layers = list(draw_layers(number, arguments.tokens, arguments.width, Path(folder)))
        before = peak_megabytes()
        ours, values = timed(compare_layers, layers)
        more = peak_megabytes() - before
        one_model, _ = timed(compare_layers, layers[: arguments.layers])
        # Of the three maps, each pair once: two triangles with their diagonals, and a square.
        count = number * (number + 1) // 2
        pairs = [(i, number - 1 - i) for i in range(arguments.pairs)]
        loop, theirs = timed(lambda: [cka(gram(layers[i]), gram(layers[j])) for i, j in pairs])
        two_grams, grams = timed(lambda: [gram(layers[i]) for i in range(2)])
        one_hsic, _ = timed(hsic, *grams)
    loop *= count / len(pairs)
    matrices_kept = number * two_grams / 2 + count * one_hsic
    difference = max(abs(values[pair] - value) for pair, value in zip(pairs, theirs, strict=True))
    print(f"{arguments.tokens} tokens, width {arguments.width}, {count} pairs of {number} layers")
    print(f"{'route':24}{'CPU s':>10}{'ratio':>8}")
    print(f"{'ours, one model alone':24}{one_model:10.1f}")
    print(
        f"{'ours':24}{ours:10.1f}{1:8.1f}"
        f"   {more:.0f} MB more than before, mapped files among them"
    )
    print(f"{'loop over pairs':24}{loop:10.1f}{loop / ours:8.1f}   differs by {difference:.1e}")
    print(f"{'loop, matrices kept':24}{matrices_kept:10.1f}{matrices_kept / ours:8.1f}")


if __name__ == "__main__":
    main()
