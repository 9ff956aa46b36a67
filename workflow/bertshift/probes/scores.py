"""F1 of edge probes from counts, in the views that readings of the papers need, and its paired bootstrap."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from bertshift.errors import UserError
from bertshift.seeds import seed_from

VIEWS = ("micro_all", "clean", "argmax_accuracy")
# The labels that the view "clean" looks at; all of a task that is not here.
CLEAN = {"srl": r"ARG([0-5A]|M.*)", "relations": r"(?!Other$).*", "coref": r"1"}
DELTA_COLUMNS = [
    "metric", "model", "reference", "task", "variant", "view", "init", "seed", "value", "low", "high", "p",
    "n",
]  # fmt: skip


def clean_labels(task: str, labels: Sequence[str]) -> list[bool]:
    return [re.fullmatch(CLEAN.get(task, ".*"), label) is not None for label in labels]


def counts(logits: Tensor, gold: Tensor) -> Tensor:
    """True positives, false positives, false negatives of each target at p > 0.5: [K, T, C] -> [K, T, 3]."""
    said = (logits > 0).to(gold.dtype)
    right = (said * gold).sum(-1)
    return torch.stack([right, said.sum(-1) - right, gold.sum(-1) - right], -1)


def argmax_counts(logits: Tensor, gold: Tensor) -> Tensor:
    """Counts of the likeliest label of each target, the only one it may have: [K, T, C] -> [K, T, 3].

    A wrong one is a false positive and a false negative, so that micro-F1 is accuracy.
    """
    right = gold.gather(-1, logits.argmax(-1, keepdim=True))[..., 0]
    return torch.stack([right, 1 - right, 1 - right], -1)


def counts_by_view(logits: Tensor, gold: Tensor, clean: Sequence[bool], single: bool) -> Tensor:
    """The counts in each of VIEWS, [K, T, 9]; in the first two, [K, T, 6], where a target may have several labels."""
    chosen = torch.as_tensor(clean, device=logits.device)
    found = [counts(logits, gold), counts(logits[..., chosen], gold[..., chosen])]
    return torch.cat([*found, *([argmax_counts(logits, gold)] if single else [])], -1)


def f1(counts):
    """Micro-F1 of counts [..., 3], 2 TP / (2 TP + FP + FN); 0 where there is nothing to find and nothing found."""
    right = 2 * counts[..., 0]
    total = right + counts[..., 1] + counts[..., 2]
    return right / (total + (total == 0))


@dataclass(frozen=True)
class Difference:
    """A difference of two scores, its percentile interval, and the two-sided p of "no difference"."""

    delta: float
    low: float
    high: float
    p: float


def compare(
    model: np.ndarray, reference: np.ndarray, draws: int = 1000, level: float = 0.95, name: str = ""
) -> Difference:
    """F1 of one model minus F1 of another, with a paired bootstrap over test sentences.

    model, reference: counts [probe seeds, sentences, 3] of the same sentences; a model's score is the mean of its
    probe seeds' F1, each over all sentences of a draw. name: what the draws depend on. A sentence, not a target, is
    drawn, as targets of one sentence are not independent.
    """
    if model.shape[1:] != reference.shape[1:]:
        raise ValueError(f"counts of different sentences: {model.shape} and {reference.shape}")
    sentences = model.shape[1]

    def score(counted: np.ndarray, times: np.ndarray) -> np.ndarray:
        return f1(np.einsum("dn,snc->dsc", times, counted.astype(np.float64), optimize=True)).mean(axis=1)

    once = np.ones((1, sentences))
    delta = float((score(model, once) - score(reference, once))[0])
    drawn = _drawn(sentences, draws, name)
    found = score(model, drawn) - score(reference, drawn)
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    tail = 1 + min((found <= 0).sum(), (found >= 0).sum())
    return Difference(delta, float(low), float(high), min(1.0, 2 * float(tail) / (draws + 1)))


@lru_cache(1)  # the comparisons of one task share it
def _drawn(sentences: int, draws: int, name: str) -> np.ndarray:
    """[draws, sentences] how often each sentence is in each draw."""
    rng = np.random.default_rng(seed_from("bootstrap", name))
    return rng.multinomial(sentences, np.full(sentences, 1 / sentences), draws).astype(np.float64)


def counts_key(task: str, variant: str, view: str, init: int, seed: int) -> str:
    """Name of an array of counts [probe seeds, sentences, 3] in what `edge.probe` returns."""
    return f"{task}/{variant}/{view}/{init}/{seed}"


def sentences_key(task: str) -> str:
    """Name of the ids of the sentences that a task's counts are of."""
    return f"{task}/sentences"


def deltas(
    model: str,
    reference: str,
    model_counts: Mapping[str, np.ndarray],
    reference_counts: Mapping[str, np.ndarray],
    pairs: Mapping[tuple[int, int], tuple[int, int]],
    draws: int = 1000,
) -> pd.DataFrame:
    """A row for each task, variant and view that both models have, and each replicate of the model in `pairs`.

    model_counts, reference_counts: the arrays of `edge.probe`; pairs: (init, seed) of the model -> of the reference.
    Raises UserError where the two have been probed on different sentences, or share nothing.
    """
    rows = []
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
        if not np.array_equal(model_counts[sentences_key(task)], reference_counts[sentences_key(task)]):
            raise UserError(
                f"{model} and {reference} were probed on different test sentences of {task}; "
                "delete their edge_probes files and make both again."
            )
        found = compare(model_counts[key], reference_counts[other], draws, name=task)
        values = (found.delta, found.low, found.high, found.p, model_counts[key].shape[1])
        rows.append(("edge_probe_delta", model, reference, task, variant, view, *replicate, *values))
    if not rows:
        raise UserError(
            f"The probes of {model} and {reference} share no task and variant; probe them on the same."
        )
    return pd.DataFrame(rows, columns=DELTA_COLUMNS)
