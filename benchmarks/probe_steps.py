"""What a training step of edge probes asks of the device: operators, optimiser calls and copies of
indices, counted.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/probe_steps.py [--probes 12] [--steps 20]

A bank of probes is compared, in the same run, with the same probes one after the other: what a
bank shares is counted once. The CPU runs what a GPU would be told to launch, so the counts are
those of kernels, but for the optimiser's: it is one kernel a call on a GPU and one for each probe
here. On a GPU each array of indices is copied to it; here, nothing is, so the arrays that become
tensors are counted.
"""

import argparse
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from bertshift.activations.store import Activations, writing
from bertshift.probes import bank as module
from bertshift.probes.bank import Bank, Examples, Features, Probe, train
from bertshift.probes.edge import MICRO_F1
from bertshift.probes.settings import ProbeSettings
from bertshift.probes.spans import PieceTargets, SpanTokens

LABELS, LAYERS, WIDTH, WORDS, SENTENCES = 20, 12, 96, 16, 200
# Operators that only make another view of a tensor: no kernel.
VIEWS = {"view", "reshape", "expand", "slice", "select", "unbind", "split", "split_with_sizes", "transpose", "t", "as_strided",
         "unsqueeze", "flatten", "detach", "_unsafe_view", "_reshape_alias", "alias", "empty", "empty_like", "new_empty",
         "empty_strided", "result_type", "to", "lift_fresh", "item", "_local_scalar_dense", "is_nonzero", "resolve_conj",
         "resolve_neg", "squeeze", "permute", "requires_grad_", "expand_as", "view_as", "narrow", "set_", "resize_"}  # fmt: skip


def examples(rng, folder):
    """Pairs of random spans in random hidden states."""
    lengths = np.full(SENTENCES, WORDS + 2)
    index = {
        "token_ids": np.zeros(lengths.sum(), np.int32),
        "special": np.zeros(lengths.sum(), bool),
        "segment": np.zeros(lengths.sum(), np.uint8),
        "example_offsets": np.append(0, np.cumsum(lengths)),
        "map_offsets": np.append(0, np.cumsum(lengths**2)),
        "example_ids": np.arange(SENTENCES).astype(str),
    }
    path = Path(folder) / "run.npz"
    with writing(path, index, LAYERS, WIDTH, dtype="float16") as writer:
        for layer in range(LAYERS + 1):
            for example in range(SENTENCES):
                writer.hidden(layer, example, rng.normal(size=(WORDS + 2, WIDTH)))
    record = np.repeat(np.arange(SENTENCES), 4)
    start = index["example_offsets"][record] + 1 + rng.integers(WORDS - 2, size=(2, len(record)))
    spans = SpanTokens(
        PieceTargets(np.arange(SENTENCES), record, start, start + 2, np.arange(len(record)), 0)
    )
    labels = np.eye(LABELS, dtype=bool)[rng.integers(LABELS, size=(2, len(record)))]
    return Examples(spans, Features(Activations(path), spans.tokens), torch.from_numpy(labels))


def counts(probes, data, steps):
    """Operators, and arrays that become tensors, in so many steps of a bank of these probes."""
    settings = ProbeSettings(width=64, max_steps=steps, validate_every=10**6, max_dev=1)
    found = Counter()
    from_numpy, evaluate = torch.from_numpy, module.evaluate

    def counted(array):
        found["arrays of indices"] += 1
        return from_numpy(array)

    module.evaluate = lambda bank, weights, *_: torch.zeros(
        len(weights), 1, 3, dtype=torch.float64
    )
    torch.from_numpy = counted
    try:
        with profile(activities=[ProfilerActivity.CPU]) as recorded:
            train(Bank(probes, data, settings, "x"), data, data.records, data, MICRO_F1)
    finally:
        torch.from_numpy, module.evaluate = from_numpy, evaluate
    for event in recorded.events():
        if event.name.startswith("Optimizer.step"):
            found["calls of an optimiser"] += 1
        elif works(event) and not any(map(works, event.cpu_children)):
            found[
                "of an optimiser"
                if "_foreach" in event.name or "_fused" in event.name
                else "operators"
            ] += 1
    return found


def works(event):
    kind, _, name = event.name.partition("::")
    return kind == "aten" and name not in VIEWS


def a_step(probes, data, steps):
    """Without what comes before the first step."""
    more, less = (counts(probes, data, number) for number in (2 * steps, steps))
    return {key: (value - less[key]) / steps for key, value in more.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--probes", type=int, default=12)
    parser.add_argument("--steps", type=int, default=10)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    layers = tuple(range(LAYERS + 1))
    probes = [Probe(layers, number % 2, number // 2 % 3) for number in range(arguments.probes)]
    with tempfile.TemporaryDirectory() as folder:
        data = examples(np.random.default_rng(0), folder)
        one, together = (a_step(each, data, arguments.steps) for each in (probes[:1], probes))
    print(
        f"{'in a step':32}{'one probe':>12}{f'{len(probes)} alone':>12}{'a bank':>12}{'ratio':>8}"
    )
    for key in sorted(together):
        alone = one[key] * len(probes)
        print(
            f"{key:32}{one[key]:12.1f}{alone:12.1f}{together[key]:12.1f}{alone / together[key]:8.1f}"
        )


if __name__ == "__main__":
    main()
