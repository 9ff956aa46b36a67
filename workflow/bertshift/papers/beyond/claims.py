"""Statements of other papers and of ours about these figures, and the number that decides each.
Most figures have none."""

import numpy as np

from bertshift.measures import SHARE
from bertshift.metrics.layer_cka import thirds
from bertshift.papers.beyond import labels
from bertshift.rows.planted import FOUND, PLACED
from bertshift.verdicts.deciding import ALL, Claims, case
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


# ---- Planted changes: shares over places, each checkpoint's draws one by one

STATES = {label: measure for measure, label in labels.STATES.items()}
MADE = {"made, by RSA": "made"}
ATTENTION = {"JS": "js", "cosine": "cosine"}
PLANTED = STATES | MADE | ATTENTION
# Models whose outputs are those of their background, which a measure ought not to find.
SAME_STATES = ("nothing", "units_reordered", "heads_reordered")
SAME_MAPS = ("nothing", "units_reordered")


def planted_rows(evidence, outcome, word, *kinds):
    """Read the outcomes, 1 or 0, of these kinds of changes by the measure that a word names, at
    the largest size of each."""
    rows = evidence.rows("base", metric="planted", outcome=outcome, measure=PLANTED[word])
    rows = rows[rows["variant"].isin(kinds)]
    if rows.empty:
        raise NotTestableError(f"no change of kind {' or '.join(kinds)} was planted")
    return rows[rows["size"] == rows.groupby("variant")["size"].transform("max")]


def misplaced(evidence, word):
    return 1 - placed(evidence, word)


def placed(evidence, word):
    return planted_rows(evidence, PLACED, word, "feed_forward")["value"].mean()


def false_alarms(evidence, word):
    kinds = SAME_MAPS if word in ATTENTION else SAME_STATES
    return planted_rows(evidence, FOUND, word, *kinds)["value"].mean()


def reorderings_found(evidence, word):
    return planted_rows(evidence, FOUND, word, "heads_reordered")["value"].mean()


OF_SHARES = {"bounds": SHARE}
LARGEST = "of noise in a feed-forward block, of the largest size,"
CLAIMS.about(
    "planted",
    "W.2",
    f"share of layers {LARGEST} that are not the layer of the largest distance",
    misplaced,
    map(case, STATES),
    low=0.5,
    **OF_SHARES,
)
CLAIMS.about(
    "planted",
    "W.3",
    f"share of layers {LARGEST} that make the largest distance",
    placed,
    map(case, MADE),
    low=0.95,
    strict=False,
    **OF_SHARES,
)
CLAIMS.about(
    "planted",
    "W.4",
    "share of models without a change, or with units (for hidden states also heads) in another"
    " order, that are found",
    false_alarms,
    map(case, PLANTED),
    high=0.05,
    strict=False,
    **OF_SHARES,
)
CLAIMS.about(
    "planted",
    "W.5",
    "share of layers with heads in another order that are found",
    reorderings_found,
    map(case, ATTENTION),
    low=0.5,
    **OF_SHARES,
)
CLAIMS.about(
    "planted",
    "W.6",
    "share of layers with heads in another order that are found",
    reorderings_found,
    map(case, STATES),
    high=0.5,
    **OF_SHARES,
)
