"""What BERT Goes to College 2020 says, and the number of ours that decides it."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from bertshift.papers.college2020.reinitialised_heads import cells_of
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
    before, last = losses[-2 * sixth : -sixth], losses[-sixth:]
    return 1 - ratio(last.mean(), before.mean(), "the loss before the last steps")


def _about_gains(id: str, measure: str, cases=("",), **criterion):
    """The decorated function takes a function gain(final task, intermediate task), ours or the paper's, and the case."""

    def register(number):
        def ours(evidence, *case):
            return number(lambda final, first: evidence.gain(f"{first}+{final}", SCORES[final]), *case)

        def printed(published, *case):
            return f"{number(partial(_gain_printed, published['figure2']), *case):+.3f}"

        claim("figure2", id, measure, cases, published=printed, **criterion)(ours)

    return register


def _gain_printed(figure: Mapping, final: str, first: str) -> float:
    """The paper's gain, from counts of right answers where its decimals give these away."""
    counts = figure["exact_correct"].get(final, {"n": 1, "correct": figure["rows"][final]})
    scores = dict(zip(figure["columns"], counts["correct"], strict=True))
    return (scores[first] - scores[final]) / counts["n"]


@_about_gains("C2.1", "gain from WNLI as intermediate task", ["cola", "mrpc", "rte"], low=0.0)
def wnli_helps_every_task(gain, final):
    return gain(final, "wnli")


@_about_gains("C2.2", "gain of CoLA from this intermediate task", ["rte", "wnli"], low=0.0)
def inference_helps_cola(gain, first):
    return gain("cola", first)


@_about_gains("C2.3", "score of CoLA after WNLI minus after RTE", low=0.0)
def wnli_helps_cola_more_than_rte(gain):
    return gain("cola", "wnli") - gain("cola", "rte")


@_about_gains("C2.4", "largest gain from an intermediate task", ["rte", "wnli"], high=0.0)
def direct_is_best(gain, final):
    return max(gain(final, first) for first in INTERMEDIATE if first != final)


# ---- Figure 3: layers re-initialised

REINITIALISED = ["rte", "squad2", "stsb", "cola", "mrpc"]


def _scores(sweep: Curve, first: int, last: int) -> list[float]:
    """With layers k and up re-initialised, for k from `first` to `last`; L + 1 is the plain model."""
    return [sweep[k] for k in range(first, last + 1)]


@claim(
    "figure3", "C3.1", "least score with k = 8 to 12 minus that with no layer re-initialised, in points", low=0.0
)  # fmt: skip
def upper_layers_of_rte_are_better_drawn_anew(evidence):
    sweep = evidence.sweep("rte").exactly(12)
    return min(_scores(sweep, 8, 12)) - sweep[13]


def _rises(evidence: Evidence, task: str) -> float:
    sweep = evidence.sweep(task)
    scores = _scores(sweep, 1, sweep.layers + 1)
    if np.ptp(scores) == 0:
        return 0.0
    return float(spearmanr(range(len(scores)), scores).statistic)


@claim("figure3", "C3.2", "rank correlation of score and k", low=0.0)
def squad_rises(evidence):
    return _rises(evidence, "squad2")


@claim("figure3", "C3.3", "largest score with k up to 8, in points", high=10.0)
def stsb_needs_eight_layers(evidence):
    return max(_scores(evidence.sweep("stsb").exactly(12), 1, 8))


@claim("figure3", "C3.4", "rise from k = 10 to 11 minus the largest other one, in points", low=0.0)
def cola_needs_ten_layers(evidence):
    steps = np.diff(_scores(evidence.sweep("cola").exactly(12), 1, 13))
    return float(steps[9] - np.delete(steps, 9).max())


@claim("figure3", "C3.5", "range of the score over all k, in points", high=0.1)
def mrpc_has_one_score(evidence):
    sweep = evidence.sweep("mrpc")
    return float(np.ptp(_scores(sweep, 1, sweep.layers)))


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


def _differences(rows: pd.DataFrame, *layers: int) -> pd.Series:
    """Of each head of these layers, as far as they were re-initialised."""
    rows = rows[rows["layer"].isin(layers)]
    if rows.empty:
        which = f"layer{'s' * (len(layers) > 1)} {' and '.join(map(str, layers))}"
        raise NotTestableError(f"no head of {which} was re-initialised")
    return rows.groupby(["layer", "head"])["delta"].mean()


def _named(evidence: Evidence, task: str) -> pd.DataFrame:
    """All heads of a model whose heads have the paper's numbers."""
    rows = evidence.reinitialised_heads(task)
    checkpoint = str(rows["checkpoint"].iloc[0])
    if "bert-base-cased" not in checkpoint:
        raise NotTestableError(f"about heads of bert-base-cased, which have other numbers in {checkpoint}")
    return rows


def _register(task: str, heads: str, by_layer: str, by_head: str, **head_1) -> None:
    """The statements on one task's heads, each on one of these figures; `head_1` is the range for C9.3 and C10.3."""

    def printed(published: Mapping) -> pd.DataFrame:
        return cells_of(published[heads]).rename(columns={"value": "delta"})

    def claim_on(figure: str, number: int, *about, **criterion):
        return claim(figure, f"{figure.replace('figure', 'C')}.{number}", *about, **criterion)

    @claim_on(
        heads, 1, "least difference of a head of the last two layers", low=0.0,
        published=lambda published: f"{_differences(printed(published), 11, 12).min():.3f}",
    )  # fmt: skip
    def any_head_on_top_does_harm(evidence):
        rows = evidence.reinitialised_heads(task)
        layers = int(rows["layers"].iloc[0])
        return float(_differences(rows, layers - 1, layers).min())

    @claim_on(
        by_layer, 1, "third quartile of a layer's differences", ["1", "2"], high=0.0,
        published=lambda published, layer: f"{_differences(printed(published), int(layer)).quantile(0.75):.4f}",
    )  # fmt: skip
    def lower_heads_are_needed(evidence, layer):
        return float(_differences(evidence.reinitialised_heads(task), int(layer)).quantile(0.75))

    def about_head(number: int, measure: str, statistic: str, cases=("",), head="", **criterion) -> None:
        """The statistic is taken over layers, of one head: that of the case, such as `head 4`, or else `head`."""

        def ours(evidence, case=head):
            rows = _named(evidence, task)
            deltas = rows[rows["head"] == int(case[5:])].groupby("layer")["delta"].mean()
            return round(
                float(deltas.agg(statistic)), 9
            )  # the digits that tables carry: some of the paper's are 0

        def summarised(published, case=head):  # with more digits than the paper's differences have
            return f"{published[by_head]['rows'][statistic][int(case[5:]) - 1]:g}"

        claim_on(by_head, number, measure, cases, published=summarised, **criterion)(ours)

    about_head(1, "largest difference of a head in any layer", "max", ["head 4", "head 9"], high=0.0)
    about_head(2, "mean difference of head 12", "mean", head="head 12", low=0.0)
    about_head(3, "mean difference of head 1", "mean", head="head 1", **head_1)


_register("cola", "figure5", "figure7", "figure9", low=0.0)
_register("stsb", "figure6", "figure8", "figure10", high=0.0)
