"""All statistics of attention to tokens from one reading of the maps, against one reading for each
statistic.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/attention_statistics.py [--examples 200] [--length 50]

The second way is the papers' code's: for each kind of token, average the map over queries, then
look at the kind. Norms are given to both. The file is in the page cache; on a cold disk each
further reading costs more.
"""

import argparse
import tempfile
from pathlib import Path
from time import process_time

import numpy as np

from bertshift.activations.store import Activations, writing
from bertshift.metrics.attention_to import per_kind

KINDS = ("cls", "sep", "punct", "noun", "verb", "pron", "subj", "obj", "neg")


def write(path: Path, examples: int, length: int, heads: int, rng: np.random.Generator) -> None:
    lengths = rng.integers(length // 2, 3 * length // 2, size=examples)
    offsets = np.append(0, np.cumsum(lengths))
    index = {
        "token_ids": np.zeros(offsets[-1], np.int32),
        "special": np.zeros(offsets[-1], bool),
        "segment": np.zeros(offsets[-1], np.uint8),
        "example_offsets": offsets,
        "map_offsets": np.append(0, np.cumsum(lengths**2)),
        "example_ids": np.arange(examples).astype(str),
    }
    with writing(path, index, 1, 2, heads) as writer:
        for example, n in enumerate(lengths):
            for layer in (0, 1):
                writer.hidden(layer, example, np.zeros((n, 2), np.float32))
            maps = rng.exponential(size=(heads, n, n)).astype(np.float32)
            writer.attention(1, example, maps / maps.sum(-1, keepdims=True))


def one_by_one(maps, norms, tokens, variants):
    """Each statistic from a reading of its own, as (kind, variant) -> [examples, heads]."""
    found = {}
    ends = np.cumsum(maps.lengths)
    for kind, places in tokens.items():
        for variant in variants:
            rows = []
            for end, one in zip(ends, maps):
                start = end - one.shape[-1]
                own = places[(places >= start) & (places < end)] - start
                if not len(own):
                    continue
                weights = (
                    one[:, 0].astype(float) if "cls" in variant else one.mean(1, dtype=np.float64)
                )
                if "norm" in variant:
                    weights = weights * norms[:, start:end]
                if "share" in variant:
                    weights /= weights.sum(1, keepdims=True)
                rows.append(weights[:, own].max(1))
            found[kind, variant] = np.array(rows)
    return found


def timed(function):
    start = process_time()
    value = function()
    return process_time() - start, value


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
        together, first = timed(lambda: per_kind(activations.attention(1), norms, tokens))
        variants = {variant for _, variant in first}
        apart, found = timed(lambda: one_by_one(activations.attention(1), norms, tokens, variants))
        worst = max(np.abs(found[key] / first[key] - 1).max() for key in found)
    print(
        f"{arguments.examples} examples of about {arguments.length} tokens, one layer of {arguments.heads} heads"
    )
    print(f"one reading for {len(first)} statistics: {together:.3f} CPU s")
    print(
        f"one reading for each of {len(found)}:    {apart:.3f} CPU s, {apart / together:.1f} times as much"
    )
    print(f"largest relative difference: {worst:.1e}")


if __name__ == "__main__":
    main()
