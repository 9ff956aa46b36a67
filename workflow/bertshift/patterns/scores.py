"""How well the classifier of attention maps agrees with the labels."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from bertshift.patterns.classes import CLASSES, PERSON
from bertshift.patterns.quantification import confusion, f1

# The classifier's answer to a labelled map: of one trained without the input's maps, and of the
# one trained on all. The paper's F1 is "on the annotated dataset"; whether on maps that it was
# trained on is not said.
ANSWERS = ("cross_validated", "resubstituted")


def counts_of(predictions: pd.DataFrame, answer: str) -> np.ndarray:
    """Count labels against answers of one of ANSWERS, [classes, classes]."""
    gold, said = (
        predictions[column].map(CLASSES.index).to_numpy() for column in ("label", answer)
    )
    return confusion(gold, said, len(CLASSES))


def counts_by_input(predictions: pd.DataFrame) -> np.ndarray:
    """Count labels against cross-validated answers by input, [inputs, classes, classes]."""
    inputs = predictions.groupby(["task", "example"], sort=False)
    return np.array([counts_of(rows, "cross_validated") for _, rows in inputs])


def summary(predictions: pd.DataFrame) -> dict[str, float]:
    """Count the labelled maps, and those labelled by a person; compute the F1 of either answer."""
    found = {
        "labels": len(predictions),
        "labels_by_person": int((predictions["source"] == PERSON).sum()),
    }
    for answer in ANSWERS:
        _, found[f"f1_macro_{answer}"], found[f"f1_weighted_{answer}"] = f1(
            counts_of(predictions, answer)
        )
    return found


def score_table(predictions: pd.DataFrame) -> pd.DataFrame:
    """Tabulate F1: for each answer one row an average, and one a class. n counts labelled maps. A
    class that is neither label nor answer is NaN."""
    return pd.DataFrame(_scores(predictions))


def _scores(predictions: pd.DataFrame) -> Iterator[dict]:
    for answer in ANSWERS:
        counts = counts_of(predictions, answer)
        each, macro, weighted = f1(counts)
        for average, value, n in [
            ("macro", macro, counts.sum()),
            ("weighted", weighted, counts.sum()),
            *zip(CLASSES, each, counts.sum(1), strict=True),
        ]:
            yield {
                "metric": "pattern_f1",
                "variant": answer,
                "pattern": average,
                "value": value,
                "n": n,
            }


def confusion_table(predictions: pd.DataFrame) -> pd.DataFrame:
    """Count maps, one row an answer, label and class answered, with their share of the label's
    maps (NaN if it has none)."""
    return pd.DataFrame(
        {
            "metric": "pattern_confusion",
            "variant": answer,
            "label": label,
            "pattern": said,
            "value": share,
            "n": n,
        }
        for answer in ANSWERS
        for label, row in zip(CLASSES, counts_of(predictions, answer), strict=True)
        for said, n, share in zip(
            CLASSES, row, row / row.sum() if row.any() else row * np.nan, strict=True
        )
    )
