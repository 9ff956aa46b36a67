"""Statements of BERT Goes to College 2020, and the number of ours that decides each."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import permutations

import numpy as np
import pandas as pd

from bertshift.measures import CORRELATION
from bertshift.papers.college2020.reinitialised_heads import cells_of
from bertshift.verdicts.deciding import ALL, NO_CASES, Claims, Published, case
from bertshift.verdicts.evidence import (
    Curve,
    Evidence,
    NotTestableError,
    Profiles,
    of_checkpoint,
    ratio,
    with_both_signs,
)

CLAIMS = Claims("college2020")
claim = CLAIMS.about

# ---- Figures 1 and 2: intermediate tasks

INTERMEDIATE = ["cola", "mrpc", "rte", "wnli"]
SCORES = {"cola": "mcc", "mrpc": "accuracy", "rte": "accuracy", "wnli": "accuracy"}


def last_fall_of_loss(evidence: Evidence, task: str) -> float:
    losses = evidence.every_row(task, metric="loss").groupby("step")["value"].mean().to_numpy()
    sixth = max(1, len(losses) // 6)
    last = losses[-sixth:]
    last_but_one = losses[-2 * sixth : -sixth]
    return 1 - ratio(last.mean(), last_but_one.mean(), "the loss before the last steps")


def _read_gains(evidence: Evidence, *_) -> Callable[[str, str], float]:
    """Read our gains: gain(final task, intermediate task)."""

    def gain(final: str, first: str) -> float:
        chain = f"{first}+{final}-{final}"
        rows = evidence.every_row(chain, metric="gain", score=SCORES[final])
        return rows["value"].mean()

    return gain


def _read_gains_printed(published: Mapping, *_) -> Callable[[str, str], float]:
    """Read the paper's gains: gain(final task, intermediate task), from counts of right answers
    if these follow from the decimals."""
    figure = published["figure2"]

    def gain(final: str, first: str) -> float:
        as_printed = {"n": 1, "correct": figure["rows"][final]}
        counts = figure["exact_correct"].get(final, as_printed)
        scores = dict(zip(figure["columns"], counts["correct"], strict=True))
        return (scores[first] - scores[final]) / counts["n"]

    return gain


claim(
    "figure1",
    "C1.1",
    "fall of the mean loss from the last but one to the last sixth of the steps, as a share",
    last_fall_of_loss,
    INTERMEDIATE,
    high=0.1,
    strict=False,
)
about_gains = partial(
    claim, "figure2", of=_read_gains, printed=_read_gains_printed, form="{:+.3f}"
)
about_gains(
    "C2.1",
    "gain from WNLI as intermediate task",
    lambda gain, final: gain(final, "wnli"),
    ["cola", "mrpc", "rte"],
    low=0.0,
)
about_gains(
    "C2.2",
    "gain of CoLA from this intermediate task",
    lambda gain, first: gain("cola", first),
    ["rte", "wnli"],
    low=0.0,
)
about_gains(
    "C2.3",
    "score of CoLA after WNLI minus after RTE",
    lambda gain: gain("cola", "wnli") - gain("cola", "rte"),
    low=0.0,
)
about_gains(
    "C2.4",
    "largest gain from an intermediate task",
    lambda gain, final: {first: gain(final, first) for first in INTERMEDIATE if first != final},
    ["rte", "wnli"],
    each=ALL,
    high=0.0,
)

# ---- Figure 3: layers re-initialised. A position is the first re-initialised layer, k; the plain
# model has one more than the number of layers.

REINITIALISED = ["rte", "squad2", "stsb", "cola", "mrpc"]


def _list_scores(sweep: Curve, first: int, last: int) -> list[float]:
    """List the scores with k from `first` to `last`, in points."""
    return [sweep[k] for k in range(first, last + 1)]


def gain_of_upper_layers(evidence: Evidence) -> dict[int, float]:
    sweep = evidence.sweep("rte").exactly(12)
    return {k: sweep[k] - sweep[13] for k in range(8, 13)}


def rise_with_k(evidence: Evidence, task: str) -> Profiles:
    sweep = evidence.sweep(task)
    scores = _list_scores(sweep, 1, sweep.layers + 1)
    return Profiles(range(len(scores)), scores, constant=0.0)


def step_at_ten(evidence: Evidence) -> dict[int, float]:
    scores = _list_scores(evidence.sweep("cola").exactly(12), 1, 13)
    steps = dict(enumerate(np.diff(scores), 1))
    step = steps.pop(10)
    return {k: step - other for k, other in steps.items()}


def differences_over_k(evidence: Evidence) -> dict[tuple[int, int], float]:
    sweep = evidence.sweep("mrpc")
    return {(k, j): sweep[k] - sweep[j] for k, j in permutations(range(1, sweep.layers + 1), 2)}


def _subtract_majority(evidence: Evidence, task: str) -> pd.Series:
    """Subtract the majority class's score from the score, by k, in points."""
    rows = evidence.scores(task).query("headline")
    differences = rows["value"] - rows["majority"]
    return differences.groupby(rows["position"]).mean()


def distances_to_majority(evidence: Evidence) -> dict[tuple[int, str], float]:
    """List the differences to the majority class, above and below."""
    differences = _subtract_majority(evidence, "mrpc")
    layers = evidence.sweep("mrpc").layers
    return with_both_signs(differences.loc[1:layers].to_dict())


