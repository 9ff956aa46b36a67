"""Edge probing (Tenney et al. 2019; Merchant et al. 2020, section 4.1, Table 1): the labels that a
probe can predict from span vectors."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
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
from bertshift.data.edges.records import SIDECAR, SPLITS, read_edge_sidecar
from bertshift.errors import UserError
from bertshift.files import read_jsonl, sha256
from bertshift.models import family as models
from bertshift.models.loading import load_encoder
from bertshift.probes.bank import Bank, Features, Probe, ProbeObjective, TaskSplit, evaluate, train
from bertshift.probes.control import control_labels
from bertshift.probes.scores import (
    VIEWS,
    clean_labels,
    counts,
    counts_by_view,
    counts_key,
    f1,
    f1_without,
    sentences_key,
)
from bertshift.probes.sentences import records_used
from bertshift.probes.settings import ProbeSettings
from bertshift.probes.spans import Sentence, SpanTokens, WordTargets, align, read_targets
from bertshift.rows.blocks import padded
from bertshift.rows.table import Table
from bertshift.running.parts import LastCallCache, Part, PartCache, made
from bertshift.tasks.inference import best_device

COLUMNS = [
    "metric",
    "model",
    "task",
    "variant",
    "view",
    "init",
    "seed",
    "probe_seed",
    "value",
    "control",
    "selectivity",
    "n",
    "train",
    "dropped",
]


def binary_loss(logits: Tensor, gold: Tensor) -> Tensor:
    """Compute the mean binary cross-entropy over targets and labels: [K, T, C] -> [K]."""
    return F.binary_cross_entropy_with_logits(logits, gold, reduction="none").mean((1, 2))


Replicate = tuple[int, int]  # (init, seed)
EDGE_FILES = [*(f"{split}.jsonl" for split in SPLITS), SIDECAR]
MICRO_F1 = ProbeObjective(binary_loss, counts, f1)


@dataclass(frozen=True)
class EdgeTask:
    """One task's targets in words, and its labellings [labellings, T, C] of each split: 0 is the
    task's own."""

    name: str
    labels: list[str]
    single: bool
    words: dict[str, WordTargets]
    labellings: dict[str, np.ndarray]


def read_task(
    name: str,
    folder: Path,
    rows: Mapping[Sentence, int],
    settings: ProbeSettings,
    controls: Iterable[int] = (),
) -> EdgeTask:
    """Read an edge folder; labelling i > 0 is the control task of the i-th seed in `controls`.

    Prints how many test targets have a label that training has not. UserError where a split has no
    targets, and as `read_targets` does.
    """
    sidecar = read_edge_sidecar(folder)
    labels = list(sidecar["labels"])
    words = {}
    for split in SPLITS:
        file = f"{folder}/{split}.jsonl"
        records = records_used(folder, name, split, settings.sizes)
        words[split] = read_targets(records, sidecar["spans"], labels, rows, file)
        if not len(words[split]):
            raise UserError(
                f"{file} has no targets, so {name} cannot be probed: convert it again."
            )
    train_labels = words["train"].labels
    in_training = train_labels.any(axis=0)
    unseen = words["test"].labels[:, ~in_training].any(axis=1).sum()
    if unseen:
        print(
            f"edge_probe: {name}: {unseen} of {len(words['test'])} test targets have a label that"
            " no training target has; they count as wrong",
            file=sys.stderr,
        )
    labellings = {}
    for split, targets in words.items():
        drawn = [control_labels(targets.phrases, train_labels, name, seed) for seed in controls]
        labellings[split] = np.stack([targets.labels, *drawn])
    return EdgeTask(name, labels, not sidecar["multilabel"], words, labellings)


def read_rows(sentences: Path) -> dict[Sentence, int]:
    """Read the row number of each sentence (tuple of words) in a file of stimuli."""
    return {tuple(row["words"]): number for number, row in enumerate(read_jsonl(sentences))}


