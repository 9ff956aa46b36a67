"""Scores as fractions (accuracy and F1 in [0, 1], correlations in [-1, 1])."""

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean

import numpy as np
from numpy.typing import ArrayLike

from bertshift.errors import UserError

NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def accuracy(gold: ArrayLike, predicted: ArrayLike) -> float:
    return float(np.mean(np.asarray(gold) == np.asarray(predicted)))


def f1(gold: ArrayLike, predicted: ArrayLike, positive: int = 1) -> float:
    """Compute F1 of one class, 0 if it is neither gold nor predicted. GLUE's class 1 is duplicate
    or paraphrase."""
    gold = np.asarray(gold) == positive
    predicted = np.asarray(predicted) == positive
    true_positives = np.sum(gold & predicted)
    total = np.sum(gold) + np.sum(predicted)
    return float(2 * true_positives / total) if total else 0.0


def macro_f1(gold: ArrayLike, predicted: ArrayLike) -> float:
    """Average F1 over all classes that are gold or predicted."""
    return fmean(f1(gold, predicted, label) for label in np.union1d(gold, predicted))


def mcc(gold: ArrayLike, predicted: ArrayLike) -> float:
    """Compute the Matthews correlation for any number of classes (Gorodkin 2004); 0 if either side
    is constant.

    It is the correlation of two one-hot matrices, centred by column.
    """
    gold, predicted = np.asarray(gold), np.asarray(predicted)
    classes = np.union1d(gold, predicted)
    x = (gold[:, None] == classes).astype(float)
    y = (predicted[:, None] == classes).astype(float)
    x = x - x.mean(0)
    y = y - y.mean(0)
    variances = np.sum(x * x) * np.sum(y * y)
    norm = np.sqrt(variances)
    return float(np.sum(x * y) / norm) if norm else 0.0


def pearson(gold: ArrayLike, predicted: ArrayLike) -> float:
    """Correlate gold and predicted values. Undefined for a constant; here 0, as a model with
    constant predictions explains nothing."""
    x, y = np.asarray(gold, float), np.asarray(predicted, float)
    if is_constant(x) or is_constant(y):
        return 0.0
    x = x - x.mean()
    y = y - y.mean()
    norm = np.sqrt((x @ x) * (y @ y))
    correlation = x @ y / norm
    return float(np.clip(correlation, -1, 1))


def spearman(gold: ArrayLike, predicted: ArrayLike) -> float:
    """Correlate ranks by Pearson's r, ties at their mean rank; 0 for a constant."""
    x, y = np.asarray(gold, float), np.asarray(predicted, float)
    if is_constant(x) or is_constant(y):
        return 0.0
    return pearson(_ranks(x), _ranks(y))


def _ranks(values: np.ndarray) -> np.ndarray:
    """Rank values from 1, ties at their mean rank; scipy's own takes a second to import."""
    _, group, size = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(size) - (size - 1) / 2)[group]


def is_constant(values: np.ndarray) -> bool:
    """Return whether all values are equal, but for rounding."""
    # A collapsed regression still varies in the last bits of float32.
    return bool(np.ptp(values) <= 1e-6 * np.max(np.abs(values)))


CLASS_SCORES = {"accuracy": accuracy, "f1": f1, "macro_f1": macro_f1, "mcc": mcc}
REGRESSION_SCORES = {"pearson": pearson, "spearman": spearman}


def check_metrics(names: Iterable[str], suitable: Iterable[str], task: str) -> None:
    for name in names:
        if name not in suitable:
            raise UserError(
                f"tasks.{task}.metrics: {name!r} does not suit this task; write one of"
                f" {', '.join(suitable)}."
            )


def normalise_answer(text: str) -> str:
    """Normalise an answer as the official SQuAD scripts do: lower case, no ASCII punctuation, no
    articles, single spaces."""
    text = text.lower().translate(NO_PUNCTUATION)
    text = re.sub(r"\b(a|an|the)\b", " ", text)
    return " ".join(text.split())


def exact_match(predicted: str, answer: str) -> float:
    return float(normalise_answer(predicted) == normalise_answer(answer))


def token_f1(predicted: str, answer: str) -> float:
    """Compute F1 of two bags of words; 1 if both are empty, 0 if one is (the rule that SQuAD 2.0
    needs)."""
    predicted_words = normalise_answer(predicted).split()
    gold_words = normalise_answer(answer).split()
    if not predicted_words or not gold_words:
        return float(predicted_words == gold_words)
    common = Counter(predicted_words) & Counter(gold_words)
    return 2 * common.total() / (len(predicted_words) + len(gold_words))


def squad_scores(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> dict[str, np.ndarray]:
    """Score each question by exact_match and f1, the best over its reference answers; [""] means:
    no answer."""
    matches, f1_scores = [], []
    for answers, text in zip(gold, predicted, strict=True):
        matches.append(max(exact_match(text, answer) for answer in answers))
        f1_scores.append(max(token_f1(text, answer) for answer in answers))
    return {"exact_match": np.array(matches), "f1": np.array(f1_scores)}


def best_threshold(
    margin: ArrayLike, with_answer: ArrayLike, without: ArrayLike
) -> tuple[float, float]:
    """Find the best mean score over all thresholds, and the threshold: a larger `margin` answers
    "no answer".

    The search is the one of the official SQuAD 2.0 script, over the same quantities.

    margin: [questions], null score minus best answer's score
    with_answer: [questions], score for the best answer
    without: [questions], score for the empty answer
    """
    order = np.argsort(margin, kind="stable")
    margin = np.asarray(margin, float)[order]
    gains = np.asarray(with_answer, float) - np.asarray(without, float)
    # Item n is the total score with the n questions of lowest margin answered.
    total_gains = np.cumsum(gains[order])
    totals = np.concatenate([[0.0], total_gains]) + np.sum(without)
    # Questions with one margin are answered together: only the last of them is a threshold.
    is_last = np.append(margin[1:] > margin[:-1], True)
    is_possible = np.concatenate([[True], is_last])
    best = int(np.argmax(np.where(is_possible, totals, -np.inf)))
    if best:
        threshold = margin[best - 1]
    else:
        threshold = np.nextafter(margin[0], -np.inf)
    return float(totals[best] / len(margin)), float(threshold)


def attachment(
    gold: Sequence[tuple[int, str]], predicted: Sequence[tuple[int, str]]
) -> dict[str, np.ndarray]:
    """Test for each word, given as (head, relation), whether the head is right ("uas"), and the
    relation too ("las_full").

    "las_ud" ignores a relation's subtype, as the scorer of the CoNLL 2017 shared task does.
    """
    correct = {"uas": [], "las_full": [], "las_ud": []}
    for (gold_head, gold_relation), (head, relation) in zip(gold, predicted, strict=True):
        uas = head == gold_head
        correct["uas"].append(uas)
        correct["las_full"].append(uas and relation == gold_relation)
        same_type = without_subtype(relation) == without_subtype(gold_relation)
        correct["las_ud"].append(uas and same_type)
    return {name: np.array(values, dtype=bool) for name, values in correct.items()}


def without_subtype(relation: str) -> str:
    """Remove the subtype, after the colon, of a dependency relation."""
    return relation.partition(":")[0]


def most_frequent(candidates: Iterable, dev: Iterable, train: Iterable):
    """Choose the candidate most frequent in `dev`; of those equally frequent the one more frequent
    in `train`, then the first."""
    dev_counts, train_counts = Counter(dev), Counter(train)
    return max(candidates, key=lambda value: (dev_counts[value], train_counts[value]))
