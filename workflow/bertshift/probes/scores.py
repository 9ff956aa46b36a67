"""F1 of edge probes from counts, in the views that readings of the papers need, and its paired
bootstrap."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from bertshift.errors import UserError
from bertshift.rows.blocks import block_of, padded
from bertshift.rows.significance import DRAWS, samples
from bertshift.rows.statistics import is_own_probe
from bertshift.rows.table import Table

DRAWN_AT_ONCE = 2_000_000  # sentences of a bootstrap: 64 MB
VIEWS = ("micro_all", "clean", "argmax_accuracy")
# The labels of the view "clean"; a task that is not here has all of its labels.
CLEAN = {"srl": r"ARG([0-5A]|M.*)", "relations": r"(?!Other$).*", "coref": r"1"}
DELTA_COLUMNS = [
    "metric",
    "model",
    "reference",
    "task",
    "variant",
    "view",
    "init",
    "seed",
    "value",
    "p",
    "n",
]


def clean_labels(task: str, labels: Sequence[str]) -> list[bool]:
    return [re.fullmatch(CLEAN.get(task, ".*"), label) is not None for label in labels]


def counts(logits: Tensor, gold: Tensor) -> Tensor:
    """Count true positives, false positives and false negatives of each target at p > 0.5:
    [K, T, C] -> [K, T, 3]."""
    predicted = (logits > 0).to(gold.dtype)
    true_positives = (predicted * gold).sum(-1)
    false_positives = predicted.sum(-1) - true_positives
    false_negatives = gold.sum(-1) - true_positives
    return torch.stack([true_positives, false_positives, false_negatives], -1)


def argmax_counts(logits: Tensor, gold: Tensor) -> Tensor:
    """Count as `counts` does where each target has one label, and the likeliest is predicted:
    [K, T, C] -> [K, T, 3].

    A wrong label is a false positive and a false negative, so that micro-F1 is accuracy.
    """
    right = gold.gather(-1, logits.argmax(-1, keepdim=True))[..., 0]
    wrong = 1 - right
    return torch.stack([right, wrong, wrong], -1)


def counts_by_view(logits: Tensor, gold: Tensor, clean: Sequence[bool], single: bool) -> Tensor:
    """Count in each of VIEWS, [K, T, 9]; in the first two, [K, T, 6], where a target may have
    several labels."""
    is_clean = torch.as_tensor(clean, device=logits.device)
    views = [counts(logits, gold), counts(logits[..., is_clean], gold[..., is_clean])]
    if single:
        views.append(argmax_counts(logits, gold))
    return torch.cat(views, -1)


def f1(counts):
    """Calculate micro-F1 of counts [..., 3], 2 TP / (2 TP + FP + FN); 0 where there is nothing to
    find and nothing found."""
    right = 2 * counts[..., 0]
    total = right + counts[..., 1] + counts[..., 2]
    return right / (total + (total == 0))


def f1_without(counts: np.ndarray) -> np.ndarray:
    """Calculate F1 of counts [..., sentences, 3] without each block of sentences, [..., blocks];
    NaN for a single block."""
    block = block_of(counts.shape[-2])
    rest = block != np.arange(block[-1] + 1)[:, None]
    scores = f1(rest.astype(np.int64) @ counts.astype(np.int64))
    return np.where(rest.any(axis=1), scores, np.nan)


@dataclass(frozen=True)
class Difference:
    """A difference of two scores, and the two-sided p of "no difference"."""

    delta: float
    p: float


def compare(
    pairs: Sequence[tuple[np.ndarray, np.ndarray]],
    draws: int = DRAWS,
    name: str = "",
    drawn_at_once: int = DRAWN_AT_ONCE,
) -> list[Difference]:
    """Test, for each pair, F1 of the model minus F1 of its reference, by a paired bootstrap over
    test sentences.

    pairs: counts [probe seeds, sentences, 3] of the model and of the reference, all of the same
    sentences; a model's score is the mean of its probe seeds' F1, each over all sentences of a
    draw. The draws depend on `name`, and are the same for all pairs. Sentences are drawn, not
    targets, as targets of one sentence are not independent. The least p is 2 / (draws + 1).
    """
    sides = [side for pair in pairs for side in pair]
    if len({side.shape[1:] for side in sides}) > 1:
        raise ValueError(
            f"counts of different sentences: {', '.join(str(side.shape) for side in sides)}"
        )
    by_sentence = np.concatenate(sides).astype(np.float64).transpose(1, 0, 2)
    sentences, probes, kinds = by_sentence.shape
    flat = by_sentence.reshape(sentences, probes * kinds)
    seeds = np.array([len(side) for side in sides])
    first_probe = np.cumsum(seeds) - seeds

    def differences(weights: np.ndarray) -> np.ndarray:
        scores = f1((weights @ flat).reshape(len(weights), probes, kinds))
        means = np.add.reduceat(scores, first_probe, axis=1) / seeds
        return means[:, ::2] - means[:, 1::2]

    observed = differences(np.ones((1, sentences)))[0]
    draws_by_block = samples(sentences, draws, "bootstrap", name, drawn_at_once=drawn_at_once)
    drawn = np.concatenate([differences(times.astype(np.float64)) for times in draws_by_block])
    tail = 1 + np.minimum((drawn <= 0).sum(0), (drawn >= 0).sum(0))
    p = np.minimum(1, 2 * tail / (draws + 1))
    return [Difference(*values) for values in zip(observed.tolist(), p.tolist(), strict=True)]


def counts_key(task: str, variant: str, view: str, init: int, seed: int) -> str:
    """Name an array of counts [probe seeds, sentences, 3] in what `edge.probe` returns."""
    return f"{task}/{variant}/{view}/{init}/{seed}"


def sentences_key(task: str) -> str:
    """Name the array of the ids of a task's test sentences."""
    return f"{task}/sentences"


