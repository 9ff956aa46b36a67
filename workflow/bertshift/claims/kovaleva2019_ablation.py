"""Claims of Kovaleva et al. 2019 on disabled heads and layers."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from bertshift import stats
from bertshift.claims.deciding import claim
from bertshift.claims.evidence import Curve, Evidence, of_bert_base

_EIGHT, _NINE = "kovaleva2019/figure8", "kovaleva2019/figure9"
TASKS = ["mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli"]
RUN = ["init", "seed"]
OTHER_HALF = "other half"

# ---- Figure 8


def _heads(evidence: Evidence, task: str) -> pd.DataFrame:
    rows = evidence.ablations(task)
    return rows[rows["head"] > 0]


def _digitised(published: Mapping, item: str, task: str) -> np.ndarray:
    """Gains in points, [layers, heads] or [layers]; from counts of right answers where the panel gives these away."""
    panel = published[item]["tasks"][task]
    counts = panel.get("exact_correct", panel)
    scores = np.asarray(counts["matrix" if item == "figure8" else "layers"])
    return stats.POINTS * (scores - counts["baseline"]) / counts.get("n", 1)


def _largest_digitised(published: Mapping, task: str, chosen: str = "") -> str:
    return "" if chosen else f"{_digitised(published, 'figure8', task).max():.2f} (digitised)"


@claim(
    _EIGHT, "K8.1", "largest gain from disabling one head, in points",
    [(task, {"low": 0.1}) for task in TASKS] + [(f"{task}, {OTHER_HALF}", {"low": 0.0, "strict": True}) for task in TASKS],
    strict=False, published=_largest_digitised,
)  # fmt: skip
def some_head_does_harm(evidence, task, chosen=""):
    """`other half`: the head is chosen on one half of the examples and its gain taken on the other.

    Of heads on the complete development set if there are any: on a sample the largest gain is larger by chance.
    """
    if chosen:
        return float(evidence.ablations(task, "ablation_split_half")["delta"].mean())
    heads = _heads(evidence, task)
    complete = heads["sample"] == "complete"
    return float(heads[complete if complete.any() else ~complete].groupby(RUN)["delta"].max().mean())


def _mean_digitised(published: Mapping, task: str) -> str:
    return f"{_digitised(published, 'figure8', task).mean():.2f} (digitised)"


@claim(
    _EIGHT,
    "K8.2",
    "mean gain over all heads, in points",
    ["mrpc", "rte"],
    low=0.0,
    published=_mean_digitised,
)
def a_random_head_does_harm(evidence, task):
    return float(_heads(evidence, task)["delta"].mean())


def _are(rows: pd.DataFrame, heads: list[tuple[int, int]]) -> pd.Series:
    return pd.Series(list(zip(rows["layer"], rows["head"], strict=True)), index=rows.index).isin(heads)


def _of_frames_digitised(published: Mapping, task: str) -> str:
    gains = _digitised(published, "figure8", task)
    return f"{gains[0, 1]:.2f} and {gains[6, 5]:.2f} (digitised)"


@claim(
    _EIGHT, "K8.3", "largest significant (p ≤ .05 over both heads and all runs) loss from disabling L1H2 or L7H6, in points",
    TASKS, high=0.0, strict=False, across=True, published=_of_frames_digitised,
)  # fmt: skip
def frame_semantic_heads_are_not_needed(evidence, task):
    """Two heads named beforehand are two tests of each run, not 144: p is corrected for these (Bonferroni)."""
    rows = of_bert_base(_heads(evidence, task))
    two = rows[_are(rows, [(1, 2), (7, 6)])]
    return float((-two["delta"]).where(two["p"] <= 0.05 / len(two), 0.0).clip(lower=0.0).max())


_SHARED = [(4, 1), (2, 12)]


def _rank_digitised(published: Mapping, task: str) -> str:
    gains = _digitised(published, "figure8", task)
    rank = max((gains < gains[layer - 1, head - 1]).sum() + 1 for layer, head in _SHARED)
    return f"{rank} (digitised)"


@claim(
    _EIGHT, "K8.4", "rank of the less important of L4H1 and L2H12 among 144 heads", ["stsb", "rte"], high=14, strict=False,
    published=_rank_digitised,
)  # fmt: skip
def two_tasks_share_their_important_heads(evidence, task):
    rows = of_bert_base(_heads(evidence, task))
    gains = rows.groupby(["layer", "head"])["delta"].mean()
    return float(max((gains < gains[head]).sum() + 1 for head in _SHARED))


# ---- Figure 9


def _layers(evidence: Evidence, task: str) -> Curve:
    rows = evidence.ablations(task)
    gains = rows[(rows["head"] == 0) & (rows["layer"] > 0)].groupby("layer")["delta"].mean()
    return Curve(gains.to_dict(), int(gains.index.max()))


def _layers_digitised(published: Mapping, task: str, of=np.max) -> str:
    return f"{of(_digitised(published, 'figure9', task)):.2f} (digitised)"


@claim(
    _NINE, "K9.1", "gain from disabling layer 1 of 12 in RTE, in points", low=1.6, strict=False,
    published=lambda published: _layers_digitised(published, "rte", of=lambda gains: gains[0]),
)  # fmt: skip
def the_first_layer_harms_rte(evidence):
    return _layers(evidence, "rte").mean(1, 1, 12)


@claim(
    _NINE, "K9.2", "least gain from disabling one layer, in points", ["qnli", "mnli"], low=-0.2, strict=False,
    published=lambda published, task: _layers_digitised(published, task, of=np.min),
)  # fmt: skip
def a_layer_costs_little(evidence, task):
    return min(_layers(evidence, task).values.values())


@claim(
    _NINE, "K9.3", "largest gain from disabling one layer, in points", TASKS[:5], low=0.0, published=_layers_digitised
)  # fmt: skip
def some_layer_does_harm(evidence, task):
    return max(_layers(evidence, task).values.values())
