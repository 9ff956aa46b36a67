"""How differently two models answer, by the heads that they were published with.

Of a text i the model's head gives logits a_i and the reference's b_i; p_i and q_i are their
softmaxes. Classifiers:

    js                   mean of JS(p_i, q_i), in nats (`jensen_shannon`)
    answers_changed      share of texts whose most probable class is another

of one output, a regression:

    difference           mean of |a_i - b_i|
    pearson, spearman    correlation of a with b over texts

With labels, accuracy of both and their difference, paired by texts, with the numbers of texts that
are lost (right by the reference alone) and won (right by the model alone); of a regression, the
correlations of either output with the labels. Models that predict words, at each predicted token:

    kl                   mean of KL(q || p) = sum q (ln q - ln p), in nats
    first_guess_kept     share of tokens whose most probable word is the same
    bits                 decoders: - sum log2 p(token) / characters, of both, and their difference

All is computed in float64. Values without each block of texts are those of the texts outside it:
means are ratios of sums, as of tokens, whose numbers differ between texts.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from bertshift.measures import ANY, CORRELATION, NATS, POSITIVE, SHARE, Range
from bertshift.metrics import jensen_shannon
from bertshift.rows.blocks import block_of, left_out, outside
from bertshift.rows.statistics import correlation

LOST, WON = "lost", "won"
# Ranges of all measures but the counts of texts, which end at the number of texts.
RANGES: dict[str, Range] = {
    "js": NATS,
    "answers_changed": SHARE,
    "accuracy": SHARE,
    "reference_accuracy": SHARE,
    "accuracy_difference": ANY,
    "difference": POSITIVE,
    "pearson": CORRELATION,
    "spearman": CORRELATION,
    "pearson_with_labels": CORRELATION,
    "reference_pearson_with_labels": CORRELATION,
    "spearman_with_labels": CORRELATION,
    "reference_spearman_with_labels": CORRELATION,
    "kl": POSITIVE,
    "first_guess_kept": SHARE,
    "bits_per_character": POSITIVE,
    "reference_bits_per_character": POSITIVE,
    "bits_difference": ANY,
}


@dataclass(frozen=True)
class Words:
    """Predictions of words by two models, summed by text [texts]: kl in nats, kept first guesses,
    bits of the model and of its reference, all of `tokens` tokens."""

    kl: np.ndarray
    kept: np.ndarray
    bits: np.ndarray
    reference_bits: np.ndarray
    tokens: np.ndarray


def of_classes(
    logits: np.ndarray, reference: np.ndarray, labels: np.ndarray | None = None
) -> list[dict]:
    """Compare two classifiers: rows with measure, value, n (texts), jackknife, bounds and the
    number of `examples` that a value is a share of.

    logits, reference: [texts, classes]; labels: [texts], the numbers of the right classes
    """
    texts = np.ones(len(logits))
    answers, reference_answers = logits.argmax(1), reference.argmax(1)
    rows = [
        _make_mean("js", divergences(logits, reference), texts),
        _make_mean("answers_changed", answers != reference_answers, texts),
    ]
    if labels is None:
        return rows
    right, reference_right = answers == labels, reference_answers == labels
    difference = right.astype(np.float64) - reference_right
    outcomes = outcomes_of(answers, reference_answers, labels)
    return [
        *rows,
        _make_mean("accuracy", right, texts),
        _make_mean("reference_accuracy", reference_right, texts),
        _make_mean("accuracy_difference", difference, texts),
        _make_count(LOST, outcomes == LOST),
        _make_count(WON, outcomes == WON),
    ]


def outcomes_of(answers: np.ndarray, reference: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Name the texts that are lost and won by the model's answers; empty for the others."""
    right, reference_right = answers == labels, reference == labels
    return np.select([right & ~reference_right, ~right & reference_right], [WON, LOST], "")


def of_outputs(
    outputs: np.ndarray, reference: np.ndarray, labels: np.ndarray | None = None
) -> list[dict]:
    """Compare two regressions: rows as of `of_classes`, without correlations that are undefined,
    as of equal outputs. outputs, reference, labels: [texts]."""
    rows = [_make_mean("difference", np.abs(outputs - reference), np.ones(len(outputs)))]
    pairs = {"{}": (outputs, reference)}
    if labels is not None:
        pairs["{}_with_labels"] = outputs, labels
        pairs["reference_{}_with_labels"] = reference, labels
    for name, (x, y) in pairs.items():
        rows += _make_correlations(name.format("pearson"), correlation, x, y)
        rows += _make_correlations(name.format("spearman"), _rank_correlation, x, y)
    return rows


