"""Claims of Kovaleva et al. 2019."""

from collections.abc import Mapping

import numpy as np

from bertshift.claims.deciding import claim
from bertshift.claims.evidence import Curve, rank_correlation

_FIVE = "kovaleva2019/figure5"
TASKS = ["mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli"]
_EXCEPTION = {"low": -np.inf, "high": 0.0, "strict": False}


def _last_two(curve: Curve) -> float:
    top = curve.part(11, 12, 12)
    return min(curve[k] for k in range(1, curve.layers + 1) if k not in top) - max(curve[k] for k in top)


def _last_two_digitised(published: Mapping, task: str, variant: str) -> str:
    entry = published["figure5"]
    means = dict(enumerate(entry["tasks"][task]["layer_mean"], 1))
    return f"{_last_two(Curve(means, len(means))):.3f} ({entry['provenance']}, {entry['variant']})"


@claim(
    _FIVE, "K5.1", "least cosine below the last two layers minus most within them",
    [f"{task}, {variant}" for task in ("mrpc", "stsb", "sst2", "rte", "qnli", "mnli") for variant in ("crop", "padded")]
    + [(f"qqp, {variant}", _EXCEPTION) for variant in ("crop", "padded")],
    low=0.0, published=_last_two_digitised,
)  # fmt: skip
def last_two_layers_change_most(evidence, task, variant):
    return _last_two(evidence.curve(task, variant))


@claim(
    "kovaleva2019/steps", "K5.2", "rank correlation over layers of distance from the start and change of attention",
    TASKS, low=0.0,
)  # fmt: skip
def layers_that_moved_further_change_more(evidence, task):
    moved, kept = evidence.curve(task, "displacement"), evidence.curve(task, "crop")
    layers = range(1, moved.layers + 1)
    values = ([moved[k] for k in layers], [1 - kept[k] for k in layers])
    return rank_correlation(*values, "the distance from the start, or the change of attention,")


@claim(
    "kovaleva2019/own_or_inherited", "K5.3", "1 - cosine of the last two layers by their input, minus that by their weights",
    TASKS, low=0.0,
)  # fmt: skip
def last_layers_inherit_their_change(evidence, task):
    by_input, by_weights = (evidence.changed_by(task, variant) for variant in ("inherited", "own"))
    return (by_input - by_weights).mean(11, 12, 12)
