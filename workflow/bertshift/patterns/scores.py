"""Agreement of the classifier of attention maps with the labels."""

import numpy as np
import pandas as pd

from bertshift.patterns.classes import CLASSES, PERSON
from bertshift.patterns.quantification import confusion, f1

# The answers to a labelled map: of a classifier trained without the input's maps, and of the one
# trained on all. The paper's F1 is "on the annotated dataset"; it does not state whether these
# maps were in training.
ANSWERS = ("cross_validated", "resubstituted")


def counts_of(predictions: pd.DataFrame, answer: str) -> np.ndarray:
    """Count labels against answers of one of ANSWERS, [classes, classes]."""
    gold = predictions["label"].map(CLASSES.index).to_numpy()
    answers = predictions[answer].map(CLASSES.index).to_numpy()
    return confusion(gold, answers, len(CLASSES))


def counts_by_input(predictions: pd.DataFrame) -> np.ndarray:
    """Count labels against cross-validated answers by input, [inputs, classes, classes]."""
    inputs = predictions.groupby(["task", "example"], sort=False)
    return np.array([counts_of(rows, "cross_validated") for _, rows in inputs])


def summary(predictions: pd.DataFrame) -> dict[str, float]:
    """Count the labelled maps, and those labelled by a person; compute the F1 of either answer."""
    by_person = predictions["source"] == PERSON
    columns = {"labels": len(predictions), "labels_by_person": int(by_person.sum())}
    for answer in ANSWERS:
        _, macro, weighted = f1(counts_of(predictions, answer))
        columns[f"f1_macro_{answer}"] = macro
        columns[f"f1_weighted_{answer}"] = weighted
    return columns


def score_table(predictions: pd.DataFrame) -> pd.DataFrame:
    """Tabulate F1: for each answer one row an average, and one a class. n counts labelled maps. A
    class that is neither label nor answer is NaN."""
    tables = []
    for answer in ANSWERS:
        counts = counts_of(predictions, answer)
        of_classes, macro, weighted = f1(counts)
        columns = {
            "metric": "pattern_f1",
            "variant": answer,
            "pattern": ["macro", "weighted", *CLASSES],
            "value": [macro, weighted, *of_classes],
            "n": [counts.sum(), counts.sum(), *counts.sum(1)],
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def confusion_table(predictions: pd.DataFrame) -> pd.DataFrame:
    """Count maps, one row an answer, label and class answered, with their share of the label's
    maps (NaN if it has none)."""
    tables = []
    for answer in ANSWERS:
        for label, counts in zip(CLASSES, counts_of(predictions, answer), strict=True):
            columns = {
                "metric": "pattern_confusion",
                "variant": answer,
                "label": label,
                "pattern": CLASSES,
                "value": counts / counts.sum() if counts.any() else np.nan,
                "n": counts,
            }
            tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)
