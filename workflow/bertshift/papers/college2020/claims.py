"""What BERT Goes to College 2020 says, and the number of ours that decides it."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from bertshift.verdicts.deciding import Claims
from bertshift.verdicts.evidence import Curve, Evidence, NotTestableError, ratio

CLAIMS = Claims("college2020")
claim = CLAIMS.about

# ---- Figures 1 and 2: intermediate tasks

INTERMEDIATE = ["cola", "mrpc", "rte", "wnli"]
SCORES = {"cola": "mcc", "mrpc": "accuracy", "rte": "accuracy", "wnli": "accuracy"}


@claim("figure1", "C1.1", "fall of the mean loss from the last but one to the last sixth of the steps, as a share", INTERMEDIATE,
       high=0.1, strict=False)  # fmt: skip
def three_epochs_are_enough(evidence, task):
    losses = evidence.losses(task)
    sixth = max(1, len(losses) // 6)
    return 1 - ratio(
        losses[-sixth:].mean(), losses[-2 * sixth : -sixth].mean(), "the loss before the last steps"
    )


def _gain(evidence: Evidence, final: str, first: str) -> float:
    return evidence.gain(f"{first}+{final}", SCORES[final])


def _gain_printed(published: Mapping, final: str, first: str) -> float:
    """The paper's gain, from counts of right answers where its decimals give these away."""
    figure = published["figure2"]
    counts = figure["exact_correct"].get(final, {"n": 1, "correct": figure["rows"][final]})
    scores = dict(zip(figure["columns"], counts["correct"], strict=True))
    return (scores[first] - scores[final]) / counts["n"]


@claim(
    "figure2", "C2.1", "gain from WNLI as intermediate task", ["cola", "mrpc", "rte"], low=0.0,
    published=lambda published, final: f"{_gain_printed(published, final, 'wnli'):+.3f}",
)  # fmt: skip
def wnli_helps_every_task(evidence, final):
    return _gain(evidence, final, "wnli")


@claim(
    "figure2", "C2.2", "gain of CoLA from this intermediate task", ["rte", "wnli"], low=0.0,
    published=lambda published, first: f"{_gain_printed(published, 'cola', first):+.3f}",
)  # fmt: skip
def inference_helps_cola(evidence, first):
    return _gain(evidence, "cola", first)


@claim(
    "figure2", "C2.3", "score of CoLA after WNLI minus after RTE", low=0.0,
    published=lambda published: f"{_gain_printed(published, 'cola', 'wnli') - _gain_printed(published, 'cola', 'rte'):+.3f}",
)  # fmt: skip
def wnli_helps_cola_more_than_rte(evidence):
    return _gain(evidence, "cola", "wnli") - _gain(evidence, "cola", "rte")


@claim(
    "figure2", "C2.4", "largest gain from an intermediate task", ["rte", "wnli"], high=0.0,
    published=lambda published, final: f"{_largest(_gain_printed, published, final):+.3f}",
)  # fmt: skip
def direct_is_best(evidence, final):
    return _largest(_gain, evidence, final)


def _largest(gain, source, final: str) -> float:
    return max(gain(source, final, first) for first in INTERMEDIATE if first != final)


# ---- Figure 3: layers re-initialised

REINITIALISED = ["rte", "squad2", "stsb", "cola", "mrpc"]


def _reinitialised(sweep: Curve) -> list[float]:
    """Scores with layers k and up re-initialised, k = 1..L."""
    return [sweep[k] for k in range(1, sweep.layers + 1)]


@claim(
    "figure3", "C3.1", "least score with k = 8 to 12 minus that with no layer re-initialised, in points", low=0.0
)  # fmt: skip
def upper_layers_of_rte_are_better_drawn_anew(evidence):
    sweep = evidence.sweep("rte").exactly(12)
    return min(sweep[k] for k in range(8, 13)) - sweep[13]


def _rises(evidence: Evidence, task: str) -> float:
    scores = [*_reinitialised(evidence.sweep(task)), evidence.sweep(task)[evidence.sweep(task).layers + 1]]
    if np.ptp(scores) == 0:
        return 0.0
    return float(spearmanr(range(len(scores)), scores).statistic)


