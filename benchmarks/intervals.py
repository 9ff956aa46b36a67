"""What intervals over inputs cost: every metric with its values without each of 20 blocks of
inputs, against without.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/intervals.py
        [--width 768] [--tokens 15000] [--layers 1] [--seeds 3]
        [--metrics svcca rsa ...] [--times 3]

CPU time of a whole comparison from files, of several seeds with their parent, which they share;
the median of some runs. Without: the same code, with one block, of which nothing is left; and one
seed at a time, so that nothing is shared.
"""

import argparse
import tempfile
from contextlib import redirect_stderr
from functools import partial
from io import StringIO
from pathlib import Path
from statistics import median
from unittest.mock import patch

import numpy as np
from made_activations import draw_maps, make_index
from timing import timed

from bertshift.activations.store import writing
from bertshift.metrics import cosine, jensen_shannon, layer_cka, rsa, similarity, svcca
from bertshift.metrics.pairs import Pair
from bertshift.rows import blocks

LENGTH, HEADS = 30, 12
METRICS = {
    "cosine": cosine.compare,
    "js": jensen_shannon.compare,
    "rsa": partial(rsa.compare, tokens=5000),
    "svcca": partial(svcca.compare, tokens=None),
    "similarity": partial(similarity.compare, tokens=None),
    "layer_cka": partial(layer_cka.compare, tokens=5000),
}


def write(path: Path, hidden: list[np.ndarray], rng: np.random.Generator) -> None:
    tokens, width = hidden[0].shape
    lengths = np.full(tokens // LENGTH, LENGTH)
    index = make_index(lengths)
    starts = index["example_offsets"][:-1]
    index["special"][starts] = index["special"][starts + LENGTH - 1] = True
    with writing(path, index, len(hidden) - 1, width, HEADS) as writer:
        for example, start in enumerate(starts):
            for layer, states in enumerate(hidden):
                writer.hidden(layer, example, states[start : start + LENGTH])
            for layer in range(1, len(hidden)):
                writer.attention(layer, example, draw_maps(rng, HEADS, LENGTH))


def hidden_states(
    rng: np.random.Generator, tokens: int, width: int, seeds: int = 1
) -> list[np.ndarray]:
    """Draw states of a parent and of its models: a falling spectrum in a mixed basis, a common
    direction, sentences that differ."""
    mixed = rng.normal(size=(width, width)) * np.geomspace(2, 0.05, width)[:, None]
    sentence = np.repeat(rng.normal(size=(tokens // LENGTH, width)), LENGTH, axis=0)
    x = (rng.normal(size=(tokens, width)) + 0.5 * sentence) @ mixed + 10 * rng.normal(size=width)
    models = (x + x.std() / 4 * rng.normal(size=x.shape) for _ in range(seeds))
    return [states.astype(np.float32) for states in (x, *models)]


def time_alone(compare, pairs: list[Pair]) -> float:
    """Compare one pair at a time, without blocks."""
    with patch.object(blocks, "BLOCKS", 1):
        return sum(timed(compare, [pair])[0] for pair in pairs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--tokens", type=int, default=15_000)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--metrics", nargs="*", choices=METRICS, default=list(METRICS))
    parser.add_argument("--times", type=int, default=3)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    tokens = arguments.tokens // LENGTH * LENGTH
    states = partial(hidden_states, rng, tokens, arguments.width, arguments.seeds)
    layers = [states() for _ in range(arguments.layers + 1)]
    with tempfile.TemporaryDirectory() as folder:
        parent, *models = (Path(folder) / f"{run}.npz" for run in range(arguments.seeds + 1))
        for path, hidden in zip((parent, *models), zip(*layers), strict=True):
            write(path, list(hidden), rng)
        pairs = [Pair(model, parent) for model in models]
        print(
            f"{arguments.layers + 1} layers of states, {tokens} tokens, width {arguments.width},"
            f" {arguments.seeds} seeds, {blocks.BLOCKS} blocks"
        )
        print(f"{'metric':16}{'without, s':>12}{'with, s':>10}{'ratio':>8}")
        for name in arguments.metrics:
            compare = METRICS[name]
            without_blocks, with_blocks = [], []
            with redirect_stderr(StringIO()):
                compare(pairs)  # the files are in memory
                for _ in range(arguments.times):
                    without_blocks.append(time_alone(compare, pairs))
                    with_blocks.append(timed(compare, pairs)[0])
            without, complete = median(without_blocks), median(with_blocks)
            ratio = complete / without
            print(f"{name:16}{without:12.2f}{complete:10.2f}{ratio:8.2f}", flush=True)


if __name__ == "__main__":
    main()
