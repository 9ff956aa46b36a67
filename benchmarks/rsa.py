"""RSA from d x d moments against the direct n x n form, CPU time, same threads for both.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/rsa.py [--layers 13] [--tokens 5000] [--width 768]

"compare" is the whole metric from files for one of the two variants: the score without each block
of sentences, and the parent's sums, too.
"""

import argparse
import tempfile
from pathlib import Path
from time import process_time

import numpy as np

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
    """Like BERT's: a common direction, a falling spectrum, and two outlier dimensions."""
    x = rng.normal(size=(tokens, width)) * np.geomspace(2, 0.1, width) + 0.3
    x[:, [width // 3, width // 2]] += [8, -5]
    return x.astype(np.float32), (x + 0.5 * rng.normal(size=x.shape)).astype(np.float32)


def seconds_of(function, *arguments):
    start = process_time()
    value = function(*arguments)
    return process_time() - start, value


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
        here, value = seconds_of(rsa, x, y)
        there, expected = seconds_of(direct, x, y)
        ours, theirs, difference = (
            ours + here,
            theirs + there,
            max(difference, abs(value - expected)),
        )
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "model.npz", Path(folder) / "base.npz"]
        for side, path in enumerate(paths):
            save(path, [layer[side] for layer in layers])
        both_variants, _ = seconds_of(compare, [Pair(*paths)], arguments.tokens)
    print(f"{arguments.layers} layers, {arguments.tokens} tokens, width {arguments.width}")
    print(f"{'route':36}{'CPU s':>10}{'ratio':>8}  largest difference")
    print(f"{'ours':36}{ours:10.2f}{1:8.1f}")
    print(f"{'direct n x n':36}{theirs:10.2f}{theirs / ours:8.1f}  {difference:.1e}")
    print(f"{'compare, with blocks':36}{both_variants / 2:10.2f}{both_variants / 2 / ours:8.1f}")


def save(path, hidden):
    tokens, length = len(hidden[0]), 25
    offsets = np.append(np.arange(0, tokens, length), tokens)
    index = {
        "token_ids": np.zeros(tokens, np.int32),
        "special": np.zeros(tokens, bool),
        "segment": np.zeros(tokens, np.uint8),
        "example_offsets": offsets,
        "map_offsets": offsets * length,
        "example_ids": np.arange(len(offsets) - 1).astype(str),
    }
    with writing(path, index, len(hidden) - 1, hidden[0].shape[1]) as writer:
        for layer, states in enumerate(hidden):
            writer.hidden(layer, 0, states)


if __name__ == "__main__":
    main()
