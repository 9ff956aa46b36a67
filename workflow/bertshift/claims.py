"""What the papers say, as small tests of our tables.

A statement, its place and its strength are facts of a paper and stand in `config/published/<paper>.yaml` under
`claims`; here stands how it is decided: one number of one replicate, and the range in which the statement holds.
The number is averaged over replicates, as the papers average their curves; the reason says in how many single
replicates the statement holds. Ranges that a paper does not give are ours, fixed before any result was seen.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from bertshift import stats
from bertshift.errors import UserError
from bertshift.plots import style

HOLDS, FAILS, UNTESTED = "holds", "fails", "not testable at this scale"
COLUMNS = ["paper", "figure", "claim", "statement", "place", "strength", "published_value", "measure", "ours", "low",
           "high", "replicates", "verdict", "reason", "scale", "checkpoint"]  # fmt: skip


class NotTestableError(Exception):
    """The tables cannot decide a claim; the message says what is missing."""


@dataclass(frozen=True)
class Curve:
    """One replicate's value per layer, and the number of layers (without embeddings) of its model."""

    values: Mapping[int, float]
    layers: int

    def __getitem__(self, layer: int) -> float:
        return self.values[layer]

    def part(self, first: int, last: int, of: int) -> list[int]:
        """Our layers whose share of the depth lies wholly within layers first..last of the paper's `of` layers."""
        low, high = (first - 1) / of - 1e-9, last / of + 1e-9
        inside = [
            k for k in range(1, self.layers + 1) if low <= (k - 1) / self.layers and k / self.layers <= high
        ]
        if not inside:
            raise NotTestableError(f"no layer of {self.layers} lies within layers {first} to {last} of {of}")
        return inside

    def mean(self, first: int, last: int, of: int) -> float:
        return float(np.mean([self[k] for k in self.part(first, last, of)]))

    def at(self, layer: int, of: int) -> int:
        """Our layer at the same relative depth, if there is one."""
        if layer * self.layers % of:
            raise NotTestableError(f"layer {layer} of {of} falls between two layers of {self.layers}")
        return layer * self.layers // of

    def exactly(self, of: int) -> None:
        """For statements about a level or a layer number, which another depth cannot confirm or refute."""
        if self.layers != of:
            raise NotTestableError(f"about a model of {of} layers; this one has {self.layers}")

    @property
    def peak(self) -> int:
        return max(range(1, self.layers + 1), key=lambda k: self[k])


@dataclass(frozen=True)
class Claim:
    """`value(curve, ...)` of one replicate; the claim holds where low <= value <= high (strictly if `strict`)."""

    paper: str
    id: str
    item: str
    value: Callable
    measure: str
    low: float = -np.inf
    high: float = np.inf
    strict: bool = True
    case: str = ""
    published: Callable[[Mapping], str] | None = (
        None  # the same number from the paper's own figure, where it gives one
    )

    def holds(self, value: float) -> bool:
        """False for NaN, which stands for `there is no such layer`."""
        if self.strict:
            return bool(self.low < value < self.high)
        # Tables carry ten digits: a value that equals a bound may miss it by rounding alone.
        return bool(self.low - 1e-9 <= value <= self.high + 1e-9)

    @property
    def name(self) -> str:
        return f"{self.id} ({self.case})" if self.case else self.id

    @property
    def criterion(self) -> str:
        sign = "<" if self.strict else "≤"
        if np.isfinite(self.low) and np.isfinite(self.high):
            return f"{self.low:g} {sign} {self.measure} {sign} {self.high:g}"
        if np.isfinite(self.low):
            return f"{self.measure} {'>' if self.strict else '≥'} {self.low:g}"
        return f"{self.measure} {sign} {self.high:g}"


CLAIMS: list[Claim] = []


def claim(figure: str, id: str, measure: str, cases=("",), published=None, **criterion):
    """Register the decorated function for claim `id` of `<paper>/<item>`, once per case.

    A case is words, separated by commas, that the function takes after the evidence; or (words, criterion) where
    the range differs. `published` takes the paper's file and the same words.
    """
    paper, item = figure.split("/")

    def register(function):
        for case in cases:
            words, own = case if isinstance(case, tuple) else (case, {})
            parts = words.split(", ") if words else []
            CLAIMS.append(
                Claim(
                    paper, id, item, lambda evidence, parts=parts: function(evidence, *parts), measure, case=words,
                    published=published and (lambda facts, parts=parts: published(facts, *parts)), **(criterion | own),
                )
            )  # fmt: skip
        return function

    return register


