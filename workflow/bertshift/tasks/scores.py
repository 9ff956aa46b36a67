"""Scores as fractions (accuracy and F1 in [0, 1], correlations in [-1, 1])."""

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean

import numpy as np
from numpy.typing import ArrayLike

from bertshift.errors import UserError


def accuracy(gold: ArrayLike, predicted: ArrayLike) -> float:
    return float(np.mean(np.asarray(gold) == np.asarray(predicted)))


def f1(gold: ArrayLike, predicted: ArrayLike, positive: int = 1) -> float:
    """Compute F1 of one class, 0 if it is neither gold nor predicted. GLUE's class 1 is duplicate
    or paraphrase."""
    gold, predicted = np.asarray(gold) == positive, np.asarray(predicted) == positive
    both, either = np.sum(gold & predicted), np.sum(gold) + np.sum(predicted)
    return float(2 * both / either) if either else 0.0


def macro_f1(gold: ArrayLike, predicted: ArrayLike) -> float:
    """Average F1 over all classes that are gold or predicted."""
    return mean(f1(gold, predicted, each) for each in np.union1d(gold, predicted))


def mcc(gold: ArrayLike, predicted: ArrayLike) -> float:
    """Compute the Matthews correlation for any number of classes (Gorodkin 2004); 0 if either side
    is constant.

    It is the correlation of two one-hot matrices, centred by column.
    """
    gold, predicted = np.asarray(gold), np.asarray(predicted)
    classes = np.union1d(gold, predicted)
    a = (gold[:, None] == classes).astype(float)
    b = (predicted[:, None] == classes).astype(float)
    a, b = a - a.mean(0), b - b.mean(0)
    norm = np.sqrt(np.sum(a * a) * np.sum(b * b))
    return float(np.sum(a * b) / norm) if norm else 0.0


def pearson(gold: ArrayLike, predicted: ArrayLike) -> float:
    """Correlate gold and predicted values. Undefined for a constant; here 0, as a model that
    always says the same explains nothing."""
    x, y = np.asarray(gold, float), np.asarray(predicted, float)
    if is_constant(x) or is_constant(y):
        return 0.0
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1, 1))


def spearman(gold: ArrayLike, predicted: ArrayLike) -> float:
    """Correlate ranks by Pearson's r, ties at their mean rank; 0 for a constant."""
    x, y = np.asarray(gold, float), np.asarray(predicted, float)
    if is_constant(x) or is_constant(y):
        return 0.0
    return pearson(_ranks(x), _ranks(y))


def is_constant(values: np.ndarray) -> bool:
    """Tell whether all values are equal, but for rounding."""
    # A collapsed regression still varies in the last bits of float32.
    return bool(np.ptp(values) <= 1e-6 * np.max(np.abs(values)))


def _ranks(values: np.ndarray) -> np.ndarray:
    _, group, size = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(size) - (size - 1) / 2)[group]


CLASS_SCORES = {"accuracy": accuracy, "f1": f1, "macro_f1": macro_f1, "mcc": mcc}
REGRESSION_SCORES = {"pearson": pearson, "spearman": spearman}


def pick(names: Iterable[str], known: dict, task: str) -> dict:
    for name in names:
        if name not in known:
            raise UserError(
                f"tasks.{task}.metrics: {name!r} does not suit this task; write one of"
                f" {', '.join(known)}."
            )
    return {name: known[name] for name in names}


def normalise_answer(text: str) -> str:
    """Normalise an answer as the official SQuAD scripts do: lower case, no ASCII punctuation, no
    articles, single spaces."""
    letters = "".join(
        character for character in text.lower() if character not in string.punctuation
    )
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", letters).split())


def exact_match(predicted: str, answer: str) -> float:
    return float(normalise_answer(predicted) == normalise_answer(answer))


def token_f1(predicted: str, answer: str) -> float:
    """Compute F1 of two bags of words; 1 if both are empty, 0 if one is (the rule that SQuAD 2.0
    needs)."""
    said, wanted = normalise_answer(predicted).split(), normalise_answer(answer).split()
    if not said or not wanted:
        return float(said == wanted)
    common = sum((Counter(said) & Counter(wanted)).values())
    return 2 * common / (len(said) + len(wanted))


def squad_scores(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> dict[str, np.ndarray]:
    """Score each question by exact_match and f1, the best over its reference answers; [""] means:
    no answer."""
    pairs = list(zip(gold, predicted, strict=True))
    return {
        "exact_match": np.array(
            [max(exact_match(text, answer) for answer in answers) for answers, text in pairs]
        ),
        "f1": np.array(
            [max(token_f1(text, answer) for answer in answers) for answers, text in pairs]
        ),
    }


def best_threshold(
    margin: ArrayLike, with_answer: ArrayLike, without: ArrayLike
) -> tuple[float, float]:
    """Find the best mean score over all thresholds, and the threshold: a larger `margin` answers
    "no answer".

    `margin` is null score minus best answer's score; `with_answer` and `without` are a question's
    scores for its best answer and for the empty one. The official SQuAD 2.0 script's search, over
    the same quantities.
    """
    order = np.argsort(margin, kind="stable")
    margin = np.asarray(margin, float)[order]
    gain = np.cumsum((np.asarray(with_answer, float) - np.asarray(without, float))[order])
    totals = np.concatenate([[0.0], gain]) + np.sum(without)
    # Questions with one margin are answered together: only the last of them is a threshold.
    possible = np.concatenate([[True], np.append(margin[1:] > margin[:-1], True)])
    best = int(np.argmax(np.where(possible, totals, -np.inf)))
    threshold = margin[best - 1] if best else np.nextafter(margin[0], -np.inf)
    return float(totals[best] / len(margin)), float(threshold)


def attachment(
    gold: Sequence[tuple[int, str]], predicted: Sequence[tuple[int, str]]
) -> dict[str, np.ndarray]:
    """Test for each word, given as (head, relation), whether the head is right ("uas"), and the
    relation too ("las_full").

    "las_ud" is blind to what follows a relation's colon, as the scorer of the CoNLL 2017 shared
    task is.
    """
    right = {"uas": [], "las_full": [], "las_ud": []}
    for (head, relation), (said_head, said_relation) in zip(gold, predicted, strict=True):
        found = head == said_head
        right["uas"].append(found)
        right["las_full"].append(found and relation == said_relation)
        right["las_ud"].append(
            found and relation.partition(":")[0] == said_relation.partition(":")[0]
        )
    return {name: np.array(values, dtype=bool) for name, values in right.items()}


def most_frequent(candidates: Iterable, scored: Iterable, trained: Iterable):
    """Choose the candidate most frequent in `scored`; of those as frequent the one more so in
    `trained`, then the first."""
    counts, before = Counter(scored), Counter(trained)
    return max(candidates, key=lambda value: (counts[value], before[value]))


def mean(values: Iterable[float]) -> float:
    return fmean(values)
