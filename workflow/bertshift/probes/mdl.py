"""Minimum description length of labels given representations (Voita and Titov 2020, online code;
Merchant et al. 2020, appendix B): how many bits it takes to send a task's labels to someone who
has the sentences and the encoder.

The training records are shuffled once and cut at t_1 < ... < t_m = R. The labels of [0, t_1) are
sent by a uniform code, those of [t_i, t_i+1) by a fresh probe trained on [0, t_i):

    L           = n_1 log2 C + sum_i sum_targets -log2 p_i(label | span)
    uniform     = n log2 C
    compression = uniform / L

with n_1 targets in the first block, n in all, C labels. A target that may have several labels
costs C Bernoulli codes, and C bits uniformly. Development data choose when a probe stops; they are
not charged, for any model.
"""

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor

from bertshift.activations.source import Source
from bertshift.activations.store import Activations
from bertshift.probes.bank import Bank, Probe, ProbeObjective, TaskSplit, evaluate, train
from bertshift.probes.edge import (
    EdgeTask,
    Replicate,
    load_examples,
    read_rows,
    read_task,
    recipes,
    variant_layers,
)
from bertshift.probes.scores import argmax_counts, counts, f1, f1_without
from bertshift.probes.settings import CodeSettings
from bertshift.rows.blocks import block_of, left_out, padded
from bertshift.rows.table import Table
from bertshift.running.parts import LastCallCache, Part, PartCache, made
from bertshift.seeds import seed_from

COLUMNS = [
    "metric",
    "model",
    "task",
    "init",
    "seed",
    "probe_seed",
    "quantity",
    "portion",
    "examples",
    "value",
    "n",
]
# A probe trained on fewer records than a batch has learned nothing: their block joins the uniform
# one.
MIN_RECORDS = 32


def nats(logits: Tensor, gold: Tensor, single: bool) -> Tensor:
    """Compute the code length of each target's labels, natural logarithm: [K, T, C] -> [K, T]."""
    if single:
        return -(logits.log_softmax(-1) * gold).sum(-1)
    return F.binary_cross_entropy_with_logits(logits, gold, reduction="none").sum(-1)


def code_length(single: bool) -> ProbeObjective:
    """Train and select probes by the bits a target costs."""

    def statistics(logits: Tensor, gold: Tensor) -> Tensor:
        bits = nats(logits, gold, single) / math.log(2)
        return torch.stack([bits, torch.ones_like(bits)], -1)

    return ProbeObjective(
        loss=lambda logits, gold: nats(logits, gold, single).mean(1),
        statistics=statistics,
        score=lambda sums: -sums[:, 0] / sums[:, 1],
    )


def uniform_bits(labels: int, single: bool) -> float:
    """Compute the bits that a target costs without a probe."""
    return math.log2(labels) if single else float(labels)


def block_ends(portions: Sequence[float], records: int) -> dict[float, int]:
    """Count the records of each portion, without portions of fewer than MIN_RECORDS; the last one
    is all records."""
    ends = {portion: int(portion * records) for portion in portions[:-1]}
    ends = {portion: end for portion, end in ends.items() if end >= MIN_RECORDS}
    ends[portions[-1]] = records
    return ends


def describe(
    model: str,
    sources: Mapping[Replicate, Source],
    edges: Mapping[str, Path],
    sentences: Path,
    settings: CodeSettings,
    part_cache: PartCache,
) -> Table:
    """Compute the online code of every task's training labels, for every replicate and probe
    seed.

    Arguments are as for `edge.probe`; probes mix all layers. A part of the work is one portion:
    the probes that are trained on it. Returns a table of COLUMNS. quantity: codelength, uniform
    (bits of the n coded targets), compression (portion 1), and f1 on the n test targets after
    training on `portion`, `examples` records, of the probe that codes the next block: the
    likeliest label, or all with p > 0.5 where a target may have several. Values without each block
    of sentences are by the same probes; a code's length is then the length for the other targets,
    scaled to n targets.
    """
    rows = read_rows(sentences)

    @cache
    def cached_task(name: str) -> EdgeTask:
        return read_task(name, edges[name], rows, settings.of(name))

    @LastCallCache
    def states(replicate: Replicate) -> Activations:
        return sources[replicate].written(part_cache.folder / "states.npz")

    @LastCallCache
    def examples(replicate: Replicate, task: str) -> dict[str, TaskSplit]:
        return load_examples(cached_task(task), states(replicate))

    def learn(replicate: Replicate, task: str, portion: float) -> dict:
        splits = examples(replicate, task)
        layers = variant_layers("mix", states(replicate).layers)
        task_settings = settings.of(task)
        seeds = task_settings.seeds_of(replicate[1])
        return _probe_portion(cached_task(task), splits, layers, task_settings, seeds, portion)

    parts = {}
    for (replicate, task), recipe in recipes(sources, edges, settings, part_cache.code).items():
        init, seed = replicate
        for portion in settings.of(task).portions:
            parts[replicate, task, portion] = Part(
                f"{task}_init{init}_seed{seed}_{portion:g}",
                recipe | {"portion": portion},
                partial(learn, replicate, task, portion),
            )
    results = made(parts, part_cache.folder, "mdl")
    table, jackknife = [], []
    for task, replicate in product(edges, sources):
        task_settings = settings.of(task)
        portions = [results[replicate, task, portion] for portion in task_settings.portions]
        for row, without in _online_code(portions, task_settings.seeds_of(replicate[1])):
            table.append(("mdl", model, task, *replicate, *row))
            jackknife.append(without)
    return Table.of(pd.DataFrame(table, columns=COLUMNS), padded(jackknife))


