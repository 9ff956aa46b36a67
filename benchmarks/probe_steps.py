"""What a training step of edge probes asks of the device: operators, optimiser calls and copies of
indices, counted.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/probe_steps.py
        [--probes 12] [--steps 20]

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
from unittest.mock import patch

import numpy as np
import torch
from made_activations import make_index
from torch.profiler import ProfilerActivity, profile

from bertshift.activations.store import Activations, writing
from bertshift.probes import bank as module
from bertshift.probes.bank import Bank, Features, Probe, TaskSplit, train
from bertshift.probes.edge import MICRO_F1
from bertshift.probes.settings import ProbeSettings
from bertshift.probes.spans import PieceTargets, SpanTokens

LABELS, LAYERS, WIDTH, WORDS, SENTENCES = 20, 12, 96, 16, 200
# Operators that only make another view of a tensor: no kernel.
VIEWS = {
    "view", "reshape", "expand", "slice", "select", "unbind", "split", "split_with_sizes",
    "transpose", "t", "as_strided", "unsqueeze", "flatten", "detach", "_unsafe_view",
    "_reshape_alias", "alias", "empty", "empty_like", "new_empty", "empty_strided", "result_type",
    "to", "lift_fresh", "item", "_local_scalar_dense", "is_nonzero", "resolve_conj", "resolve_neg",
    "squeeze", "permute", "requires_grad_", "expand_as", "view_as", "narrow", "set_", "resize_",
}  # fmt: skip


def make_examples(rng, folder):
    """Draw pairs of random spans in random hidden states."""
    index = make_index(np.full(SENTENCES, WORDS + 2))
    path = Path(folder) / "run.npz"
    with writing(path, index, LAYERS, WIDTH, dtype="float16") as writer:
        for layer in range(LAYERS + 1):
            for example in range(SENTENCES):
                writer.hidden(layer, example, rng.normal(size=(WORDS + 2, WIDTH)))
    record = np.repeat(np.arange(SENTENCES), 4)
    start = index["example_offsets"][record] + 1 + rng.integers(WORDS - 2, size=(2, len(record)))
    targets = PieceTargets(
        np.arange(SENTENCES), record, start, start + 2, np.arange(len(record)), 0
    )
    spans = SpanTokens(targets)
    labels = np.eye(LABELS, dtype=bool)[rng.integers(LABELS, size=(2, len(record)))]
    return TaskSplit(spans, Features(Activations(path), spans.tokens), torch.from_numpy(labels))


def no_evaluation(bank, weights, *_):
    return torch.zeros(len(weights), 1, 3, dtype=torch.float64)


def count_training(probes, examples, steps):
    """Count operators, and arrays that become tensors, in the steps of a bank of probes."""
    settings = ProbeSettings(width=64, max_steps=steps, validate_every=10**6, max_dev=1)
    counts = Counter()
    from_numpy = torch.from_numpy

    def counting_from_numpy(array):
        counts["arrays of indices"] += 1
        return from_numpy(array)

    with (
        patch.object(module, "evaluate", no_evaluation),
        patch.object(torch, "from_numpy", counting_from_numpy),
        profile(activities=[ProfilerActivity.CPU]) as profiler,
    ):
        bank = Bank(probes, examples, settings, "x")
        train(bank, examples, examples.records, examples, MICRO_F1)
    for event in profiler.events():
        if event.name.startswith("Optimizer.step"):
            counts["calls of an optimiser"] += 1
        elif computes(event) and not any(map(computes, event.cpu_children)):
            of_optimizer = "_foreach" in event.name or "_fused" in event.name
            counts["of an optimiser" if of_optimizer else "operators"] += 1
    return counts


def computes(event):
    namespace, _, name = event.name.partition("::")
    return namespace == "aten" and name not in VIEWS


def count_step(probes, examples, steps):
    """Return counts of a step, without what comes before the first one."""
    more = count_training(probes, examples, 2 * steps)
    fewer = count_training(probes, examples, steps)
    return {key: (count - fewer[key]) / steps for key, count in more.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--probes", type=int, default=12)
    parser.add_argument("--steps", type=int, default=10)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    layers = tuple(range(LAYERS + 1))
    probes = [Probe(layers, number % 2, number // 2 % 3) for number in range(arguments.probes)]
    with tempfile.TemporaryDirectory() as folder:
        examples = make_examples(np.random.default_rng(0), folder)
        one_probe = count_step(probes[:1], examples, arguments.steps)
        bank = count_step(probes, examples, arguments.steps)
    alone = f"{len(probes)} alone"
    print(f"{'in a step':32}{'one probe':>12}{alone:>12}{'a bank':>12}{'ratio':>8}")
    for key, together in sorted(bank.items()):
        single, alone = one_probe[key], one_probe[key] * len(probes)
        print(f"{key:32}{single:12.1f}{alone:12.1f}{together:12.1f}{alone / together:8.1f}")


if __name__ == "__main__":
    main()
