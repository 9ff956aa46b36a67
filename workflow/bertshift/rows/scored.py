"""A fine-tuned model's scores without each block of the examples that it is scored on, from its
predictions.tsv."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bertshift.errors import UserError
from bertshift.files import damaged, read_json, read_tsv
from bertshift.rows.blocks import outside, padded
from bertshift.rows.table import Table
from bertshift.tasks import scores
from bertshift.tasks.scores import REGRESSION_SCORES

ANSWERS = ("exact_match", "f1")
PARSES = ("uas", "las_full", "las_ud")


def score_of(name: str, predictions: pd.DataFrame, labels: Sequence[str] | None) -> float:
    """Recalculate the score of this name from predictions, as the task itself takes it. NaN for a
    score that needs more than predictions.tsv holds: a parser's las_nopunct, las_wordpiece and
    label_accuracy_gold_heads, and the best scores over thresholds of answers.

    `labels`: a data set's classes in their order, None for other tasks.
    """
    if "exact_match" in predictions:
        return _score_answers(name, predictions)
    if "correct" in predictions:
        return _score_words(name, predictions)
    gold = predictions["gold"]
    predicted = predictions["prediction"]
    if name in REGRESSION_SCORES:
        return REGRESSION_SCORES[name](gold, predicted)
    codes = {label: number for number, label in enumerate(labels)}
    return scores.CLASS_SCORES[name](gold.map(codes), predicted.map(codes))


def _score_answers(name: str, predictions: pd.DataFrame) -> float:
    """Average a score over all questions, or over those with (`has_answer_f1`) or without an
    answer."""
    prefix, _, score = name.rpartition("answer_")
    if score not in ANSWERS:
        return np.nan
    has_answer = predictions["gold"] != ""
    if prefix == "has_":
        predictions = predictions[has_answer]
    elif prefix == "no_":
        predictions = predictions[~has_answer]
    return float(predictions[score].mean())


def _score_words(name: str, predictions: pd.DataFrame) -> float:
    """Score all words of all sentences together."""
    gold = " ".join(predictions["gold"]).split()
    predicted = " ".join(predictions["prediction"]).split()
    if name == "accuracy":
        return scores.accuracy(gold, predicted)
    if name not in PARSES:
        return np.nan
    return float(scores.attachment(_parse_arcs(gold), _parse_arcs(predicted))[name].mean())


def _parse_arcs(words: Sequence[str]) -> list[tuple[str, str]]:
    """Split words such as `3:nsubj` into heads and labels."""
    arcs = [word.partition(":") for word in words]
    return [(head, label) for head, _, label in arcs]


def read_predictions(path: Path) -> pd.DataFrame:
    """Read predictions.tsv. Labels and answers are text, empty where there is none."""
    return read_tsv(path).fillna({"gold": "", "prediction": ""})


def as_ratings(predictions: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Convert the texts of a regression to numbers. UserError where one is not a number."""
    try:
        gold = predictions["gold"].astype(float)
        # The file's ten digits, read as float32, are the number that the model gave. As float64
        # they are near it, which is not enough for a collapsed model, whose predictions vary by no
        # more than that rounding.
        predicted = predictions["prediction"].astype(np.float32).astype(float)
    except ValueError as error:
        raise damaged(path, error) from None
    return predictions.assign(gold=gold, prediction=predicted)


def read_scored(
    scores: Path, predictions: Path, labels: Sequence[str] | None
) -> tuple[dict, pd.DataFrame]:
    """Read a run's scores.json and predictions.tsv. UserError where the predictions are not the
    ones scored."""
    outcome = read_json(scores)
    rows = read_predictions(predictions)
    if outcome["scores"].keys() <= REGRESSION_SCORES.keys():
        rows = as_ratings(rows, predictions)
    saved = np.array(list(outcome["scores"].values()))
    again = np.array([score_of(name, rows, labels) for name in outcome["scores"]])
    is_equal = np.isnan(again) | (np.abs(again - saved) < 1e-6)
    if len(rows) != outcome["rows"]["dev"] or not is_equal.all():
        raise UserError(
            f"{predictions} does not hold the predictions that {scores} tells the scores of: one"
            " of them is damaged; delete both and call the same command again, which makes them"
            " again."
        )
    return outcome, rows


def without_blocks(
    names: Iterable[str], predictions: pd.DataFrame, labels: Sequence[str] | None
) -> dict[str, np.ndarray]:
    """Score the examples outside each block: name -> [blocks] of `score_of`; empty for a single
    block, as nothing is left."""
    rests = [predictions.iloc[positions] for positions in outside(len(predictions))]
    scores_without = {}
    for name in names:
        scores_without[name] = np.array([score_of(name, rest, labels) for rest in rests])
    return scores_without


def with_blocks(
    table: pd.DataFrame,
    runs: Sequence[Mapping],
    predictions: Iterable[pd.DataFrame],
    labels: Sequence[str] | None,
) -> Table:
    """Add to the `provenance.score_table` of these runs' scores.json each score without each block
    of the examples."""
    rows = []
    for run, run_predictions in zip(runs, predictions, strict=True):
        rows += without_blocks(run["scores"], run_predictions, labels).values()
    return Table.of(table, padded(rows))