def load_examples(
    task: EdgeTask, activations: Activations, word_vectors: np.ndarray | None = None
) -> dict[str, TaskSplit]:
    """Load all splits of a task for one model; print how many targets the window (max_length) has
    cut off.

    UserError where it has cut off all targets of a split.
    """
    spans, labels = {}, {}
    for split, words in task.words.items():
        targets = align(words, activations)
        if targets.dropped:
            print(
                f"{activations.path}: {targets.dropped} of {len(words)} targets of"
                f" {task.name}, split {split}, lie outside the window and are left out",
                file=sys.stderr,
            )
        if not len(targets.inside):
            raise UserError(
                f"{activations.path} has no target of {task.name}, split {split}, inside its"
                " window; extract with a larger max_length."
            )
        spans[split] = SpanTokens(targets)
        labels[split] = torch.from_numpy(task.labellings[split][:, targets.inside])
    tokens = np.concatenate([split_spans.tokens for split_spans in spans.values()])
    features = Features(activations, tokens, word_vectors)
    return {
        split: TaskSplit(spans[split], features, labels[split].to(best_device()))
        for split in spans
    }


def word_vectors(folder: Path) -> np.ndarray:
    """Compute a folder's word embeddings [V, d] after LayerNorm, without position and segment:
    variant word_only."""
    return models.word_vectors(load_encoder(Path(folder))).numpy()


def variant_layers(variant: str, layers: int) -> tuple[int, ...]:
    """Select the rows of Features that a variant's probe mixes, for an encoder of `layers`
    layers."""
    rows = {
        "mix": tuple(range(layers + 1)),
        "top": (layers,),
        "lexical": (0,),
        "word_only": (layers + 1,),
    }
    return rows[variant]


def recipes(
    sources: Mapping[Replicate, Source],
    edges: Mapping[str, Path],
    settings: ProbeSettings,
    code: str,
) -> dict[tuple[Replicate, str], dict]:
    """Map (replicate, task) to the inputs that determine the task's probes on the replicate's
    states."""
    task_recipes = {}
    for task, folder in edges.items():
        task_recipes[task] = {
            "task": task,
            "settings": asdict(settings.of(task)),
            "edges": [sha256(Path(folder) / file) for file in EDGE_FILES],
            "code": code,
        }
    state_recipes = {replicate: source.recipe() for replicate, source in sources.items()}
    return {
        (replicate, task): {"states": state_recipes[replicate]} | task_recipes[task]
        for replicate, task in product(sources, edges)
    }