class Evidence:
    """The curves of one figure's tables for one replicate."""

    def __init__(self, rows: pd.DataFrame, replicate: str):
        self.rows, self.replicate = rows, replicate

    def curve(self, task: str, variant: str, stimuli: str | None = None) -> Curve:
        """Head 0 by layer, of the model of `task`, on `stimuli` or else on the first that its table lists."""
        rows = self.rows[(self.rows["task"] == task) & (self.rows["head"] == 0)]
        _require(rows, f"no results for {style.WORDS.get(task, task)}")
        rows = rows[rows["variant"] == variant]
        _require(rows, f"no variant '{variant}' for {style.WORDS.get(task, task)}")
        rows = rows[rows["stimuli"] == (stimuli or rows["stimuli"].iloc[0])]
        _require(rows, f"no inputs '{stimuli}' for {style.WORDS.get(task, task)}")
        rows = rows[rows["replicate"] == self.replicate]
        _require(rows, f"{style.WORDS.get(task, task)} has no replicate '{self.replicate}'")
        values = rows.groupby("layer")["value"].mean().to_dict()
        return Curve(values, max(values))


def _require(rows: pd.DataFrame, message: str) -> None:
    if rows.empty:
        raise NotTestableError(message)


# ---- Kovaleva et al. 2019, Figure 5

_FIVE = "kovaleva2019/figure5"
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


# ---- Hao et al. 2020, Figures 1 and 2

_HAO = ["mnli", "rte", "sst2", "mrpc"]


@claim(
    "hao2020/figure1", "H1.1", "mean JS of layers 20 to 24 over that of layers 1 to 12, of 24", _HAO, low=3.0
)
def attention_of_last_layers_changes(evidence, task):
    curve = evidence.curve(task, "nats")
    return curve.mean(20, 24, 24) / max(curve.mean(1, 12, 24), np.finfo(float).tiny)


@claim(
    "hao2020/figure1",
    "H1.2",
    "depth at which the layer of the largest JS begins",
    _HAO,
    low=2 / 3,
    strict=False,
)
def attention_changes_most_at_the_end(evidence, task):
    curve = evidence.curve(task, "nats")
    return (curve.peak - 1) / curve.layers


@claim(
    "hao2020/figure2",
    "H2.1",
    "mean distance of the upper half of layers minus that of the lower",
    _HAO,
    low=0.0,
)
def higher_layers_move_more(evidence, task):
    curve = evidence.curve(task, "svcca99")
    return curve.mean(13, 24, 24) - curve.mean(1, 12, 24)


@claim(
    "hao2020/figure2",
    "H2.2",
    "depth at which the layer of the largest distance begins",
    _HAO,
    low=2 / 3,
    strict=False,
)
def hidden_states_move_most_at_the_end(evidence, task):
    curve = evidence.curve(task, "svcca99")
    return (curve.peak - 1) / curve.layers


# ---- Merchant et al. 2020, Figure 2

_TWO, _WIKI = "merchant2020/figure2", partial(Evidence.curve, variant="content", stimuli="wiki")


@claim(
    _TWO, "F2.1", "mean RSA of layers 1 to 4 minus that of layers 9 to 12", ["mnli", "squad", "dep"], low=0.0
)
def changes_arise_at_the_top(evidence, task):
    curve = _WIKI(evidence, task)
    return curve.mean(1, 4, 12) - curve.mean(9, 12, 12)


@claim(
    _TWO, "F2.2", "first of two layers at which Dep is 0.05 below MNLI and SQuAD", low=4, high=6, strict=False
)
def dep_departs_early(evidence):
    dep, mnli, squad = (_WIKI(evidence, task) for task in ("dep", "mnli", "squad"))
    dep.exactly(12)
    below = [dep[k] < min(mnli[k], squad[k]) - 0.05 for k in range(13)]
    return next((float(k) for k in range(12) if below[k] and below[k + 1]), np.nan)


@claim(
    _TWO,
    "F2.3",
    "largest RSA of Dep minus the lower of MNLI and SQuAD, layers 6 to 11",
    high=0.02,
    strict=False,
)
def dep_changes_deepest(evidence):
    dep, mnli, squad = (_WIKI(evidence, task) for task in ("dep", "mnli", "squad"))
    return max(dep[k] - min(mnli[k], squad[k]) for k in dep.part(6, 11, 12))


@claim(_TWO, "F2.4", "RSA of MNLI at layer 11", low=0.78, high=0.90, strict=False)
def mnli_level(evidence):
    curve = _WIKI(evidence, "mnli")
    curve.exactly(12)
    return curve[11]


@claim(
    _TWO,
    "F2.5",
    "least RSA of MNLI minus the higher of SQuAD and Dep, layers 1 to 11",
    low=-0.02,
    strict=False,
)
def mnli_changes_least(evidence):
    mnli, squad, dep = (_WIKI(evidence, task) for task in ("mnli", "squad", "dep"))
    return min(mnli[k] - max(squad[k], dep[k]) for k in mnli.part(1, 11, 12))


@claim(_TWO, "F2.6a", "RSA of SQuAD at layer 7", low=0.9, strict=False)
def squad_stays_through_seven(evidence):
    curve = _WIKI(evidence, "squad")
    curve.exactly(12)
    return curve[7]


@claim(_TWO, "F2.6b", "drop of SQuAD from layer 7 to 11 minus twice its drop from 1 to 7", low=0.0)
def squad_drops_after_seven(evidence):
    curve = _WIKI(evidence, "squad")
    curve.exactly(12)
    return (curve[7] - curve[11]) - 2 * (curve[1] - curve[7])


