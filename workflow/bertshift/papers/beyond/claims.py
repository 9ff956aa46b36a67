"""Statements of other papers about these figures, and the number of ours that decides each. Of
most nothing is stated."""

import numpy as np

from bertshift.metrics.layer_cka import thirds
from bertshift.verdicts.deciding import Claims
from bertshift.verdicts.evidence import NotTestableError

CLAIMS = Claims("beyond")


def within_minus_between(evidence, task):
    rows = evidence.rows(task, metric="layer_cka", tokens="content", variant="after")
    cells = rows.groupby(["layer", "ref_layer"])["value"].mean()
    lower, upper = thirds(int(cells.index.get_level_values("layer").max()))
    if not lower:
        raise NotTestableError("the model has too few layers to be divided into thirds")

    def mean(some, others):
        pairs = [(i, j) for i in some for j in others if i != j]
        if missing := [pair for pair in pairs if pair not in cells.index]:
            raise NotTestableError(
                f"nothing measured for layers {missing[0][0]} and {missing[0][1]}"
            )
        return np.mean(cells[pairs])

    return float(min(mean(lower, lower), mean(upper, upper)) - mean(upper, lower))


CLAIMS.about(
    "where",
    "W.1",
    "mean CKA of two layers of one third, of the upper or the lower the less, minus that between"
    " them",
    within_minus_between,
    ["mnli"],
    low=0.0,
)
