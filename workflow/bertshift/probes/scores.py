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
from bertshift.rows.blocks import block_of, in_columns
from bertshift.rows.significance import DRAWS, samples
from bertshift.rows.statistics import is_own_probe

DRAWN_AT_ONCE = 2_000_000  # of a bootstrap: 64 MB
VIEWS = ("micro_all", "clean", "argmax_accuracy")
# The labels that the view "clean" looks at; all of a task that is not here.
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
    """Count true positives, false positives and false negatives of each target at p > 0.5: [K, T,
    C] -> [K, T, 3]."""
    said = (logits > 0).to(gold.dtype)
    right = (said * gold).sum(-1)
    return torch.stack([right, said.sum(-1) - right, gold.sum(-1) - right], -1)


def argmax_counts(logits: Tensor, gold: Tensor) -> Tensor:
    """Count these for the likeliest label of each target, the only one it may have: [K, T, C] ->
    [K, T, 3].

    A wrong one is a false positive and a false negative, so that micro-F1 is accuracy.
    """
    right = gold.gather(-1, logits.argmax(-1, keepdim=True))[..., 0]
    return torch.stack([right, 1 - right, 1 - right], -1)


def counts_by_view(logits: Tensor, gold: Tensor, clean: Sequence[bool], single: bool) -> Tensor:
    """Count in each of VIEWS, [K, T, 9]; in the first two, [K, T, 6], where a target may have
    several labels."""
    chosen = torch.as_tensor(clean, device=logits.device)
    found = [counts(logits, gold), counts(logits[..., chosen], gold[..., chosen])]
    return torch.cat([*found, *([argmax_counts(logits, gold)] if single else [])], -1)


def f1(counts):
    """Calculate micro-F1 of counts [..., 3], 2 TP / (2 TP + FP + FN); 0 where there is nothing to
    find and nothing found."""
    right = 2 * counts[..., 0]
    total = right + counts[..., 1] + counts[..., 2]
    return right / (total + (total == 0))


def f1_without(counts: np.ndarray) -> np.ndarray:
    """Calculate F1 of counts [..., sentences, 3] without each block of sentences, [..., blocks];
    NaN where there is one alone."""
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

    pairs: counts [probe seeds, sentences, 3] of either, all of the same sentences; a model's score
    is the mean of its probe seeds' F1, each over all sentences of a draw. name: what the draws,
    the same for all pairs, depend on. A sentence, not a target, is drawn, as targets of one
    sentence are not independent. The least p is 2 / (draws + 1).
    """
    sides = [side for pair in pairs for side in pair]
    if len({side.shape[1:] for side in sides}) > 1:
        raise ValueError(
            f"counts of different sentences: {', '.join(str(side.shape) for side in sides)}"
        )
    counted = np.concatenate(sides).astype(np.float64).transpose(1, 0, 2)
    sentences, probes, kinds = counted.shape
    flat = counted.reshape(sentences, probes * kinds)
    sizes = np.array([len(side) for side in sides])
    first = np.cumsum(sizes) - sizes

    def gains(times: np.ndarray) -> np.ndarray:
        scores = f1((times @ flat).reshape(len(times), probes, kinds))
        means = np.add.reduceat(scores, first, axis=1) / sizes
        return means[:, ::2] - means[:, 1::2]

    [once] = gains(np.ones((1, sentences)))
    blocks = samples(sentences, draws, "bootstrap", name, drawn_at_once=drawn_at_once)
    found = np.concatenate([gains(times.astype(np.float64)) for times in blocks])
    tail = 1 + np.minimum((found <= 0).sum(0), (found >= 0).sum(0))
    p = np.minimum(1, 2 * tail / (draws + 1))
    return [Difference(*map(float, one)) for one in zip(once, p, strict=True)]


def counts_key(task: str, variant: str, view: str, init: int, seed: int) -> str:
    """Name an array of counts [probe seeds, sentences, 3] in what `edge.probe` returns."""
    return f"{task}/{variant}/{view}/{init}/{seed}"


def sentences_key(task: str) -> str:
    """Name the array of the sentences' ids that a task's counts are of."""
    return f"{task}/sentences"


def deltas(
    model: str,
    reference: str,
    model_counts: Mapping[str, np.ndarray],
    reference_counts: Mapping[str, np.ndarray],
    pairs: Mapping[tuple[int, int], tuple[int, int]],
    draws: int = DRAWS,
) -> pd.DataFrame:
    """Tabulate the difference for each task, variant and view that both models have, and each
    replicate of the model in `pairs`, with the difference without each block of test sentences
    (`blocks.JACKKNIFE_COLUMNS`).

    model_counts, reference_counts: the arrays of `edge.probe`; pairs: (init, seed) of the model ->
    of the reference. Each seed is compared with its own probes of a pretrained reference
    (`statistics.is_own_probe`). Raises UserError where the two have been probed on different
    sentences, or share nothing.
    """
    shared: dict[str, dict[tuple, tuple[str, str]]] = {}
    for key in model_counts:
        task, *rest = key.split("/")
        if rest == ["sentences"]:
            continue
        variant, view, init, seed = rest
        replicate = (int(init), int(seed))
        if replicate not in pairs:
            continue
        other = counts_key(task, variant, view, *pairs[replicate])
        if other not in reference_counts:
            continue
        if not np.array_equal(
            model_counts[sentences_key(task)], reference_counts[sentences_key(task)]
        ):
            raise UserError(
                f"{model} and {reference} were probed on different test sentences of {task}; "
                "delete their edge_probes files and make both again."
            )
        shared.setdefault(task, {})[variant, view, *replicate] = key, other
    seeds = max(seed for _, seed in pairs)
    rows, without = [], []
    for task, cells in shared.items():
        counted = []
        for (_, _, init, seed), (key, other) in cells.items():
            probes, (_, ref_seed) = reference_counts[other], pairs[init, seed]
            among = 0 if ref_seed else seed  # a fine-tuned reference's probes are shared by none
            own = is_own_probe(np.arange(1, len(probes) + 1), len(probes), among, seeds)
            counted.append((model_counts[key], probes[own]))
        found = compare(counted, draws, name=task)
        n = counted[0][0].shape[1]
        rows += [
            ("edge_probe_delta", model, reference, task, *cell, one.delta, one.p, n)
            for cell, one in zip(cells, found, strict=True)
        ]
        # For each model, the mean over its probe seeds.
        means = ([f1_without(side).mean(axis=0) for side in sides] for sides in counted)
        without += [own - other for own, other in means]
    if not rows:
        raise UserError(
            f"The probes of {model} and {reference} share no task and variant; probe them on the"
            " same."
        )
    return pd.concat([pd.DataFrame(rows, columns=DELTA_COLUMNS), in_columns(without)], axis=1)