def of_masked(words: Words) -> list[dict]:
    """Compare two models at masked tokens: rows as of `of_classes`, n in tokens."""
    return [
        _make_mean("kl", words.kl, words.tokens),
        _make_mean("first_guess_kept", words.kept, words.tokens),
    ]


def of_next(words: Words, characters: np.ndarray) -> list[dict]:
    """Compare two decoders at next tokens: rows as of `of_classes`, n in tokens or characters.
    characters: [texts], those of the predicted tokens."""
    difference = words.bits - words.reference_bits
    if not characters.any():  # tokens that are parts of a text's only character
        return of_masked(words)
    return [
        *of_masked(words),
        _make_mean("bits_per_character", words.bits, characters),
        _make_mean("reference_bits_per_character", words.reference_bits, characters),
        _make_mean("bits_difference", difference, characters),
    ]


def divergences(logits: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Compute the Jensen-Shannon divergence of the softmaxes [texts] in nats, from [texts,
    classes]."""
    p, q = _softmax(logits), _softmax(reference)
    terms = jensen_shannon.terms(p.ravel(), q.ravel()).sum(axis=0).reshape(p.shape)
    return np.maximum(terms.sum(axis=1) / 2, 0.0)


def _softmax(logits: np.ndarray) -> np.ndarray:
    logits = np.asarray(logits, np.float64)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def of_tokens(logits: Tensor, reference: Tensor, targets: Tensor) -> Tensor:
    """Compute, of each token, KL of the model's prediction from its reference's in nats, whether
    the first guess is the same, and the bits of the target by the model and by its reference:
    [4, tokens] in float64.

    logits, reference: [tokens, vocabulary]; targets: [tokens]
    """
    is_kept = logits.argmax(-1) == reference.argmax(-1)
    log_p, log_q = (each.double().log_softmax(-1) for each in (logits, reference))
    bits = [-each.gather(-1, targets[:, None])[:, 0] / math.log(2) for each in (log_p, log_q)]
    q = log_q.exp()
    terms = (log_q - log_p).mul_(q).masked_fill_(q == 0, 0)
    return torch.stack([terms.sum(-1).clamp(min=0), is_kept.double(), *bits])


def _make_mean(measure: str, sums: np.ndarray, counts: np.ndarray) -> dict:
    """Make the row of a mean: the ratio of sums over texts."""
    sums, counts = (np.asarray(each, np.float64) for each in (sums, counts))
    block = block_of(len(sums))
    jackknife = left_out(np.bincount(block, sums), np.bincount(block, counts))
    is_share = RANGES[measure] == SHARE
    return {
        "measure": measure,
        "value": sums.sum() / counts.sum(),
        "n": int(counts.sum()),
        "jackknife": jackknife,
        "bounds": RANGES[measure],
        "examples": len(sums) if is_share else np.nan,
    }


def _make_count(measure: str, is_counted: np.ndarray) -> dict:
    """Make the row of a number of texts: their share, times all."""
    texts = len(is_counted)
    block = block_of(texts)
    shares = left_out(np.bincount(block, is_counted), np.bincount(block))
    return {
        "measure": measure,
        "value": float(is_counted.sum()),
        "n": texts,
        "jackknife": texts * shares,
        "bounds": (0.0, float(texts)),
        "examples": texts,
    }


def _make_correlations(
    measure: str, correlate: Callable, x: np.ndarray, y: np.ndarray
) -> Sequence[dict]:
    """Make the row of a correlation over texts; none where it is undefined."""
    value = correlate(x, y)
    if np.isnan(value):
        return []
    jackknife = [correlate(x[rest], y[rest]) for rest in outside(len(x))]
    row = {"measure": measure, "value": value, "n": len(x), "jackknife": jackknife}
    return [row | {"bounds": RANGES[measure], "examples": np.nan}]


def _rank_correlation(x: np.ndarray, y: np.ndarray) -> float:
    return correlation(stats.rankdata(x), stats.rankdata(y))