def _block_of_records(task: EdgeTask, split: str, examples: TaskSplit) -> np.ndarray:
    """Find the block of each record's sentence, [R], the same for all models."""
    sentences = np.unique(task.words[split].sentences)
    return block_of(len(sentences))[np.searchsorted(sentences, examples.spans.sentence)]


def _probe_portion(
    task: EdgeTask,
    examples: Mapping[str, TaskSplit],
    layers: tuple[int, ...],
    settings: CodeSettings,
    seeds: Sequence[int],
    portion: float,
) -> dict:
    """Train a probe of each seed on one portion: `bits` [seeds, blocks] of the records after it,
    none after the last, and `counts` [seeds, blocks, 3] of the test, with the sizes that a code's
    length needs. Return nothing where the portion has too few records."""
    name, train_examples, test = task.name, examples["train"], examples["test"]
    rng = np.random.default_rng(seed_from("mdl records", name))
    order = rng.permutation(train_examples.records)
    ends = block_ends(settings.portions, len(order))
    if list(ends) == [portion]:
        print(
            f"mdl {name}: no portion of the {len(order)} records but the whole has {MIN_RECORDS}"
            " to train a probe on: all labels are sent by the uniform code, whatever the model",
            file=sys.stderr,
        )
    if portion not in ends:
        return {}
    end = ends[portion]
    settings = settings.learning_from(end)
    next_end = next((later for later in ends.values() if later > end), end)
    objective = code_length(task.single)
    probes = [Probe(layers, 0, seed) for seed in seeds]
    bank = Bank(probes, test, settings, f"mdl {name} {portion:g}")
    subset = bank.subset(range(len(seeds)))
    trained = train(bank, train_examples, order[:end], examples["dev"], objective)
    weights = torch.stack([probe.best for probe in trained])
    block = _block_of_records(task, "train", train_examples)
    bits = []
    if end < next_end:
        next_block = order[end:next_end]
        sums = evaluate(
            bank, weights, subset, train_examples, next_block, objective.statistics, block
        )
        bits = sums[..., 0].tolist()
    test_counts = evaluate(
        bank,
        weights,
        subset,
        test,
        test.records,
        argmax_counts if task.single else counts,
        _block_of_records(task, "test", test),
    )
    record = train_examples.spans.record
    coded = record[np.isin(record, order[:end])]
    targets = np.bincount(block[record], minlength=block.max() + 1)
    targets_before = np.bincount(block[coded], minlength=len(targets))
    bits_per_target = uniform_bits(train_examples.labels.shape[2], task.single)
    return {
        "portion": portion,
        "records": end,
        "bits": bits,
        "counts": test_counts.cpu(),
        "tested": len(test.spans.record),
        "targets": targets.tolist(),
        "uniform": bits_per_target,
        "uniform_before": (bits_per_target * targets_before).tolist(),
    }


def _online_code(
    portions: Iterable[Mapping], seeds: Sequence[int]
) -> Iterator[tuple[tuple, np.ndarray]]:
    """Yield rows of the table with their values without each block, from the results of
    `_probe_portion`."""
    portions = [portion for portion in portions if portion]
    bits = np.tile(portions[0]["uniform_before"], (len(seeds), 1))  # [seeds, blocks]
    for portion in portions:
        if portion["bits"]:
            bits += portion["bits"]
        test_counts = portion["counts"].numpy()
        scores = f1(test_counts.sum(axis=1)).tolist()
        for seed, score, without in zip(seeds, scores, f1_without(test_counts), strict=True):
            size, tested = portion["records"], portion["tested"]
            yield (seed, "f1", portion["portion"], size, score, tested), without
    last = portions[-1]
    targets = np.array(last["targets"])
    n = int(targets.sum())
    uniform = last["uniform"] * n
    lengths = bits.sum(axis=1).tolist()
    lengths_without = left_out(bits, targets) * n
    for seed, length, without in zip(seeds, lengths, lengths_without, strict=True):
        keys = (1, last["records"])
        yield (seed, "codelength", *keys, length, n), without
        yield (seed, "uniform", *keys, uniform, n), np.full(len(without), uniform)
        yield (seed, "compression", *keys, uniform / length, n), uniform / without
