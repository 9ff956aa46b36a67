"""Minimum description length of labels given representations (Voita and Titov 2020, online code; Merchant et al. 2020,
appendix B): how many bits it takes to send a task's labels to someone who has the sentences and the encoder.

The training records are shuffled once and cut at t_1 < ... < t_m = R. The labels of [0, t_1) are sent by a uniform code,
those of [t_i, t_i+1) by a fresh probe trained on [0, t_i):

    L = n_1 log2 C + sum_i sum_targets -log2 p_i(label | span)        uniform = n log2 C        compression = uniform / L

with n_1 targets in the first block, n in all, C labels. A target that may have several labels costs C Bernoulli codes,
and C bits uniformly. Development data choose when a probe stops; they are not charged, for any model.
"""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor

from bertshift.activations.store import Activations
from bertshift.probes.bank import Bank, Examples, Objective, Probe, evaluate, train
from bertshift.probes.edge import load_examples, read_rows, read_task, variant_layers
from bertshift.probes.scores import argmax_counts, counts, f1
from bertshift.probes.settings import CodeSettings
from bertshift.seeds import seed_from

COLUMNS = [
    "metric", "model", "task", "init", "seed", "probe_seed", "quantity", "portion", "examples", "value",
    "n",
]  # fmt: skip
# A probe trained on fewer records than a batch has learned nothing: their block joins the uniform one.
MIN_RECORDS = 32


def nats(logits: Tensor, gold: Tensor, single: bool) -> Tensor:
    """Code length of each target's labels, natural logarithm: [K, T, C] -> [K, T]."""
    if single:
        return -(logits.log_softmax(-1) * gold).sum(-1)
    return F.binary_cross_entropy_with_logits(logits, gold, reduction="none").sum(-1)


def _bits(logits: Tensor, gold: Tensor, single: bool) -> Tensor:
    bits = nats(logits, gold, single) / math.log(2)
    return torch.stack([bits, torch.ones_like(bits)], -1)


def code_length(single: bool) -> Objective:
    """Train and choose probes by the bits a target costs."""
    return Objective(
        lambda logits, gold: nats(logits, gold, single).mean(1),
        partial(_bits, single=single),
        lambda sums: -sums[:, 0] / sums[:, 1],
    )


def uniform_bits(targets: int, labels: int, single: bool) -> float:
    return targets * (math.log2(labels) if single else float(labels))


def block_ends(portions: Sequence[float], records: int) -> dict[float, int]:
    """Portion -> number of records of it, without those of fewer than MIN_RECORDS; the last one is all of them."""
    ends = {portion: int(portion * records) for portion in portions[:-1]}
    return {portion: end for portion, end in ends.items() if end >= MIN_RECORDS} | {portions[-1]: records}


def describe(
    model: str,
    dumps: Mapping[tuple[int, int], Path],
    edges: Mapping[str, Path],
    sentences: Path,
    settings: CodeSettings,
    variant: str = "mix",
) -> pd.DataFrame:
    """Online code of every task's training labels, for every replicate and probe seed; arguments as `edge.probe`.

    Returns a table of COLUMNS. quantity: codelength, uniform (bits of the n coded targets), compression (portion 1),
    and f1 on the n test targets after training on `portion`, `examples` records, of the probe that codes the next
    block: the likeliest label, or all with p > 0.5 where a target may have several.
    """
    rows, table = read_rows(sentences), []
    for name, folder in edges.items():
        own = settings.of(name)
        task = read_task(name, folder, rows, own)
        for number, (replicate, path) in enumerate(dumps.items(), 1):
            print(f"mdl: {name}, {number}/{len(dumps)}: {path}", file=sys.stderr, flush=True)
            activations = Activations(path)
            examples = load_examples(task, activations)
            layers = variant_layers(variant, activations.layers)
            table += [
                ("mdl", model, name, *replicate, *row)
                for row in _online_code(name, task.single, examples, layers, own)
            ]
    return pd.DataFrame(table, columns=COLUMNS)


def _online_code(
    name: str, single: bool, examples: Mapping[str, Examples], layers: tuple[int, ...], settings: CodeSettings
) -> Iterator[tuple]:
    seeds = range(1, settings.probe_seeds + 1)
    learned, test = examples["train"], examples["test"]
    order = np.random.default_rng(seed_from("mdl records", name)).permutation(learned.records)
    ends = block_ends(settings.portions, len(order))
    starts = list(ends.values())
    labels, targets = learned.labels.shape[2], len(learned.spans.record)
    first = int(np.isin(learned.spans.record, order[: starts[0]]).sum())
    total = np.full(len(seeds), uniform_bits(first, labels, single))

    objective = code_length(single)
    which = list(range(len(seeds)))
    for (portion, end), following in zip(ends.items(), [*starts[1:], len(order)], strict=True):
        bank = Bank([Probe(layers, 0, seed) for seed in seeds], test, settings, f"mdl {name} {portion:g}")
        best = [one.best for one in train(bank, learned, order[:end], examples["dev"], objective)]
        if end < following:
            block = evaluate(bank, best, which, learned, order[end:following], objective.statistics)
            total += block[:, 0, 0].cpu().numpy()
        found = evaluate(bank, best, which, test, test.records, argmax_counts if single else counts)
        for seed, value in zip(seeds, f1(found[:, 0]).tolist()):
            yield seed, "f1", portion, end, value, len(test.spans.record)
    uniform = uniform_bits(targets, labels, single)
    for seed, bits in zip(seeds, total.tolist()):
        for quantity, value in (("codelength", bits), ("uniform", uniform), ("compression", uniform / bits)):
            yield seed, quantity, 1, len(order), value, targets
