"""A fine-tuned model's scores without each block of the examples that it is scored on, from its
predictions.tsv."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bertshift.errors import UserError
from bertshift.files import read_json, read_tsv
from bertshift.rows.blocks import in_columns, outside
from bertshift.tasks import scores
from bertshift.tasks.scores import REGRESSION_SCORES

ANSWERS = ("exact_match", "f1")
PARSES = ("uas", "las_full", "las_ud")


def score_of(name: str, predictions: pd.DataFrame, labels: Sequence[str] | None) -> float:
    """Recalculate the score of this name from predictions, as the task itself takes it. NaN for
    one that needs more than predictions.tsv holds, which are a parser's las_nopunct, las_wordpiece
    and label_accuracy_gold_heads and the best scores over thresholds of answers.

    `labels`: a data set's classes in their order, None for other tasks.
    """
    if "exact_match" in predictions:
        return _of_answers(name, predictions)
    if "correct" in predictions:
        return _of_words(name, predictions)
    if name in REGRESSION_SCORES:
        return REGRESSION_SCORES[name](predictions["gold"], predictions["prediction"])
    codes = {str(label): number for number, label in enumerate(labels)}
    return scores.CLASS_SCORES[name](
        *(predictions[side].astype(str).map(codes) for side in ("gold", "prediction"))
    )


def _of_answers(name: str, predictions: pd.DataFrame) -> float:
    """Average a score over all questions, or over those with (`has_answer_f1`) or without an
    answer."""
    kind, _, plain = name.rpartition("answer_")
    if plain not in ANSWERS:
        return np.nan
    silent = predictions["gold"].fillna("") == ""
    about = {"": silent | True, "no_": silent, "has_": ~silent}[kind]
    return float(predictions.loc[about, plain].mean())


def _of_words(name: str, predictions: pd.DataFrame) -> float:
    """Score all words of all sentences together."""
    gold, said = (" ".join(predictions[side]).split() for side in ("gold", "prediction"))
    if name == "accuracy":
        return scores.accuracy(gold, said)
    if name not in PARSES:
        return np.nan
    arcs = (
        [(head, label) for head, _, label in (word.partition(":") for word in words)]
        for words in (gold, said)
    )
    return float(scores.attachment(*arcs)[name].mean())


def read_scored(
    scores: Path, predictions: Path, labels: Sequence[str] | None
) -> tuple[dict, pd.DataFrame]:
    """Read a run's scores.json and predictions.tsv. UserError where the predictions are not the
    ones scored."""
    outcome, said = read_json(scores), read_tsv(predictions)
    if outcome["scores"].keys() <= REGRESSION_SCORES.keys():
        # The file's ten digits, read as float32, are the number that the model gave. As float64
        # they are near it, which is not enough for a collapsed model: what varies in its
        # predictions is of the size of that rounding.
        said["prediction"] = said["prediction"].astype(np.float32).astype(float)
    again = {name: score_of(name, said, labels) for name in outcome["scores"]}
    near = [
        np.isnan(again[name]) or abs(again[name] - value) < 1e-6
        for name, value in outcome["scores"].items()
    ]
    if len(said) != outcome["rows"]["dev"] or not all(near):
        raise UserError(
            f"{predictions} does not hold the predictions that {scores} tells the scores of: one"
            " of them is damaged; delete both and call the same command again, which makes them"
            " again."
        )
    return outcome, said


def without_blocks(
    names: Iterable[str], predictions: pd.DataFrame, labels: Sequence[str] | None
) -> dict[str, np.ndarray]:
    """Score the examples outside each block: name -> [blocks] of `score_of`; empty of a single
    block, as nothing is left."""
    rests = [predictions.iloc[kept] for kept in outside(len(predictions))]
    return {name: np.array([score_of(name, rest, labels) for rest in rests]) for name in names}


def with_blocks(
    table: pd.DataFrame,
    runs: Sequence[Mapping],
    predictions: Iterable[pd.DataFrame],
    labels: Sequence[str] | None,
) -> pd.DataFrame:
    """Make the `provenance.score_table` of these runs' scores.json, with what each score is
    without each block of the examples."""
    found = [
        without_blocks(run["scores"], said, labels)
        for run, said in zip(runs, predictions, strict=True)
    ]
    rows = [left for run in found for left in run.values()]
    return pd.concat([table, in_columns(rows)], axis=1)