figure3 = partial(claim, "figure3")
figure3(
    "C3.1",
    "least score with k = 8 to 12 minus that with no layer re-initialised, in points",
    gain_of_upper_layers,
    each=ALL,
    low=0.0,
)
figure3(
    "C3.2",
    "rank correlation of score and k",
    lambda evidence: rise_with_k(evidence, "squad2"),
    low=0.0,
    bounds=CORRELATION,
)
figure3(
    "C3.3",
    "largest score with k up to 8, in points",
    lambda evidence: dict(enumerate(_list_scores(evidence.sweep("stsb").exactly(12), 1, 8), 1)),
    each=ALL,
    high=10.0,
)
figure3(
    "C3.4",
    "rise from k = 10 to 11 minus the largest other one, in points",
    step_at_ten,
    each=ALL,
    low=0.0,
)
figure3(
    "C3.5",
    "largest difference of the scores of two k, in points",
    differences_over_k,
    each=ALL,
    high=0.1,
)
figure3(
    "C3.6",
    "rank correlation of score and k",
    rise_with_k,
    REINITIALISED,
    low=0.0,
    bounds=CORRELATION,
)
figure3(
    "C3.7",
    "score with all layers re-initialised minus the majority class's, in points",
    lambda evidence, task: _subtract_majority(evidence, task).get(1, np.nan),
    REINITIALISED,
    high=2.0,
    inputs=False,
)
figure3(
    "C3.8",
    "largest distance of the score with any k to the majority class's, in points",
    distances_to_majority,
    each=ALL,
    high=0.1,
    inputs=False,
)

# ---- Heads


def _average_differences(rows: pd.DataFrame, *layers: int) -> pd.Series:
    """Average the difference of each head of these layers over replicates. NotTestableError where
    none was re-initialised."""
    rows = rows[rows["layer"].isin(layers)]
    if rows.empty:
        noun = "layer" if len(layers) == 1 else "layers"
        names = " and ".join(map(str, layers))
        raise NotTestableError(f"no head of {noun} {names} was re-initialised")
    return rows.groupby(["layer", "head"])["delta"].mean()


def differences_on_top(rows: pd.DataFrame) -> pd.Series:
    layers = int(rows["layers"].iloc[0])
    return _average_differences(rows, layers - 1, layers)


def third_quartile(differences: pd.Series) -> np.ndarray:
    """Weigh the two heads that the third quartile lies between."""
    order = np.argsort(differences.to_numpy(), kind="stable")
    position = 0.75 * (len(order) - 1)
    below = int(position)
    weights = np.zeros(len(order))
    weights[order[below]] = 1 - (position - below)
    weights[order[min(below + 1, len(order) - 1)]] += position - below
    return weights


def _register_heads(task: str, heads: str, by_layer: str, by_head: str, **head_1) -> None:
    """Register the statements on one task's heads, each on one of these figures; `head_1` is the
    range for C9.3 and C10.3."""

    def read_ours(evidence: Evidence, *_) -> pd.DataFrame:
        return evidence.reinitialised_heads(task)

    def read_printed(published: Mapping, *_) -> pd.DataFrame:
        rows = cells_of(published[heads]).rename(columns={"value": "delta"})
        return rows.assign(layers=published["paper"]["layers"])

    def claim_on(figure: str, number: int, *args, **criterion) -> None:
        claim(figure, f"{figure.replace('figure', 'C')}.{number}", *args, **criterion)

    def claim_on_head(
        number: int, measure: str, statistic: str, cases=NO_CASES, head=0, **criterion
    ) -> None:
        """Register a statement on a statistic of one head over layers. The head is the case, or
        else `head`."""

        def summarise_ours(evidence, head=head):
            rows = of_checkpoint(evidence.reinitialised_heads(task), "bert-base-cased")
            rows = rows[rows["head"] == head]
            # The digits that tables carry: some of the paper's are 0.
            deltas = rows.groupby("layer")["delta"].mean().round(9)
            return deltas.mean() if statistic == "mean" else deltas

        def read_summary(published, head=head):  # with more digits than the paper's differences
            return Published.of(published[by_head]["rows"][statistic][head - 1])

        claim_on(
            by_head, number, measure, summarise_ours, cases, published=read_summary, **criterion
        )

    sources = {"of": read_ours, "printed": read_printed}
    claim_on(
        heads,
        1,
        "least difference of a head of the last two layers",
        differences_on_top,
        each=ALL,
        low=0.0,
        form="{:.3f}",
        **sources,
    )
    claim_on(
        by_layer,
        1,
        "third quartile of a layer's differences",
        _average_differences,
        [case(1), case(2)],
        each=third_quartile,
        high=0.0,
        form="{:.4f}",
        **sources,
    )
    claim_on_head(
        1,
        "largest difference of a head in any layer",
        "max",
        [case(head, name=f"head {head}") for head in (4, 9)],
        each=ALL,
        high=0.0,
    )
    claim_on_head(2, "mean difference of head 12", "mean", head=12, low=0.0)
    claim_on_head(3, "mean difference of head 1", "mean", head=1, **head_1)


_register_heads("cola", "figure5", "figure7", "figure9", low=0.0)
_register_heads("stsb", "figure6", "figure8", "figure10", high=0.0)