@claim(_TWO, "F2.7", "RSA of SQuAD minus MNLI at the second-to-last layer", high=0.0)
def squad_is_steeper(evidence):
    squad, mnli = _WIKI(evidence, "squad"), _WIKI(evidence, "mnli")
    return squad[squad.layers - 1] - mnli[mnli.layers - 1]


# ---- Merchant et al. 2020, Figure 5

_DOMAIN = "merchant2020/figure5"
_SINGLE = {"mnli": "mnli_premise", "squad": "squad_question"}


def _against_wiki(evidence, task: str, stimuli: str) -> float:
    other = evidence.curve(task, "content", stimuli)
    return other.mean(9, 12, 12) - _WIKI(evidence, task).mean(9, 12, 12)


@claim(_DOMAIN, "F5.1", "mean RSA of layers 9 to 12, MNLI pairs minus Wikipedia", high=0.0)
def mnli_changes_its_domain(evidence):
    return _against_wiki(evidence, "mnli", "mnli")


@claim(_DOMAIN, "F5.2", "mean RSA of layers 9 to 12, SQuAD pairs minus Wikipedia", high=0.0)
def squad_changes_its_domain(evidence):
    return _against_wiki(evidence, "squad", "squad")


@claim(
    _DOMAIN, "F5.3", "RSA of the last layer minus the middle one",
    [f"{task}, {stimuli}" for task in _SINGLE for stimuli in ("mnli", "squad", "wiki")], high=0.0,
)  # fmt: skip
def all_inputs_diverge(evidence, task, stimuli):
    curve = evidence.curve(task, "content", stimuli)
    return curve[curve.at(12, 12)] - curve[curve.at(6, 12)]


@claim(
    _DOMAIN,
    "F5.4",
    "largest |RSA of dev minus train inputs| over layers",
    list(_SINGLE),
    high=0.03,
    strict=False,
)
def train_inputs_give_the_same(evidence, task):
    dev = evidence.curve(task, "content", task)
    train = evidence.curve(task, "content", f"{task}_train")
    return max(abs(dev[k] - train[k]) for k in range(dev.layers + 1))


@claim(
    _DOMAIN, "F5.5", "mean RSA of layers 9 to 12, single sentences minus Wikipedia", list(_SINGLE), high=0.0
)
def single_sentences_too(evidence, task):
    return _against_wiki(evidence, task, _SINGLE[task])


# ---- Deciding


def evaluate(figure: str, tables: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """One row (COLUMNS) per claim on `<paper>/<item>`, from that figure's tables and its paper's published file."""
    paper, item = figure.split("/")
    rows = [
        _decide(one, _labelled(tables), published) for one in CLAIMS if (one.paper, one.item) == (paper, item)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _labelled(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """All rows with `replicate` and `task`; where two models share a task, the first listed stands for it."""
    parts, tasks = [], set()
    for table in tables.values():
        for model, rows in table.groupby("model", sort=False):
            task = style.task_of(model)
            if task not in tasks:
                parts.append(stats.with_replicates(rows).assign(task=task))
            tasks.add(task)
    if not parts:
        raise UserError("claims need the tables of at least one model; list models under 'figures'.")
    return pd.concat(parts, ignore_index=True)


def _decide(one: Claim, rows: pd.DataFrame, published: Mapping) -> dict:
    facts = published["claims"][one.id]
    row = {
        "paper": one.paper, "figure": one.item, "claim": one.name, "statement": facts["statement"],
        "place": facts["place"], "strength": facts["strength"], "published_value": one.published(published) if one.published else str(facts.get("published", "")),
        "measure": one.criterion, "ours": np.nan, "low": np.nan, "high": np.nan, "replicates": 0,
        "scale": "; ".join(rows["scale"].astype(str).unique()),
        "checkpoint": "; ".join(rows["checkpoint"].astype(str).unique()),
    }  # fmt: skip
    try:
        values = _values(one, rows)
    except NotTestableError as error:
        return row | {"verdict": UNTESTED, "reason": f"{error}."}
    single = sum(map(one.holds, values))
    row |= {"replicates": len(values), "reason": f"In {single} of {len(values)} replicates by itself."}
    if np.isnan(values).any():
        return row | {"verdict": FAILS, "reason": "Some replicate has no such layer. " + row["reason"]}
    ours = stats.estimate(values)
    row |= {"ours": ours.mean, "low": ours.low, "high": ours.high}
    if len(values) < 2:
        return row | {"verdict": UNTESTED, "reason": "one replicate only; at least two are needed."}
    return row | {"verdict": HOLDS if one.holds(ours.mean) else FAILS}


def _values(one: Claim, rows: pd.DataFrame) -> list[float]:
    """The claim's number for every replicate that has all it needs; NotTestable if none has."""
    values, missing = [], None
    for replicate in rows["replicate"].unique():
        try:
            values.append(one.value(Evidence(rows, replicate)))
        except NotTestableError as error:
            missing = missing or error
    if not values:
        raise missing
    return values
