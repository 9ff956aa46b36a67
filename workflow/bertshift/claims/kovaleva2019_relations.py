"""Claims of Kovaleva et al. 2019 on heads that relate a predicate and its arguments."""

import pandas as pd

from bertshift.claims.deciding import claim
from bertshift.claims.evidence import Evidence, of_bert_base

_THREE, _HEADLINE, _OF_THE_FIGURE = "kovaleva2019/figure3", "max_fe_to_lu", "code_zip"
_NAMED = {"L1H2": (1, 2), "L7H6": (7, 6)}
_HEAD = ["layer", "head"]

# Each is one number over all pretraining runs, as the paper has one: what varies here are sentences.


@claim(
    _THREE, "K3.1", "rank among 144 heads, as the figure takes the score", list(_NAMED), high=2, strict=False, across=True
)  # fmt: skip
def two_heads_stand_out(evidence, head):
    rows = of_bert_base(evidence.relation_heads("base", _OF_THE_FIGURE))
    return float(rows.groupby(_HEAD)["rank"].mean()[_NAMED[head]])


@claim(
    _THREE, "K3.2", "score of the two best heads from predicate to argument minus that from argument to predicate", low=0.0,
    across=True,
)  # fmt: skip
def the_predicate_looks_at_its_arguments(evidence):
    other = evidence.relation_heads("base", "max_lu_to_fe").set_index(["init", *_HEAD])["value"]
    best = _two_best(evidence).set_index(["init", *_HEAD])["value"]
    return float((other[best.index] - best).mean())


@claim(
    _THREE, "K3.3", "score minus the 99th percentile of the same places in other sentences",
    ["two best heads", "some head"], low=0.0, across=True,
)  # fmt: skip
def position_is_not_enough(evidence, heads):
    """Of the two the lesser; of all the largest, though of 144 one is above without any reason."""
    if heads == "two best heads":
        return float(_excess(_two_best(evidence)).min().mean())
    return float(_excess(evidence.relation_heads("base", _HEADLINE)).max().mean())


def _two_best(evidence: Evidence) -> pd.DataFrame:
    """Of each run the heads that a reader of the figure would pick."""
    rows = evidence.relation_heads("base", _HEADLINE)
    return rows[rows["rank"] <= 2]


def _excess(rows: pd.DataFrame):
    return (rows["value"] - rows["null_99"]).groupby(rows["init"])
