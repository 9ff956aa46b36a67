"""Claims of BERT Goes to College on re-initialised layers and heads."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from bertshift.claims.deciding import claim
from bertshift.claims.evidence import Curve, Evidence, NotTestableError

_LAYERS = "college2020/figure3"
TASKS = ["rte", "squad2", "stsb", "cola", "mrpc"]


def _reinitialised(sweep: Curve) -> list[float]:
    """Scores with layers k and up re-initialised, k = 1..L."""
    return [sweep[k] for k in range(1, sweep.layers + 1)]


@claim(
    _LAYERS,
    "C3.1",
    "least score with k = 8 to 12 minus that with no layer re-initialised, in points",
    low=0.0,
)
def upper_layers_of_rte_are_better_drawn_anew(evidence):
    sweep = evidence.sweep("rte").exactly(12)
    return min(sweep[k] for k in range(8, 13)) - sweep[13]


def _rises(evidence: Evidence, task: str) -> float:
    scores = [*_reinitialised(evidence.sweep(task)), evidence.sweep(task)[evidence.sweep(task).layers + 1]]
    if np.ptp(scores) == 0:
        return 0.0
    return float(spearmanr(range(len(scores)), scores).statistic)


@claim(_LAYERS, "C3.2", "rank correlation of score and k", low=0.0)
def squad_rises(evidence):
    return _rises(evidence, "squad2")


@claim(_LAYERS, "C3.3", "largest score with k up to 8, in points", high=10.0)
def stsb_needs_eight_layers(evidence):
    sweep = evidence.sweep("stsb").exactly(12)
    return max(sweep[k] for k in range(1, 9))


@claim(_LAYERS, "C3.4", "rise from k = 10 to 11 minus the largest other one, in points", low=0.0)
def cola_needs_ten_layers(evidence):
    sweep = evidence.sweep("cola").exactly(12)
    steps = np.diff([*_reinitialised(sweep), sweep[13]])
    return float(steps[9] - np.delete(steps, 9).max())


@claim(_LAYERS, "C3.5", "range of the score over all k, in points", high=0.1)
def mrpc_has_one_score(evidence):
    return float(np.ptp(_reinitialised(evidence.sweep("mrpc"))))


@claim(_LAYERS, "C3.6", "rank correlation of score and k", TASKS, low=0.0)
def scores_rise_with_k(evidence, task):
    return _rises(evidence, task)


def _above_majority(evidence: Evidence, task: str, k: int) -> float:
    rows = evidence.scores(task)
    rows = rows[rows["headline"] & (rows["position"] == k)]
    return float((rows["value"] - rows["majority"]).mean())


@claim(
    _LAYERS,
    "C3.7",
    "score with all layers re-initialised minus the majority class's, in points",
    TASKS,
    high=2.0,
)
def without_layers_all_guess(evidence, task):
    return _above_majority(evidence, task, 1)


@claim(
    _LAYERS, "C3.8", "largest distance of the score with any k to the majority class's, in points", high=0.1
)
def mrpc_is_the_majority_class(evidence):
    layers = evidence.sweep("mrpc").layers
    return max(abs(_above_majority(evidence, "mrpc", k)) for k in range(1, layers + 1))


# ---- Heads

_HEADS = {"cola": ("figure5", "figure7", "figure9"), "stsb": ("figure6", "figure8", "figure10")}


def _printed(published: Mapping, task: str) -> pd.DataFrame:
    rows = published[_HEADS[task][0]]["rows"]
    return pd.DataFrame(
        {"layer": int(name.removeprefix("layer_")), "head": head, "delta": value}
        for name, values in rows.items() for head, value in enumerate(values, 1)
    )  # fmt: skip


def _least_on_top(rows: pd.DataFrame, layers: int) -> float:
    """Of the two last layers, as far as they were re-initialised."""
    top = rows[rows["layer"] >= layers - 1]
    if top.empty:
        raise NotTestableError(f"no head of layers {layers - 1} and {layers} was re-initialised")
    return float(top.groupby(["layer", "head"])["delta"].mean().min())


def _third_quartile(rows: pd.DataFrame, layer: int) -> float:
    rows = rows[rows["layer"] == layer]
    if rows.empty:
        raise NotTestableError(f"no head of layer {layer} was re-initialised")
    return float(rows.groupby("head")["delta"].mean().quantile(0.75))


def _of_head(rows: pd.DataFrame, head: int, statistic: str) -> float:
    """Over layers, to the digits that tables carry: some of the paper's are 0."""
    return round(float(rows[rows["head"] == head].groupby("layer")["delta"].mean().agg(statistic)), 9)


def _summarised(entry: Mapping, head: int, statistic: str) -> str:
    """As the paper prints it: more digits than its differences have."""
    return f"{entry['rows'][statistic][head - 1]:g}"


def _named(evidence: Evidence, task: str) -> pd.DataFrame:
    """All heads of a model whose heads have the paper's numbers."""
    rows = evidence.reinitialised_heads(task)
    checkpoint = str(rows["checkpoint"].iloc[0])
    if "bert-base-cased" not in checkpoint:
        raise NotTestableError(f"about heads of bert-base-cased, which have other numbers in {checkpoint}")
    return rows


def _register(task: str, numbers: list[str]) -> None:
    """The statements on one task's heads; `numbers` are the claims'."""
    heads, by_layer, by_head = (f"college2020/{item}" for item in _HEADS[task])
    summary = _HEADS[task][2]
    top, low, harmful, last, first = numbers

    @claim(
        heads, top, "least difference of a head of the last two layers", low=0.0,
        published=lambda published: f"{_least_on_top(_printed(published, task), 12):.3f}",
    )  # fmt: skip
    def any_head_on_top_does_harm(evidence):
        rows = evidence.reinitialised_heads(task)
        return _least_on_top(rows, int(rows["layers"].iloc[0]))

    @claim(
        by_layer, low, "third quartile of a layer's differences", ["1", "2"], high=0.0,
        published=lambda published, layer: f"{_third_quartile(_printed(published, task), int(layer)):.4f}",
    )  # fmt: skip
    def lower_heads_are_needed(evidence, layer):
        return _third_quartile(evidence.reinitialised_heads(task), int(layer))

    @claim(
        by_head, harmful, "largest difference of a head in any layer", ["head 4", "head 9"], high=0.0,
        published=lambda published, head: _summarised(published[summary], int(head[5:]), "max"),
    )  # fmt: skip
    def two_heads_are_needed_everywhere(evidence, head):
        return _of_head(_named(evidence, task), int(head[5:]), "max")

    @claim(
        by_head, last, "mean difference of head 12", low=0.0,
        published=lambda published: _summarised(published[summary], 12, "mean"),
    )  # fmt: skip
    def head_12_is_better_drawn_anew(evidence):
        return _of_head(_named(evidence, task), 12, "mean")

    @claim(
        by_head, first, "mean difference of head 1", **({"low": 0.0} if task == "cola" else {"high": 0.0}),
        published=lambda published: _summarised(published[summary], 1, "mean"),
    )  # fmt: skip
    def head_1_differs_between_tasks(evidence):
        return _of_head(_named(evidence, task), 1, "mean")


_register("cola", ["C5.1", "C7.1", "C9.1", "C9.2", "C9.3"])
_register("stsb", ["C6.1", "C8.1", "C10.1", "C10.2", "C10.3"])
