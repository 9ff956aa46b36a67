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
from bertshift.probes.bank import Bank, Examples, Objective, Probe, evaluate, train
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
from bertshift.rows.blocks import block_of, in_columns, left_out
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


def uniform_bits(labels: int, single: bool) -> float:
    """Compute the bits that a target costs without a probe."""
    return math.log2(labels) if single else float(labels)


def block_ends(portions: Sequence[float], records: int) -> dict[float, int]:
    """Count the records of each portion, without portions of fewer than MIN_RECORDS; the last one
    is all records."""
    ends = {portion: int(portion * records) for portion in portions[:-1]}
    return {portion: end for portion, end in ends.items() if end >= MIN_RECORDS} | {
        portions[-1]: records
    }


def describe(
    model: str,
    sources: Mapping[Replicate, Source],
    edges: Mapping[str, Path],
    sentences: Path,
    settings: CodeSettings,
    kept: PartCache,
    variant: str = "mix",
) -> pd.DataFrame:
    """Compute the online code of every task's training labels, for every replicate and probe
    seed.

    Arguments are as for `edge.probe`. A part of the work is one portion: the probes that are
    trained on it. Returns a table of COLUMNS. quantity: codelength, uniform (bits of the n coded
    targets), compression (portion 1), and f1 on the n test targets after training on `portion`,
    `examples` records, of the probe that codes the next block: the likeliest label, or all with p
    > 0.5 where a target may have several. The columns blocks.JACKKNIFE_COLUMNS have the same
    without each block of sentences, by the same probes; a code's length is then that of the other
    targets, scaled to n targets.
    """
    rows = read_rows(sentences)
    task = cache(lambda name: read_task(name, edges[name], rows, settings.of(name)))
    states = LastCallCache(
        lambda replicate: sources[replicate].written(kept.folder / "states.npz")
    )
    examples = LastCallCache(lambda replicate, name: load_examples(task(name), states(replicate)))

    def learn(replicate: Replicate, name: str, portion: float) -> dict:
        splits = examples(replicate, name)
        layers = variant_layers(variant, states(replicate).layers)
        own = settings.of(name)
        return _portion(task(name), splits, layers, own, own.seeds_of(replicate[1]), portion)

    parts = {
        (name, replicate, portion): Part(
            f"{name}_init{replicate[0]}_seed{replicate[1]}_{portion:g}",
            recipe | {"portion": portion, "variant": variant},
            partial(learn, replicate, name, portion),
        )
        for (replicate, name), recipe in recipes(sources, edges, settings, kept.code).items()
        for portion in settings.of(name).portions
    }
    found = made(parts, kept.folder, "mdl")
    table, rests = [], []
    for name, replicate in product(edges, sources):
        own = settings.of(name)
        portions = [found[name, replicate, portion] for portion in own.portions]
        code = _online_code(portions, own.seeds_of(replicate[1]))
        for row, without in code:
            table.append(("mdl", model, name, *replicate, *row))
            rests.append(without)
    return pd.concat([pd.DataFrame(table, columns=COLUMNS), in_columns(rests)], axis=1)


def _block_of_records(task: EdgeTask, split: str, examples: Examples) -> np.ndarray:
    """Find the block of each record's sentence, [R], the same for all models."""
    sentences = np.unique(task.words[split].sentences)
    return block_of(len(sentences))[np.searchsorted(sentences, examples.spans.sentence)]


def _portion(
    task: EdgeTask,
    examples: Mapping[str, Examples],
    layers: tuple[int, ...],
    settings: CodeSettings,
    seeds: Sequence[int],
    portion: float,
) -> dict:
    """Train a probe of each seed on one portion: `bits` [seeds, blocks] of the records after it,
    none after the last, and `counts` [seeds, blocks, 3] of the test, with the sizes that a code's
    length needs. Return nothing where the portion has too few records."""
    name, learned, test = task.name, examples["train"], examples["test"]
    order = np.random.default_rng(seed_from("mdl records", name)).permutation(learned.records)
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
    following = next((later for later in ends.values() if later > end), end)
    objective = code_length(task.single)
    bank = Bank(
        [Probe(layers, 0, seed) for seed in seeds], test, settings, f"mdl {name} {portion:g}"
    )
    which = bank.chosen(range(len(seeds)))
    best = torch.stack(
        [one.best for one in train(bank, learned, order[:end], examples["dev"], objective)]
    )
    block = _block_of_records(task, "train", learned)
    bits = []
    if end < following:
        sent = evaluate(
            bank, best, which, learned, order[end:following], objective.statistics, block
        )
        bits = sent[..., 0].tolist()
    found = evaluate(
        bank,
        best,
        which,
        test,
        test.records,
        argmax_counts if task.single else counts,
        _block_of_records(task, "test", test),
    )
    record = learned.spans.record
    targets = np.bincount(block[record], minlength=block.max() + 1)
    before = np.bincount(block[record[np.isin(record, order[:end])]], minlength=len(targets))
    each = uniform_bits(learned.labels.shape[2], task.single)
    return {
        "portion": portion,
        "records": end,
        "bits": bits,
        "counts": found.cpu(),
        "tested": len(test.spans.record),
        "targets": targets.tolist(),
        "uniform": each,
        "uniform_before": (each * before).tolist(),
    }


def _online_code(
    portions: Iterable[Mapping], seeds: Sequence[int]
) -> Iterator[tuple[tuple, np.ndarray]]:
    """Yield rows of a table, each with its values without each block, from what `_portion` gives
    for each portion."""
    portions = [one for one in portions if one]
    total = np.tile(portions[0]["uniform_before"], (len(seeds), 1))
    for one in portions:
        if one["bits"]:
            total += one["bits"]
        counted = one["counts"].numpy()
        for seed, value, without in zip(
            seeds, f1(counted.sum(axis=1)).tolist(), f1_without(counted)
        ):
            yield (seed, "f1", one["portion"], one["records"], value, one["tested"]), without
    last = portions[-1]
    targets = np.array(last["targets"])
    n = int(targets.sum())
    uniform = last["uniform"] * n
    for seed, bits, rest in zip(seeds, total.sum(axis=1).tolist(), left_out(total, targets) * n):
        for quantity, value, without in (
            ("codelength", bits, rest),
            ("uniform", uniform, np.full(len(rest), uniform)),
            ("compression", uniform / bits, uniform / rest),
        ):
            yield (seed, quantity, 1, last["records"], value, n), without