def probe(
    model: str,
    sources: Mapping[Replicate, Source],
    edges: Mapping[str, Path],
    sentences: Path,
    settings: ProbeSettings,
    part_cache: PartCache,
    variants: Sequence[str] = ("mix", "top"),
) -> tuple[Table, dict[str, np.ndarray]]:
    """Train and test the probes of all tasks on every replicate's activations of the stimuli in
    `sentences`.

    A task of a replicate is a part of the work, with all its variants: their probes share a bank.

    sources: (init, seed) -> what the activations come from
    edges: task -> folder of records
    variants: mix (all layers), top (the last one), lexical (layer 0), word_only (see
        `word_vectors`)

    Returns a table of COLUMNS and, for comparisons of models, counts of TP, FP, FN named by
    scores.counts_key. F1 is in [0, 1]; `control` is the same probe's on its control task,
    `selectivity` the difference; n test targets, train records, dropped targets (of all splits).
    Values without each block of the task's test sentences are F1 of the same probe. UserError as
    `read_task` and `load_examples` do.
    """
    rows = read_rows(sentences)

    @cache
    def cached_task(name: str) -> EdgeTask:
        task_settings = settings.of(name)
        return read_task(name, edges[name], rows, task_settings, task_settings.seeds)

    @LastCallCache
    def states(replicate: Replicate) -> Activations:
        return sources[replicate].written(part_cache.folder / "states.npz")

    @LastCallCache
    def vectors(replicate: Replicate) -> np.ndarray | None:
        return word_vectors(sources[replicate].folder) if "word_only" in variants else None

    def learn(replicate: Replicate, task: str) -> dict:
        task_settings = settings.of(task)
        seeds = task_settings.seeds_of(replicate[1])
        activations, embeddings = states(replicate), vectors(replicate)
        return _probe_replicate(
            cached_task(task), activations, embeddings, variants, task_settings, seeds
        )

    parts = {}
    for (replicate, task), recipe in recipes(sources, edges, settings, part_cache.code).items():
        init, seed = replicate
        parts[replicate, task] = Part(
            f"{task}_init{init}_seed{seed}",
            recipe | {"variants": list(variants)},
            partial(learn, replicate, task),
        )
    results = made(parts, part_cache.folder, "edge_probes")
    table, arrays, jackknife = [], {}, []
    for task, (init, seed) in product(edges, sources):
        result = results[(init, seed), task]
        arrays[sentences_key(task)] = np.array(result["sentences"])
        probe_seeds = settings.of(task).seeds_of(seed)
        for variant, variant_counts in zip(variants, result["counts"].numpy(), strict=True):
            for view, view_counts in zip(VIEWS, variant_counts):
                task_counts = view_counts[:, 0]
                arrays[counts_key(task, variant, view, init, seed)] = task_counts
                jackknife += list(f1_without(task_counts))
                scores = f1(view_counts.sum(axis=2)).tolist()
                for probe_seed, (value, control) in zip(probe_seeds, scores, strict=True):
                    keys = ("edge_probe", model, task, variant, view, init, seed, probe_seed)
                    table.append((*keys, value, control, value - control, *result["sizes"]))
    return Table.of(pd.DataFrame(table, columns=COLUMNS), padded(jackknife)), arrays


def _probe_replicate(
    task: EdgeTask,
    activations: Activations,
    vectors: np.ndarray | None,
    variants: Sequence[str],
    settings: ProbeSettings,
    seeds: Sequence[int],
) -> dict:
    """Return the `counts` of `_train_and_test`, the ids of their `sentences`, and `sizes`: n,
    train, dropped.

    It is a function of its own, so that its examples are freed before the next ones are read.
    """
    examples = load_examples(task, activations, vectors)
    layers = [variant_layers(variant, activations.layers) for variant in variants]
    sentences = np.unique(task.words["test"].sentences)
    confusion = _train_and_test(task, examples, layers, settings, seeds, sentences)
    read = sum(len(targets) for targets in task.words.values())
    used = sum(len(split.spans.record) for split in examples.values())
    return {
        "counts": torch.from_numpy(confusion),
        "sentences": activations.ids[sentences].tolist(),
        "sizes": [len(examples["test"].spans.record), len(examples["train"].records), read - used],
    }


def _train_and_test(
    task: EdgeTask,
    examples: Mapping[str, TaskSplit],
    layers: Sequence[tuple[int, ...]],
    settings: ProbeSettings,
    seeds: Sequence[int],
    sentences: np.ndarray,
) -> np.ndarray:
    """Train all probes of a task in one bank, and count on the test `sentences`:
    [variants, views, seeds, task's labels or control, sentences, 3]."""
    probes = [
        Probe(mixed, labelling, seed)
        for mixed in layers
        for seed in seeds
        for labelling in (0, seed)
    ]
    train_examples, test = examples["train"], examples["test"]
    bank = Bank(probes, test, settings, f"edge_probe {task.name}")
    trained = train(bank, train_examples, train_examples.records, examples["dev"], MICRO_F1)
    clean = clean_labels(task.name, task.labels)
    sums = evaluate(
        bank,
        torch.stack([probe.best for probe in trained]),
        bank.subset(range(len(probes))),
        test,
        test.records,
        lambda logits, gold: counts_by_view(logits, gold, clean, task.single),
        np.searchsorted(sentences, test.spans.sentence),
    )
    confusion = sums.cpu().numpy().astype(np.int32)
    confusion = confusion.reshape(len(layers), len(seeds), 2, len(sentences), -1, 3)
    return np.moveaxis(confusion, 4, 1)
