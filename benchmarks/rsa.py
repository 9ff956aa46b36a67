"""RSA from d x d moments against the direct n x n form, CPU time, same threads for both.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/rsa.py
        [--layers 13] [--tokens 5000] [--width 768]

"compare" is the whole metric from files for one of the two variants: the score without each block
of sentences, and the parent's sums, too.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from made_activations import make_index
from timing import timed

from bertshift.activations.store import writing
from bertshift.metrics.pairs import Pair
from bertshift.metrics.rsa import compare, rsa


def direct(x, y):
    def similarities(z):
        z = z.astype(np.float64)
        z /= np.linalg.norm(z, axis=1, keepdims=True)
        return (z @ z.T)[np.triu_indices(len(z), 1)]

    a, b = similarities(x), similarities(y)
    a -= a.mean()
    b -= b.mean()
    return a @ b / np.sqrt((a @ a) * (b @ b))


def hidden_states(rng, tokens, width):
    """Draw states like BERT's: a common direction, a falling spectrum, two outlier dimensions."""
    x = rng.normal(size=(tokens, width)) * np.geomspace(2, 0.1, width) + 0.3
    x[:, [width // 3, width // 2]] += [8, -5]
    return x.astype(np.float32), (x + 0.5 * rng.normal(size=x.shape)).astype(np.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=13)
    parser.add_argument("--tokens", type=int, default=5000)
    parser.add_argument("--width", type=int, default=768)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    layers = [
        hidden_states(rng, arguments.tokens, arguments.width) for _ in range(arguments.layers)
    ]
    ours = theirs = difference = 0.0
    for x, y in layers:
        seconds, value = timed(rsa, x, y)
        ours += seconds
        seconds, expected = timed(direct, x, y)
        theirs += seconds
        difference = max(difference, abs(value - expected))
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "model.npz", Path(folder) / "base.npz"]
        for side, path in enumerate(paths):
            save(path, [layer[side] for layer in layers])
        two_variants, _ = timed(compare, [Pair(*paths)], arguments.tokens)
    whole_metric = two_variants / 2
    print(f"{arguments.layers} layers, {arguments.tokens} tokens, width {arguments.width}")
    print(f"{'route':36}{'CPU s':>10}{'ratio':>8}  largest difference")
    print(f"{'ours':36}{ours:10.2f}{1:8.1f}")
    print(f"{'direct n x n':36}{theirs:10.2f}{theirs / ours:8.1f}  {difference:.1e}")
    print(f"{'compare, with blocks':36}{whole_metric:10.2f}{whole_metric / ours:8.1f}")


def save(path, hidden):
    tokens, width = hidden[0].shape
    lengths = np.diff(np.append(np.arange(0, tokens, 25), tokens))
    with writing(path, make_index(lengths), len(hidden) - 1, width) as writer:
        for layer, states in enumerate(hidden):
            writer.hidden(layer, 0, states)


if __name__ == "__main__":
    main()
