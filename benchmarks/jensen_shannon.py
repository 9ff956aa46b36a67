"""Jensen-Shannon divergence of attention maps: ours against scipy's, row by row and vectorised, on
one thread.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/jensen_shannon.py
        [--examples 100] [--length 50]

scipy is given float64 rows, as ours computes in float64; with float32 rows it is faster and loses
digits (last line).
"""

import argparse

import numpy as np
import torch
from scipy.spatial.distance import jensenshannon
from timing import timed

from bertshift.activations.store import Maps
from bertshift.metrics import jensen_shannon


def softmax(logits):
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return (exponentials / exponentials.sum(axis=1, keepdims=True)).astype(np.float32)


def fastest(function, repeats=3):
    """Return the fewest CPU seconds of some calls, and the value."""
    seconds = []
    for _ in range(repeats):
        taken, value = timed(function)
        seconds.append(taken)
    return min(seconds), value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--length", type=int, default=50)
    parser.add_argument("--heads", type=int, default=12)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    examples, heads, length = arguments.examples, arguments.heads, arguments.length
    rng = np.random.default_rng(0)
    logits = 3 * rng.normal(size=(examples * heads * length, length))
    p, q = softmax(logits), softmax(logits + 0.3 * rng.normal(size=logits.shape))
    offsets = np.arange(examples + 1) * length**2
    maps = [Maps(x.ravel(), offsets, np.full(examples, length)) for x in (p, q)]

    def per_map(divergence):
        return (np.asarray(divergence) ** 2).reshape(examples, heads, length).mean(axis=2)

    wide = p.astype(np.float64), q.astype(np.float64)
    seconds, ours = fastest(lambda: jensen_shannon.per_map(*maps))
    routes = {
        "scipy row by row": lambda: [jensenshannon(a, b) for a, b in zip(*wide)],
        "scipy axis=1": lambda: jensenshannon(*wide, axis=1),
        "scipy axis=1, float32": lambda: jensenshannon(p, q, axis=1),
    }
    print(f"{examples} examples x {heads} heads x {length} x {length}, one thread")
    print(f"{'route':24}{'CPU s':>10}{'ratio':>8}  largest relative difference")
    print(f"{'ours':24}{seconds:10.4f}{1:8.1f}")
    for name, route in routes.items():
        repeats = 1 if name == "scipy row by row" else 3
        theirs, value = fastest(route, repeats)
        difference = np.abs(per_map(value) / ours - 1).max()
        print(f"{name:24}{theirs:10.4f}{theirs / seconds:8.1f}  {difference:.1e}")


if __name__ == "__main__":
    main()
