"""Claims of Kovaleva et al. 2019 on the classes of attention maps."""

from collections.abc import Mapping

import numpy as np

from bertshift.claims.deciding import claim
from bertshift.claims.evidence import Evidence, NotTestableError

_TWO = "kovaleva2019/figure2"
TASKS = ["mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli"]


def _to_the_next(shares: Mapping[str, float], task: str, end: str) -> float:
    """The task's share minus the lowest, or highest, of the others."""
    others = [share for other, share in shares.items() if other != task]
    return shares[task] - (min(others) if end == "lowest" else max(others))


def _digitised(published: Mapping, task: str, end: str) -> str:
    entry = published["figure2"]
    column = entry["columns"].index("heterogeneous")
    shares = {name: row[column] for name, row in entry["rows"].items()}
    return f"{_to_the_next(shares, task, end):.1f} ({entry['provenance']})"


def _share(evidence: Evidence, task: str) -> float:
    return float(evidence.pattern_shares(task, "heterogeneous")["value"].mean())


@claim(
    _TWO, "K2.1", "heterogeneous share minus that of the next task, in points",
    [("mrpc, lowest", {"high": 0.0}), ("qqp, highest", {"low": 0.0})], strict=False, published=_digitised,
)  # fmt: skip
def heterogeneous_at_the_ends(evidence, task, end):
    return _to_the_next({name: _share(evidence, name) for name in TASKS}, task, end)


@claim(
    _TWO, "K2.2", "heterogeneous share, in percent",
    [("mrpc", {"low": 27.0, "high": 37.0}), ("qqp", {"low": 56.0, "high": 66.0})],
)  # fmt: skip
def heterogeneous_in_numbers(evidence, task):
    checkpoint = evidence.pattern_shares(task, "heterogeneous")["checkpoint"].iloc[0]
    if "bert-base-uncased" not in checkpoint:
        raise NotTestableError(f"about shares in bert-base-uncased, not in {checkpoint}")
    return _share(evidence, task)


@claim(
    _TWO, "K2.3", "macro F1 of the classifier", ["cross_validated", "resubstituted"], low=0.86, strict=False, across=True
)  # fmt: skip
def the_classifier_is_good(evidence, answer):
    rows = evidence.pattern_classifier(TASKS[0])
    if not rows["labels_by_person"].any():
        raise NotTestableError("about maps labelled by hand; these labels are all a rule's (patterns.labels)")
    return float(np.mean(rows[f"f1_macro_{answer}"]))
