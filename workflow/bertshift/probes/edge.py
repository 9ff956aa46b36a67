"""Edge probing (Tenney et al. 2019; Merchant et al. 2020, section 4.1, Table 1): what can be read
off span vectors."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import chain, product
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
from bertshift.probes.bank import Bank, Examples, Features, Objective, Probe, evaluate, train
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
from bertshift.rows.blocks import in_columns
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
    """Compute the mean cross-entropy over targets and labels, one Bernoulli variable a label: [K,
    T, C] -> [K]."""
    return F.binary_cross_entropy_with_logits(logits, gold, reduction="none").mean((1, 2))


Replicate = tuple[int, int]  # (init, seed)
EDGE_FILES = [*(f"{split}.jsonl" for split in SPLITS), SIDECAR]
MICRO_F1 = Objective(binary_loss, counts, f1)


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

    Prints how many test targets have a label that training has not. Raises UserError where a split
    has no targets, and as `read_targets` does.
    """
    sidecar = read_edge_sidecar(folder)
    labels, words = list(sidecar["labels"]), {}
    for split in SPLITS:
        records = records_used(folder, name, split, settings.sizes)
        words[split] = read_targets(
            records, sidecar["spans"], labels, rows, f"{folder}/{split}.jsonl"
        )
        if not len(words[split]):
            raise UserError(
                f"{folder}/{split}.jsonl has no targets, so {name} cannot be probed: convert it"
                " again."
            )
    own = words["train"].labels
    unseen = words["test"].labels[:, ~own.any(axis=0)].any(axis=1).sum()
    if unseen:
        print(
            f"edge_probe: {name}: {unseen} of {len(words['test'])} test targets have a label that"
            " no training target has; they count as wrong",
            file=sys.stderr,
        )
    labellings = {
        split: np.stack(
            [
                targets.labels,
                *(control_labels(targets.phrases, own, name, seed) for seed in controls),
            ]
        )
        for split, targets in words.items()
    }
    return EdgeTask(name, labels, not sidecar["multilabel"], words, labellings)


def read_rows(sentences: Path) -> dict[Sentence, int]:
    """Read the row number of each sentence (tuple of words) in a file of stimuli."""
    return {tuple(row["words"]): number for number, row in enumerate(read_jsonl(sentences))}


def load_examples(
    task: EdgeTask, activations: Activations, word_vectors: np.ndarray | None = None
) -> dict[str, Examples]:
    """Load all splits of a task for one model; print how many targets the window (max_length) has
    cut off.

    Raises UserError where it has cut off all targets of a split.
    """
    pieces = {split: align(words, activations) for split, words in task.words.items()}
    for split, targets in pieces.items():
        if targets.dropped:
            print(
                f"{activations.path}: {targets.dropped} of {len(task.words[split])} targets of"
                f" {task.name}, split {split}, lie outside the window and are left out",
                file=sys.stderr,
            )
        if not len(targets.kept):
            raise UserError(
                f"{activations.path} has no target of {task.name}, split {split}, inside its"
                " window; extract with a larger max_length."
            )
    spans = {split: SpanTokens(targets) for split, targets in pieces.items()}
    features = Features(
        activations, np.concatenate([one.tokens for one in spans.values()]), word_vectors
    )
    return {
        split: Examples(
            spans[split],
            features,
            torch.from_numpy(task.labellings[split][:, targets.kept]).to(best_device()),
        )
        for split, targets in pieces.items()
    }


def word_vectors(folder: Path) -> np.ndarray:
    """Compute a folder's word embeddings [V, d] after LayerNorm, without position and segment:
    variant word_only."""
    return models.word_vectors(load_encoder(Path(folder))).numpy()


def variant_layers(variant: str, layers: int) -> tuple[int, ...]:
    """Select the rows of Features that a variant's probe mixes, for an encoder of `layers`
    layers."""
    return {
        "mix": tuple(range(layers + 1)),
        "top": (layers,),
        "lexical": (0,),
        "word_only": (layers + 1,),
    }[variant]


def recipes(
    sources: Mapping[Replicate, Source],
    edges: Mapping[str, Path],
    settings: ProbeSettings,
    code: str,
) -> dict[tuple[Replicate, str], dict]:
    """Map (replicate, task) to all that probes of the task on the replicate's states are made
    from."""
    of_task = {
        name: {
            "task": name,
            "settings": asdict(settings.of(name)),
            "edges": [sha256(Path(folder) / file) for file in EDGE_FILES],
            "code": code,
        }
        for name, folder in edges.items()
    }
    of_states = {replicate: {"states": source.recipe()} for replicate, source in sources.items()}
    return {
        (replicate, name): of_states[replicate] | of_task[name]
        for replicate, name in product(sources, edges)
    }


