"""What intervals over inputs cost: every metric with its values without each of 20 blocks of inputs, against without.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/intervals.py [--width 768] [--tokens 15000] [--layers 1]

CPU time of a whole comparison from files; without: the same code, with one block, of which nothing is left.
"""

import argparse
import tempfile
from contextlib import redirect_stderr
from functools import partial
from io import StringIO
from pathlib import Path
from time import process_time
from unittest.mock import patch

import numpy as np

from bertshift.activations.store import writing
from bertshift.metrics import cosine, jensen_shannon, rsa, similarity, svcca
from bertshift.metrics.pairs import Pair
from bertshift.rows import blocks

LENGTH, HEADS = 30, 12


def write(path: Path, hidden: list[np.ndarray], rng: np.random.Generator) -> None:
    tokens, width = hidden[0].shape
    offsets = np.arange(0, tokens + 1, LENGTH)
    special = np.zeros(tokens, bool)
    special[offsets[:-1]] = special[offsets[1:] - 1] = True
    index = {
        "token_ids": np.zeros(tokens, np.int32),
        "special": special,
        "segment": np.zeros(tokens, np.uint8),
        "example_offsets": offsets,
        "map_offsets": np.arange(len(offsets)) * LENGTH**2,
        "example_ids": np.arange(len(offsets) - 1).astype(str),
    }
    with writing(path, index, len(hidden) - 1, width, HEADS) as writer:
        for example, start in enumerate(offsets[:-1]):
            for layer, states in enumerate(hidden):
                writer.hidden(layer, example, states[start : start + LENGTH])
            for layer in range(1, len(hidden)):
                maps = rng.exponential(size=(HEADS, LENGTH, LENGTH)).astype(np.float32)
                writer.attention(layer, example, maps / maps.sum(-1, keepdims=True))


def hidden_states(rng: np.random.Generator, tokens: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Of a parent and of a model: a falling spectrum in a mixed basis, a common direction, sentences that differ."""
    mixed = rng.normal(size=(width, width)) * np.geomspace(2, 0.05, width)[:, None]
    sentence = np.repeat(rng.normal(size=(tokens // LENGTH, width)), LENGTH, axis=0)
    x = (rng.normal(size=(tokens, width)) + 0.5 * sentence) @ mixed + 10 * rng.normal(size=width)
    y = x + x.std() / 4 * rng.normal(size=x.shape)
    return x.astype(np.float32), y.astype(np.float32)


def seconds_of(function, *arguments) -> float:
    start = process_time()
    function(*arguments)
    return process_time() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--tokens", type=int, default=15_000)
    parser.add_argument("--layers", type=int, default=1)
    arguments = parser.parse_args()
    rng, tokens = np.random.default_rng(0), arguments.tokens // LENGTH * LENGTH
    layers = [hidden_states(rng, tokens, arguments.width) for _ in range(arguments.layers + 1)]
    metrics = {
        "cosine": cosine.compare,
        "js": jensen_shannon.compare,
        "rsa": partial(rsa.compare, tokens=5000),
        "svcca": partial(svcca.compare, tokens=None),
        "similarity": partial(similarity.compare, tokens=None),
    }
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(*(Path(folder) / f"{side}.npz" for side in ("model", "base")))
        for path, own in zip((pair.reference, pair.model), zip(*layers), strict=True):
            write(path, list(own), rng)
        print(
            f"{arguments.layers + 1} layers of states, {tokens} tokens, width {arguments.width}, {blocks.BLOCKS} blocks"
        )
        print(f"{'metric':16}{'without, s':>12}{'with, s':>10}{'ratio':>8}")
        for name, compare in metrics.items():
            with redirect_stderr(StringIO()):
                compare([pair])  # the files are in memory
                with patch.object(blocks, "BLOCKS", 1):
                    alone = seconds_of(compare, [pair])
                both = seconds_of(compare, [pair])
            print(f"{name:16}{alone:12.2f}{both:10.2f}{both / alone:8.2f}", flush=True)


if __name__ == "__main__":
    main()