@claim("figure3", "C3.2", "rank correlation of score and k", low=0.0)
def squad_rises(evidence):
    return _rises(evidence, "squad2")


@claim("figure3", "C3.3", "largest score with k up to 8, in points", high=10.0)
def stsb_needs_eight_layers(evidence):
    sweep = evidence.sweep("stsb").exactly(12)
    return max(sweep[k] for k in range(1, 9))


@claim("figure3", "C3.4", "rise from k = 10 to 11 minus the largest other one, in points", low=0.0)
def cola_needs_ten_layers(evidence):
    sweep = evidence.sweep("cola").exactly(12)
    steps = np.diff([*_reinitialised(sweep), sweep[13]])
    return float(steps[9] - np.delete(steps, 9).max())


@claim("figure3", "C3.5", "range of the score over all k, in points", high=0.1)
def mrpc_has_one_score(evidence):
    return float(np.ptp(_reinitialised(evidence.sweep("mrpc"))))


@claim("figure3", "C3.6", "rank correlation of score and k", REINITIALISED, low=0.0)
def scores_rise_with_k(evidence, task):
    return _rises(evidence, task)


def _above_majority(evidence: Evidence, task: str, k: int) -> float:
    rows = evidence.scores(task)
    rows = rows[rows["headline"] & (rows["position"] == k)]
    return float((rows["value"] - rows["majority"]).mean())


@claim(
    "figure3", "C3.7", "score with all layers re-initialised minus the majority class's, in points", REINITIALISED,
    high=2.0
)  # fmt: skip
def without_layers_all_guess(evidence, task):
    return _above_majority(evidence, task, 1)


@claim(
    "figure3", "C3.8", "largest distance of the score with any k to the majority class's, in points", high=0.1
)
def mrpc_is_the_majority_class(evidence):
    layers = evidence.sweep("mrpc").layers
    return max(abs(_above_majority(evidence, "mrpc", k)) for k in range(1, layers + 1))


# ---- Heads

_HEADS = {"cola": ("figure5", "figure7", "figure9"), "stsb": ("figure6", "figure8", "figure10")}


def _differences_printed(published: Mapping, task: str) -> pd.DataFrame:
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
    heads, by_layer, by_head = _HEADS[task]
    top, low, harmful, last, first = numbers

    @claim(
        heads, top, "least difference of a head of the last two layers", low=0.0,
        published=lambda published: f"{_least_on_top(_differences_printed(published, task), 12):.3f}",
    )  # fmt: skip
    def any_head_on_top_does_harm(evidence):
        rows = evidence.reinitialised_heads(task)
        return _least_on_top(rows, int(rows["layers"].iloc[0]))

    @claim(
        by_layer, low, "third quartile of a layer's differences", ["1", "2"], high=0.0,
        published=lambda published, layer: f"{_third_quartile(_differences_printed(published, task), int(layer)):.4f}",
    )  # fmt: skip
    def lower_heads_are_needed(evidence, layer):
        return _third_quartile(evidence.reinitialised_heads(task), int(layer))

    @claim(
        by_head, harmful, "largest difference of a head in any layer", ["head 4", "head 9"], high=0.0,
        published=lambda published, head: _summarised(published[by_head], int(head[5:]), "max"),
    )  # fmt: skip
    def two_heads_are_needed_everywhere(evidence, head):
        return _of_head(_named(evidence, task), int(head[5:]), "max")

    @claim(
        by_head, last, "mean difference of head 12", low=0.0,
        published=lambda published: _summarised(published[by_head], 12, "mean"),
    )  # fmt: skip
    def head_12_is_better_drawn_anew(evidence):
        return _of_head(_named(evidence, task), 12, "mean")

    @claim(
        by_head, first, "mean difference of head 1", **({"low": 0.0} if task == "cola" else {"high": 0.0}),
        published=lambda published: _summarised(published[by_head], 1, "mean"),
    )  # fmt: skip
    def head_1_differs_between_tasks(evidence):
        return _of_head(_named(evidence, task), 1, "mean")


_register("cola", ["C5.1", "C7.1", "C9.1", "C9.2", "C9.3"])
_register("stsb", ["C6.1", "C8.1", "C10.1", "C10.2", "C10.3"])
