"""Claims of BERT Goes to College 2020 on intermediate tasks."""

from collections.abc import Mapping

from bertshift.claims.deciding import claim
from bertshift.claims.evidence import Evidence, ratio

_ONE, _TWO = "college2020/figure1", "college2020/figure2"
TASKS = ["cola", "mrpc", "rte", "wnli"]
SCORES = {"cola": "mcc", "mrpc": "accuracy", "rte": "accuracy", "wnli": "accuracy"}


@claim(_ONE, "C1.1", "fall of the mean loss from the last but one to the last sixth of the steps, as a share", TASKS,
       high=0.1, strict=False)  # fmt: skip
def three_epochs_are_enough(evidence, task):
    losses = evidence.losses(task)
    sixth = max(1, len(losses) // 6)
    return 1 - ratio(
        losses[-sixth:].mean(), losses[-2 * sixth : -sixth].mean(), "the loss before the last steps"
    )


def _gain(evidence: Evidence, final: str, first: str) -> float:
    return evidence.gain(f"{first}+{final}", SCORES[final])


def _printed(published: Mapping, final: str, first: str) -> float:
    """The paper's gain, from counts of right answers where its decimals give these away."""
    figure = published["figure2"]
    counts = figure["exact_correct"].get(final, {"n": 1, "correct": figure["rows"][final]})
    scores = dict(zip(figure["columns"], counts["correct"], strict=True))
    return (scores[first] - scores[final]) / counts["n"]


@claim(
    _TWO, "C2.1", "gain from WNLI as intermediate task", ["cola", "mrpc", "rte"], low=0.0,
    published=lambda published, final: f"{_printed(published, final, 'wnli'):+.3f}",
)  # fmt: skip
def wnli_helps_every_task(evidence, final):
    return _gain(evidence, final, "wnli")


@claim(
    _TWO, "C2.2", "gain of CoLA from this intermediate task", ["rte", "wnli"], low=0.0,
    published=lambda published, first: f"{_printed(published, 'cola', first):+.3f}",
)  # fmt: skip
def inference_helps_cola(evidence, first):
    return _gain(evidence, "cola", first)


@claim(
    _TWO, "C2.3", "score of CoLA after WNLI minus after RTE", low=0.0,
    published=lambda published: f"{_printed(published, 'cola', 'wnli') - _printed(published, 'cola', 'rte'):+.3f}",
)  # fmt: skip
def wnli_helps_cola_more_than_rte(evidence):
    return _gain(evidence, "cola", "wnli") - _gain(evidence, "cola", "rte")


@claim(
    _TWO, "C2.4", "largest gain from an intermediate task", ["rte", "wnli"], high=0.0,
    published=lambda published, final: f"{_largest(_printed, published, final):+.3f}",
)  # fmt: skip
def direct_is_best(evidence, final):
    return _largest(_gain, evidence, final)


def _largest(gain, source, final: str) -> float:
    return max(gain(source, final, first) for first in TASKS if first != final)