def probe(
    model: str,
    sources: Mapping[Replicate, Source],
    edges: Mapping[str, Path],
    sentences: Path,
    settings: ProbeSettings,
    kept: PartCache,
    variants: Sequence[str] = ("mix", "top"),
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Train and test the probes of all tasks on every replicate's activations of the stimuli in
    `sentences`.

    sources: (init, seed) -> what the activations come from; edges: task -> folder of records;
    variants: mix (all layers), top (the last one), lexical (layer 0), word_only (see
    `word_vectors`). A task of a replicate is a part of the work, with all its variants: their
    probes share a bank.

    Returns a table of COLUMNS and, for comparisons of models, counts of TP, FP, FN named by
    scores.counts_key. F1 is in [0, 1]; `control` is the same probe's on its control task,
    `selectivity` the difference; n test targets, train records, dropped targets (of all splits).
    The columns blocks.JACKKNIFE_COLUMNS have F1 without each block of the task's test sentences,
    by the same probe. Raises UserError as `read_task` and `load_examples` do.
    """
    rows = read_rows(sentences)
    task = cache(
        lambda name: read_task(name, edges[name], rows, settings.of(name), settings.of(name).seeds)
    )
    states = LastCallCache(
        lambda replicate: sources[replicate].written(kept.folder / "states.npz")
    )

    def learn(replicate: Replicate, name: str) -> dict:
        words = word_vectors(sources[replicate].folder) if "word_only" in variants else None
        own = settings.of(name)
        seeds = own.seeds_of(replicate[1])
        return _of_replicate(task(name), states(replicate), words, variants, own, seeds)

    parts = {
        (name, replicate): Part(
            f"{name}_init{replicate[0]}_seed{replicate[1]}",
            recipe | {"variants": list(variants)},
            partial(learn, replicate, name),
        )
        for (replicate, name), recipe in recipes(sources, edges, settings, kept.code).items()
    }
    found = made(parts, kept.folder, "edge_probes")
    table, arrays, rests = [], {}, []
    for name, replicate in product(edges, sources):
        own = found[name, replicate]
        arrays[sentences_key(name)] = np.array(own["sentences"])
        counted, seeds = own["counts"].numpy(), settings.of(name).seeds_of(replicate[1])
        for (variant, view), per_seed in zip(
            product(variants, VIEWS[: counted.shape[1]]), chain(*counted)
        ):
            arrays[counts_key(name, variant, view, *replicate)] = per_seed[:, 0]
            rests += [*f1_without(per_seed[:, 0])]
            for seed, (value, control) in zip(seeds, f1(per_seed.sum(axis=2)).tolist()):
                keys = ("edge_probe", model, name, variant, view, *replicate, seed)
                table.append((*keys, value, control, value - control, *own["sizes"]))
    return pd.concat([pd.DataFrame(table, columns=COLUMNS), in_columns(rests)], axis=1), arrays


def _of_replicate(
    task: EdgeTask,
    activations: Activations,
    words: np.ndarray | None,
    variants: Sequence[str],
    settings: ProbeSettings,
    seeds: Sequence[int],
) -> dict:
    """Return the `counts` of `_train_and_test`, the ids of their `sentences`, and `sizes`: n,
    train, dropped.

    It is a function of its own, so that its examples are freed before the next ones are read.
    """
    examples = load_examples(task, activations, words)
    layers = [variant_layers(variant, activations.layers) for variant in variants]
    tested = np.unique(task.words["test"].sentences)
    counted = _train_and_test(task, examples, layers, settings, seeds, tested)
    total = sum(map(len, task.words.values()))
    return {
        "counts": torch.from_numpy(counted),
        "sentences": activations.ids[tested].tolist(),
        "sizes": [
            len(examples["test"].spans.record),
            len(examples["train"].records),
            total - sum(len(split.spans.record) for split in examples.values()),
        ],
    }


def _train_and_test(
    task: EdgeTask,
    examples: Mapping[str, Examples],
    layers: Sequence[tuple[int, ...]],
    settings: ProbeSettings,
    seeds: Sequence[int],
    tested: np.ndarray,
) -> np.ndarray:
    """Train probes in one bank: counts [variants, views, seeds, own labels or control, sentences
    `tested`, 3]."""
    probes = [
        Probe(own, labelling, seed) for own in layers for seed in seeds for labelling in (0, seed)
    ]
    train_examples, test = examples["train"], examples["test"]
    bank = Bank(probes, test, settings, f"edge_probe {task.name}")
    trained = train(bank, train_examples, train_examples.records, examples["dev"], MICRO_F1)
    clean = clean_labels(task.name, task.labels)
    sums = evaluate(
        bank,
        torch.stack([one.best for one in trained]),
        bank.chosen(range(len(probes))),
        test,
        test.records,
        lambda logits, gold: counts_by_view(logits, gold, clean, task.single),
        np.searchsorted(tested, test.spans.sentence),
    )
    sums = sums.cpu().numpy().astype(np.int32)
    return np.moveaxis(sums.reshape(len(layers), len(seeds), 2, len(tested), -1, 3), 4, 1)
