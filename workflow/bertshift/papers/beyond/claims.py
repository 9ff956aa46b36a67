"""Statements of other papers about these figures, and the number of ours that decides each. Most
figures have none."""

import numpy as np

from bertshift.metrics.layer_cka import thirds
from bertshift.verdicts.deciding import ALL, Claims
from bertshift.verdicts.evidence import NotTestableError

CLAIMS = Claims("beyond")


def within_minus_between(evidence, task):
    rows = evidence.rows(task, metric="layer_cka", tokens="content", variant="after")
    cells = rows.groupby(["layer", "ref_layer"])["value"].mean()
    lower, upper = thirds(int(cells.index.get_level_values("layer").max()))
    if not lower:
        raise NotTestableError("the model has too few layers to be divided into thirds")

    def mean(layers, ref_layers):
        pairs = [(i, j) for i in layers for j in ref_layers if i != j]
        for i, j in pairs:
            if (i, j) not in cells.index:
                raise NotTestableError(f"nothing measured for layers {i} and {j}")
        return np.mean(cells[pairs])

    between = mean(upper, lower)
    return {"lower": mean(lower, lower) - between, "upper": mean(upper, upper) - between}


CLAIMS.about(
    "where",
    "W.1",
    "mean CKA of two layers of one third, of the upper or the lower the less, minus that between"
    " them",
    within_minus_between,
    ["mnli"],
    each=ALL,
    low=0.0,
)