def deltas(
    model: str,
    reference: str,
    model_counts: Mapping[str, np.ndarray],
    reference_counts: Mapping[str, np.ndarray],
    pairs: Mapping[tuple[int, int], tuple[int, int]],
    draws: int = DRAWS,
) -> Table:
    """Tabulate the difference for each task, variant and view that both models have, and each
    replicate of the model in `pairs`, with the difference without each block of test
    sentences.

    Each seed is compared with its own probes of a pretrained reference
    (`statistics.is_own_probe`).

    model_counts, reference_counts: the arrays of `edge.probe`
    pairs: (init, seed) of the model -> of the reference

    UserError where the two have been probed on different sentences, or share nothing.
    """
    seeds = max(seed for _, seed in pairs)
    compared: dict[str, dict[tuple, tuple[np.ndarray, np.ndarray]]] = {}
    for key in model_counts:
        task, *names = key.split("/")
        if names == ["sentences"]:
            continue
        variant, view = names[:2]
        init, seed = map(int, names[2:])
        if (init, seed) not in pairs:
            continue
        reference_init, reference_seed = pairs[init, seed]
        reference_key = counts_key(task, variant, view, reference_init, reference_seed)
        if reference_key not in reference_counts:
            continue
        if not np.array_equal(
            model_counts[sentences_key(task)], reference_counts[sentences_key(task)]
        ):
            raise UserError(
                f"{model} and {reference} were probed on different test sentences of {task}; "
                "delete their edge_probes files and make both again."
            )
        probes = reference_counts[reference_key]
        # A pretrained reference's probes are divided among the seeds; a fine-tuned one's are not.
        dividing_seed = 0 if reference_seed else seed
        own = is_own_probe(np.arange(1, len(probes) + 1), len(probes), dividing_seed, seeds)
        cell = (variant, view, init, seed)
        compared.setdefault(task, {})[cell] = (model_counts[key], probes[own])
    rows, jackknife = [], []
    for task, cells in compared.items():
        differences = compare(list(cells.values()), draws, name=task)
        for (cell, counts_pair), difference in zip(cells.items(), differences, strict=True):
            delta, p = difference.delta, difference.p
            n = counts_pair[0].shape[1]
            rows.append(("edge_probe_delta", model, reference, task, *cell, delta, p, n))
            model_f1, reference_f1 = (f1_without(side).mean(axis=0) for side in counts_pair)
            jackknife.append(model_f1 - reference_f1)
    if not rows:
        raise UserError(
            f"The probes of {model} and {reference} share no task and variant; probe them on the"
            " same."
        )
    return Table.of(pd.DataFrame(rows, columns=DELTA_COLUMNS), padded(jackknife))
