"""Claims of Kovaleva et al. 2019 on what pretraining and fine-tuning add to scores."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from bertshift.claims.deciding import claim
from bertshift.claims.evidence import Evidence, NotTestableError

_ONE = "kovaleva2019/table1"
TASKS = ["mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli"]
CLASSES = [task for task in TASKS if task != "stsb"]


def _points(rows: pd.DataFrame) -> float:
    """Accuracy, or the mean of both correlations."""
    means = rows.groupby("score")["value"].mean()
    return float(means["accuracy"] if "accuracy" in means else means[["pearson", "spearman"]].mean())


def _pretrained(evidence: Evidence, task: str) -> float:
    """Mean over random heads."""
    return _points(evidence.frozen(task, "random_head"))


def _gain(evidence: Evidence, task: str) -> float:
    return _points(evidence.scores(task)) - _pretrained(evidence, task)


def _from_random_weights(evidence: Evidence, task: str) -> float:
    random, tuned = (evidence.scores(name)["train"] for name in (f"{task}.random", task))
    if set(random) != set(tuned):
        sizes = f"{random.iloc[0]:.0f} rows, pretrained ones on {tuned.iloc[0]:.0f}"
        raise NotTestableError(f"random weights were trained on {sizes}")
    return _points(evidence.scores(f"{task}.random"))


def _printed(column: str, other: str):
    """The difference of two of the paper's columns, for a task; of F1 and accuracy, accuracy."""

    def difference(published: Mapping, task: str) -> str:
        row = published["table1"]["rows"][task]
        return f"{np.ravel(row[column])[-1] - np.ravel(row[other])[-1]:.1f}"

    return difference


@claim(_ONE, "K1.1", "mean gain over 7 tasks, in points", low=30.9, high=40.9, strict=False)
def fine_tuning_gains_this_much(evidence):
    return np.mean([_gain(evidence, task) for task in TASKS])


@claim(
    _ONE, "K1.2", "points that random weights lack to pretrained ones, both fine-tuned", TASKS, low=0.0,
    published=_printed("finetuned", "random_init"),
)  # fmt: skip
def random_weights_end_lower(evidence, task):
    return _points(evidence.scores(task)) - _from_random_weights(evidence, task)


@claim(
    _ONE, "K1.3", "points from random weights, fine-tuned, minus those of random heads on the pretrained model",
    ["stsb", "qnli"], high=0.0, published=_printed("random_init", "pretrained"),
)  # fmt: skip
def random_weights_can_end_below_the_pretrained_model(evidence, task):
    return _from_random_weights(evidence, task) - _pretrained(evidence, task)


@claim(
    _ONE, "K1.4", "gain over random heads on the pretrained model, in points", TASKS, low=0.0,
    published=_printed("finetuned", "pretrained"),
)  # fmt: skip
def fine_tuning_gains_everywhere(evidence, task):
    return _gain(evidence, task)


@claim(
    _ONE,
    "K1.5",
    "accuracy of random heads minus that of the majority class, in points",
    CLASSES,
    high=1.0,
    strict=False,
)
def without_fine_tuning_scores_are_constant(evidence, task):
    rows = evidence.scores(task)
    return _pretrained(evidence, task) - rows.loc[rows["score"] == "accuracy", "majority"].mean()
