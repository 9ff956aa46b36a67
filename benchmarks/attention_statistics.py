"""All statistics of attention to tokens from one reading of the maps, against one reading for each
statistic.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/attention_statistics.py
        [--examples 200] [--length 50]

The second way is the papers' code's: for each kind of token, average the map over queries, then
look at the kind. Norms are given to both. The file is in the page cache; on a cold disk each
further reading costs more.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from made_activations import draw_maps, make_index
from timing import timed

from bertshift.activations.store import Activations, writing
from bertshift.metrics.attention_to import per_kind

KINDS = ("cls", "sep", "punct", "noun", "verb", "pron", "subj", "obj", "neg")


def write(path: Path, examples: int, length: int, heads: int, rng: np.random.Generator) -> None:
    lengths = rng.integers(length // 2, 3 * length // 2, size=examples)
    with writing(path, make_index(lengths), 1, 2, heads) as writer:
        for example, tokens in enumerate(lengths):
            for layer in (0, 1):
                writer.hidden(layer, example, np.zeros((tokens, 2), np.float32))
            writer.attention(1, example, draw_maps(rng, heads, tokens))


def read_for_each(maps, norms, tokens, variants):
    """Read all maps again for each statistic: (kind, variant) -> [examples, heads]."""
    statistics = {}
    for kind, positions in tokens.items():
        for variant in variants:
            statistics[kind, variant] = statistic(maps, norms, positions, variant)
    return statistics


def statistic(maps, norms, positions, variant):
    rows = []
    ends = np.cumsum(maps.lengths)
    for end, example_maps in zip(ends, maps):
        start = end - example_maps.shape[-1]
        columns = positions[(positions >= start) & (positions < end)] - start
        if not len(columns):
            continue
        if "cls" in variant:
            weights = example_maps[:, 0].astype(float)
        else:
            weights = example_maps.mean(1, dtype=np.float64)
        if "norm" in variant:
            weights = weights * norms[:, start:end]
        if "share" in variant:
            weights /= weights.sum(1, keepdims=True)
        rows.append(weights[:, columns].max(1))
    return np.array(rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", type=int, default=200)
    parser.add_argument("--length", type=int, default=50)
    parser.add_argument("--heads", type=int, default=12)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "maps.npz"
        write(path, arguments.examples, arguments.length, arguments.heads, rng)
        activations = Activations(path)
        count = len(activations.special)
        norms = rng.uniform(1, 2, size=(arguments.heads, count))
        tokens = {kind: np.flatnonzero(rng.random(count) < 0.1) for kind in KINDS}
        maps = activations.attention(1)
        together, statistics = timed(per_kind, maps, norms, tokens)
        variants = {variant for _, variant in statistics}
        maps = activations.attention(1)
        apart, expected = timed(read_for_each, maps, norms, tokens, variants)
        worst = max(np.abs(expected[key] / statistics[key] - 1).max() for key in expected)
    print(
        f"{arguments.examples} examples of about {arguments.length} tokens,"
        f" one layer of {arguments.heads} heads"
    )
    print(f"one reading for {len(statistics)} statistics: {together:.3f} CPU s")
    ratio = apart / together
    print(
        f"one reading for each of {len(expected)}:    {apart:.3f} CPU s, {ratio:.1f} times as much"
    )
    print(f"largest relative difference: {worst:.1e}")


if __name__ == "__main__":
    main()
