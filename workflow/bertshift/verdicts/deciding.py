"""From a claim and the tables of its figure to a verdict.

A statement, its place and its strength are facts of a paper; they are in its `published.yaml`
under `claims`. The paper's module `claims` says how each is decided: by one number of one
replicate, and the range in which the statement holds. The number is averaged over replicates, as
the papers average their curves, and has an interval (`rows.estimates`): the statement holds, or
fails, where the whole interval says so. Else it is undecided, and the reason says which side it
leans to. Ranges that a paper does not give are ours, set before any result was seen.

Some numbers are of another kind, and have other tests (`testing`):

    on a grid      such as the layer of a peak, a rank or a count: the sign test over runs
    a correlation  over layers: a permutation test of the layers beside the interval
    candidates     the claim is about all of several numbers, or about some. "All" needs the test
                   of each (intersection-union). "Some" needs that of one, with Bonferroni's
                   correction for up to FEW candidates; of more, the one that was picked on other
                   data (`samples`)

    the largest is below a bound     ALL   holds: each is below      fails: some is above
    the largest is above a bound     SOME  holds: some is above      fails: each is below
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np
import pandas as pd

from bertshift.models.source import BERT, NAMES
from bertshift.rows import nulls, ranges, statistics
from bertshift.rows.estimates import INPUTS, Estimate
from bertshift.rows.provenance import distinct
from bertshift.rows.replicate import Replicate
from bertshift.verdicts.evidence import Evidence, NotTestableError, Profiles, Results, labelled
from bertshift.verdicts.samples import Baselines, Pick, Replicates, Whole
from bertshift.verdicts.testing import (
    ERROR,
    UNKNOWN,
    PValues,
    count_independent,
    has_width,
    of_all,
    of_some,
    p_of_interval,
    p_of_permutations,
    p_of_signs,
)

HOLDS, FAILS, UNDECIDED, UNTESTED = "holds", "fails", "undecided", "not testable at this scale"
ALL, SOME = "all", "some"
# The paper's side of a claim, and the words for what is measured.
STATED = [
    "paper",
    "figure",
    "claim",
    "id",
    "case",
    "over",
    "statement",
    "place",
    "strength",
    "published_value",
    "measure",
]
# The paper's number, where it is one, and its ± .
PUBLISHED = ["published_number", "published_error"]
P_VALUES = ["p_holds", "p_fails"]
# The p-value of "no more than for this null", of claims that hold.
P_MORE = {null: f"p_more_than_{null}" for null in nulls.NULLS}
COLUMNS = [
    *STATED,
    *PUBLISHED,
    "criterion_low",
    "criterion_high",
    "ours",
    "low",
    "high",
    "replicates",
    "runs_to_decide",
    "verdict",
    "null",
    *P_VALUES,
    *P_MORE.values(),
    "reason",
    "scale",
    "checkpoint",
]
NULL_WORDS = {nulls.NOISE: "noise of this size", nulls.SHUFFLED: "shuffled labels"}
MORE, LESS = "more", "less"
HALVED = 4  # blocks, of which each half has two
MOST = 10  # times as many replicates are asked about
# Candidates up to which Bonferroni's correction costs less than half of the replicates does.
FEW = 12


@dataclass(frozen=True)
class Published:
    """What a paper says of a number: a text, and the number and its ± where it is one."""

    text: str = ""
    number: float = np.nan
    error: float = 0.0

    @classmethod
    def of(cls, entry: str | float | Mapping) -> Self:
        """Read an entry of a paper's file: a text, a number, or a mapping of `value` and, where
        there are any, `error` and `unit`."""
        if isinstance(entry, str):
            return cls(entry)
        if not isinstance(entry, Mapping):
            return cls(f"{entry:g}", entry)
        value, error = entry["value"], entry.get("error", 0.0)
        text = f"{value:g} ± {error:g}" if error else f"{value:g}"
        return cls(" ".join([text, *filter(None, [entry.get("unit")])]), value, error)


@dataclass(frozen=True)
class Claim:
    """A claim, decided by `value(evidence)` of one replicate, a number that cannot leave `bounds`.
    It holds where low <= value <= high (strictly if `strict`).

    With `each`, the value has a number for each candidate. The claim is about ALL of them, about
    SOME, or about those that a function of the numbers picks. `picked_by(evidence)` are the
    numbers to pick by, if they are others.
    """

    id: str
    item: str
    value: Callable[[Evidence], float | Profiles | Mapping]
    measure: str
    low: float = -np.inf
    high: float = np.inf
    bounds: ranges.Range = ranges.ANY
    strict: bool = True
    grid: bool = False  # a whole number of a run, or a multiple of one
    each: str | Pick = ""
    picked_by: Callable[[Evidence], Mapping] | None = None
    # what the value has shares of, by name: of a number whose interval has 0 nothing is a share
    shares_of: Mapping[str, Callable[[Evidence], float]] = field(default_factory=dict)
    across: bool = False  # the value is taken once, over all replicates: it says how they differ
    # a number over all replicates that is the same whatever these are, as of one classifier
    shared: bool = False
    # not so of a value that jumps, or is compared with one that is not known without each block
    inputs: bool = True
    case: str = ""
    # the same number, calculated from the paper's own figure
    published: Callable[[Mapping], Published] | None = None

    def holds(self, value: float) -> bool:
        """Test whether the claim holds of one value; False for NaN, which means that there is no
        such layer."""
        if self.strict:
            return bool(self.low < value < self.high)
        # A value that equals a bound may miss it by rounding alone.
        return bool(self.low - statistics.EQUAL <= value <= self.high + statistics.EQUAL)

    def pick(self, numbers: pd.Series) -> np.ndarray:
        """Weigh the candidates' numbers: by 1 the one that decides, the farthest within the range
        for SOME, the farthest outside for ALL."""
        if callable(self.each):
            return self.each(numbers)
        is_largest = np.isfinite(self.low) == (self.each == SOME)
        position = numbers.argmax() if is_largest else numbers.argmin()
        return np.eye(len(numbers))[position]

    @property
    def direction(self) -> str:
        """The word for what is farther within the range; empty where it has two ends, or the
        number is over all replicates."""
        if self.across or np.isfinite(self.low) == np.isfinite(self.high):
            return ""
        return MORE if np.isfinite(self.low) else LESS

    @property
    def name(self) -> str:
        return f"{self.id} ({self.case})" if self.case else self.id

    @property
    def criterion(self) -> str:
        less, more = "<>" if self.strict else "≤≥"
        if np.isinf(self.low):
            return f"{self.measure} {less} {self.high:g}"
        if np.isinf(self.high):
            return f"{self.measure} {more} {self.low:g}"
        return f"{self.low:g} {less} {self.measure} {less} {self.high:g}"


@dataclass(frozen=True)
class Case:
    """One case of a claim: the values that its number takes, such as a task or a layer, and its
    own range where that is another than the claim's."""

    values: tuple[str | int, ...]
    name: str
    criterion: Mapping


def case(*values: str | int, name: str = "", **criterion) -> Case:
    return Case(values, name or ", ".join(map(str, values)), criterion)


def of_pairs(numbers: pd.Series) -> np.ndarray:
    """Weigh by 1, of candidates that compare each of one kind with each of another, the pair of
    the largest of either kind: its first has the largest numbers, its second the smallest."""
    firsts, seconds = (np.array(labels) for labels in zip(*numbers.index, strict=True))
    values = numbers.to_numpy()
    first = pd.Series(values).groupby(firsts).mean().idxmax()
    second = pd.Series(values).groupby(seconds).mean().idxmin()
    return ((firsts == first) & (seconds == second)).astype(float)


NO_CASES = (case(),)


class Claims:
    """The verdicts on one paper's statements."""

    def __init__(self, paper: str):
        self.paper = paper
        self.all: list[Claim] = []

    def about(
        self,
        item: str,
        id: str,
        measure: str,
        number: Callable,
        cases: Iterable[str | Case] = NO_CASES,
        *,
        of=None,
        printed=None,
        form="{:.2f} (digitised)",
        published=None,
        picked_by=None,
        **criterion,
    ) -> None:
        """Register that claim `id` on figure `item` is decided by `number`, called `measure`, once
        for each case.

        `number` takes the evidence, or what `of` reads from it, then the values of the case. A
        text is a case of one value. `of` takes the values too, and so do `printed` and
        `published`, which take the paper's file in place of the evidence. The paper's number is
        that of the same function on what `printed` reads, in this `form`, or what `published`
        gives. Without either it is what the file says under the claim's `published`, for all cases
        or by case. `picked_by` takes what `number` takes.
        """

        def of_ours(function, values):
            def read(evidence):
                data = of(evidence, *values) if of else evidence
                return function(data, *values)

            return function and read

        def papers_number(facts, values, claim):
            if published:
                return published(facts, *values)
            value = _single(claim, number(printed(facts, *values), *values))
            return Published(form.format(value), float(value))

        for entry in cases:
            if not isinstance(entry, Case):
                entry = case(entry)
            claim = Claim(
                id,
                item,
                of_ours(number, entry.values),
                measure,
                picked_by=of_ours(picked_by, entry.values),
                case=entry.name,
                **(criterion | entry.criterion),
            )
            if printed or published:
                read_number = partial(papers_number, values=entry.values, claim=claim)
                claim = replace(claim, published=read_number)
            self.all.append(claim)

    def decide(
        self, item: str, tables: Mapping[str, pd.DataFrame], published: Mapping
    ) -> pd.DataFrame:
        """Decide each claim on figure `item` from its tables and the paper's published file, a row
        (COLUMNS) a claim.

        The rows have the order of the paper's file. The papers speak of BERT, or of the `families`
        that the claim's entry there names: where our models are of another, the reason says so.
        """
        results = Results.of(labelled(nulls.without_nulls(tables)))
        null_results = {}
        for null in nulls.NULLS:
            if null_tables := nulls.standing_in(tables, null):
                null_results[null] = Results.of(labelled(null_tables))
        order = list(published["claims"])
        claims = [claim for claim in self.all if claim.item == item]
        claims.sort(key=lambda claim: order.index(claim.id))
        rows = [_decide(claim, results, null_results, published) for claim in claims]
        origin = {column: distinct(results.table[column]) for column in ("scale", "checkpoint")}
        return pd.DataFrame(rows, columns=COLUMNS).assign(paper=self.paper, **origin)


class Number(NamedTuple):
    """A claim's number, [] or [candidates], the names of the models that it was read from, the
    candidates' labels, and the profiles that it is a correlation of, if it is one."""

    value: np.ndarray
    models: set[str]
    labels: Sequence = ()
    profiles: Profiles | None = None


class Measured(NamedTuple):
    """A claim's number on every replicate, or once over all of them: of several candidates, of the
    one that was picked. `mean` is None where a number is NaN, and without its interval."""

    sample: Replicates | Whole
    mean: Estimate | None
    p: PValues
    replicates: int
    sentences: list[str]
    runs_to_decide: float = np.nan


def _decide(
    claim: Claim, results: Results, null_results: Mapping[str, Results], published: Mapping
) -> dict:
    facts = published["claims"][claim.id]
    paper = _published(claim, facts, published)
    row = {
        "figure": claim.item,
        "claim": claim.name,
        "id": claim.id,
        "case": claim.case,
        "over": facts.get("over", ALL),
        "statement": facts["statement"],
        "place": facts["place"],
        "strength": facts["strength"],
        "published_value": paper.text,
        "published_number": paper.number,
        "published_error": np.nan if np.isnan(paper.number) else paper.error,
        "measure": claim.criterion,
        "criterion_low": claim.low if np.isfinite(claim.low) else np.nan,
        "criterion_high": claim.high if np.isfinite(claim.high) else np.nan,
        **dict.fromkeys(["ours", "low", "high", *P_VALUES, *P_MORE.values()], np.nan),
        "replicates": 0,
        "runs_to_decide": np.nan,
        "null": "",
    }
    try:
        measured = _measure(claim, results)
    except NotTestableError as error:
        return row | {"verdict": UNTESTED, "reason": f"{error}."}
    row |= {"ours": float(measured.sample.values.mean()), "replicates": measured.replicates}
    if measured.mean is not None and not claim.grid:
        row |= {"low": float(measured.mean.low), "high": float(measured.mean.high)}
    row["verdict"], reason = _verdict(claim, measured)
    if row["verdict"] != UNTESTED:
        row |= dict(zip(P_VALUES, measured.p, strict=True))
    sentences = [reason]
    if row["verdict"] == UNDECIDED:
        row["runs_to_decide"] = measured.runs_to_decide
        sentences.append(_describe_runs(measured))
    evidence = _collect_evidence(claim, results)
    sentences = [
        *_describe_families(evidence, facts.get("families", [BERT])),
        *filter(None, sentences),
        *evidence.layers_here(),
        *_describe_failures(evidence),
    ]
    if row["verdict"] == HOLDS:
        compared = _compare_with_nulls(claim, results, null_results)
        row |= {P_MORE[null]: p for null, (p, _) in compared.items()}
        row["null"] = describe_nulls(
            {null: p for null, (p, _) in compared.items()}, claim.direction
        )
        sentences += _describe_numbers({null: number for null, (_, number) in compared.items()})
    return row | {"reason": " ".join(sentences)}


def _verdict(claim: Claim, measured: Measured) -> tuple[str, str]:
    values = measured.sample.values
    holding = [claim.holds(value) for value in values]
    if claim.across:
        sentences = ["One number, over all replicates."]
    elif measured.replicates < 2:
        return UNTESTED, "one replicate only; at least two are needed."
    else:
        sentences = [f"In {sum(holding)} of {len(values)} replicates by itself."]
    sentences += measured.sentences
    p = measured.p
    if np.isnan(values).any():
        sentences.insert(0, "Some replicate has no such layer.")
    if claim.across and measured.mean is not None and measured.mean.interval == INPUTS:
        sentences.append(
            "Its interval is over inputs alone, so the verdict is about these runs and"
            " no others: there are fewer than three."
        )
    # Pairs of runs are more than their runs.
    is_pair = not claim.across and count_independent(measured.sample.units) < len(values)
    if not is_pair and statistics.is_far_off(values):
        sentences.append("One replicate lies far from the others.")
    if np.isnan(p).any():
        return UNDECIDED, f"{' '.join(sentences)} It has no interval."
    if p.holds < ERROR:
        return HOLDS, " ".join(sentences)
    if p.fails < ERROR:
        return FAILS, " ".join(sentences)
    return UNDECIDED, " ".join([_describe_leaning(p), *sentences])


def _describe_runs(measured: Measured) -> str:
    if np.isnan(measured.runs_to_decide):
        return ""
    return (
        f"With this mean and spread, {measured.runs_to_decide:.0f} replicates in place of"
        f" {measured.replicates} decide."
    )


def _describe_leaning(p: PValues) -> str:
    """Say to which verdict an undecided claim leans."""
    side = HOLDS if p.holds < p.fails else FAILS
    least = min(p)
    if np.isclose(*p) or round(least, 2) >= 0.5:
        return "Leans to neither side."
    return f"Leans to {side}, with p = {least:{'.2f' if least >= 0.1 else '.2g'}}."


def describe_nulls(p_values: Mapping[str, float], direction: str) -> str:
    """Say for each null whether the number was shown to be more, or less, than for it."""
    parts = []
    for null, p in p_values.items():
        shown = "" if p < ERROR else "not shown to be "
        parts.append(f"{shown}{direction} than for {NULL_WORDS[null]}")
    return "; ".join(parts)


def _compare_with_nulls(
    claim: Claim, results: Results, null_results: Mapping[str, Results]
) -> dict[str, tuple[float, float]]:
    """Compare a claim that holds with each null: test whether its number is farther within the
    range than the null's. Return the p-value and the null's number. Only a range with one end says
    which way is farther."""
    compared = {}
    for null, null_result in null_results.items() if claim.direction else ():
        with suppress(NotTestableError):
            compared[null] = _compare_with_null(claim, results, null_result)
    return {null: pair for null, pair in compared.items() if np.isfinite(pair).all()}


def _compare_with_null(claim: Claim, results: Results, null: Results) -> tuple[float, float]:
    ours, _ = _sample(claim, results)
    theirs, _ = _sample(claim, null)
    differences = ours.minus(theirs)
    more = replace(claim, strict=True, bounds=ranges.ANY, low=0.0, high=np.inf)
    if claim.direction == LESS:
        more = replace(more, low=-np.inf, high=0.0)
    picking = _picking(claim, results) or (ours if callable(claim.each) else differences)
    measured = measure_sample(more, differences, picking)
    numbers = theirs.values.mean(axis=0)
    number = numbers @ theirs.picked(claim.pick) if claim.each else numbers
    return measured.p.holds, float(number)


def _describe_numbers(numbers: Mapping[str, float]) -> list[str]:
    """Write a sentence on the claim's numbers for each null."""
    if not numbers:
        return []
    verb = " have" if [*numbers] == [nulls.SHUFFLED] else " has"
    parts = []
    for null, number in numbers.items():
        parts.append(f"{NULL_WORDS[null]}{verb} {number:.3g}")
        verb = ""
    return [f"Beside it, {' and '.join(parts)}."]


def _describe_families(evidence: Evidence, families: Sequence[str]) -> list[str]:
    """Say that the evidence is of models of other families than the paper's, where it is."""
    models = evidence.results.models
    read = {
        family for name in evidence.read for family in models[name]["family"].dropna().unique()
    }
    others = sorted(read - {*families})
    if not others:
        return []
    paper = " and ".join(NAMES.get(family, family) for family in families)
    ours = " and ".join(NAMES.get(family, family) for family in others)
    return [f"The paper speaks of {paper}; this is {ours}."]


def _published(claim: Claim, facts: Mapping, published: Mapping) -> Published:
    if claim.published:
        return claim.published(published)
    entry = facts.get("published", "")
    is_by_case = isinstance(entry, Mapping) and "value" not in entry
    return Published.of(entry.get(claim.case, "") if is_by_case else entry)


def _measure(claim: Claim, results: Results) -> Measured:
    """Measure the claim's number on every replicate that has all it needs, and test it.
    NotTestableError if no replicate has what it needs."""
    if claim.across:
        return _measure_over_all(claim, results)
    sample, numbers = _sample(claim, results)
    if sample.count > 1:
        _check_shares(claim, results)
    picking = _picking(claim, results) or sample
    measured = measure_sample(claim, sample, picking)
    profiles = [number.profiles for number in numbers if number.profiles]
    if profiles:
        return _with_permutations(claim, measured, profiles)
    return measured._replace(runs_to_decide=_runs_to_decide(claim, measured, sample, picking))


def _runs_to_decide(
    claim: Claim, measured: Measured, sample: Replicates, picking: Replicates
) -> float:
    """Count the replicates, in multiples of those that there are, that would decide a claim if the
    number and its variance stayed what they are. NaN where it is decided, where MOST times as many
    would not do, for one replicate, and for pairs of runs."""
    if sample.count < 2 or not min(measured.p) >= ERROR:
        return np.nan
    with suppress(NotTestableError):
        for factor in range(2, MOST + 1):
            more = measure_sample(claim, sample.times(factor), picking.times(factor))
            if min(more.p) < ERROR:
                return float(factor * sample.count)
    return np.nan


def measure_sample(
    claim: Claim, sample: Replicates | Whole, picking: Replicates | Whole | None = None
) -> Measured:
    """Test a number, or those of several candidates. These are picked by their own numbers, or by
    those of `picking`."""
    picking = picking or sample
    if callable(claim.each):
        return _measure_picked(claim, sample, picking)
    if claim.each:
        return _measure_candidates(claim, sample, picking)
    mean, p = _test(claim, sample)
    return Measured(sample, mean, p, sample.count, _describe_signs(claim, sample, mean))


def _picking(claim: Claim, results: Results) -> Replicates | None:
    """Read the numbers to pick a candidate by, if they are others than the claim's."""
    if claim.picked_by is None:
        return None
    return _sample(replace(claim, value=claim.picked_by), results)[0]


def _measure_candidates(
    claim: Claim, sample: Replicates | Whole, picking: Replicates | Whole
) -> Measured:
    """Test a claim about several candidates: one verdict needs all of them, and the other some.
    The number is that of the farthest candidate, or of the one that was picked on other data."""
    count = sample.values.shape[-1]
    tests = [_test(claim, sample.candidate(weights))[1] for weights in np.eye(count)]
    for_all, for_some = [p.holds for p in tests], [p.fails for p in tests]
    if claim.each == SOME:
        for_all, for_some = for_some, for_all
    p_all, p_some = of_all(for_all), of_some(for_some)
    farthest = sample.candidate(sample.picked(claim.pick))
    mean, _ = _test(claim, farthest)
    sentence = (
        f"The farthest of {count}: one verdict needs all of them, the other is corrected for their"
        " number."
    )
    deciding = Measured(farthest, mean, UNKNOWN, sample.count, [sentence])
    if count > FEW:
        picked = _measure_picked(claim, sample, picking)
        p_some = picked.p.fails if claim.each == ALL else picked.p.holds
        if p_some < ERROR or claim.each == SOME and not p_all < ERROR:
            deciding = picked
    p = PValues(p_all, p_some) if claim.each == ALL else PValues(p_some, p_all)
    return deciding._replace(p=p)


def _measure_picked(
    claim: Claim, sample: Replicates | Whole, picking: Replicates | Whole
) -> Measured:
    """Measure the candidate that is picked on other data. Where there are none, the number is of
    the same data, and decides nothing."""
    count = sample.values.shape[-1]
    other = "inputs" if claim.across else "replicates and inputs" if claim.inputs else "replicates"
    try:
        if claim.inputs and not _has_halves(sample):
            raise NotTestableError("this is not known without each block of inputs")
        chosen = sample.chosen(claim.pick, picking)
    except NotTestableError as error:
        chosen = sample.candidate(picking.picked(claim.pick))
        mean, _ = _test(claim, chosen)
        sentence = (
            f"One of {count}, picked on the same {other}, as {error}; so it decides nothing."
        )
        return Measured(chosen, mean, PValues(1.0, 1.0), sample.count, [sentence])
    mean, p = _test(claim, chosen)
    return Measured(chosen, mean, p, sample.count, [f"One of {count}, picked on other {other}."])


def _has_halves(sample: Replicates | Whole) -> bool:
    """Test whether blocks of inputs are known, and enough for two halves."""
    if sample.left_out is None:
        return False
    blocks = len(sample.left_out) if isinstance(sample, Whole) else sample.left_out.shape[1]
    return blocks >= HALVED


def _test(claim: Claim, sample: Replicates | Whole) -> tuple[Estimate | None, PValues]:
    """Test one number: by its interval, or by the signs of its replicates where it lies on a grid
    or the interval has no width."""
    if np.isnan(sample.values).any():
        return None, _test_signs(claim, sample)
    bounds = claim.bounds
    floor, ceiling = bounds
    if not floor <= sample.values.mean() <= ceiling:  # one half of the blocks may leave the range
        bounds = ranges.ANY
    mean = sample.estimate(bounds)
    if claim.grid or not np.isnan(mean.error) and not has_width(mean):
        return mean, _test_signs(claim, sample)
    return mean, p_of_interval(mean, claim.low, claim.high)


def _test_signs(claim: Claim, sample: Replicates | Whole) -> PValues:
    """Test by how many replicates the claim holds of; one number over all of them is none."""
    if isinstance(sample, Whole):
        return UNKNOWN
    return p_of_signs([claim.holds(value) for value in sample.values], sample.units)


def _describe_signs(claim: Claim, sample: Replicates | Whole, mean: Estimate | None) -> list[str]:
    """Say that the signs of the replicates decide, where they do."""
    if isinstance(sample, Whole):
        return []
    is_certain = mean is not None and not np.isnan(mean.error)
    if not claim.grid and mean is not None and (not is_certain or has_width(mean)):
        return []
    independent = count_independent(sample.units)
    pairs = ""
    if independent < len(sample.units):
        pairs = f", here {independent} pairs of runs" if independent > 1 else ", here one pair"
    return [f"The sign test decides, with six or more that are independent{pairs}."]


def _with_permutations(claim: Claim, measured: Measured, profiles: Sequence[Profiles]) -> Measured:
    """Let a rank correlation hold only where a permutation test of the layers says so, and fail
    only so where it fails below 0; say so in a sentence with the two-sided p."""
    first = np.mean([profile.first for profile in profiles], axis=0)
    second = np.mean([profile.second for profile in profiles], axis=0)
    chance = p_of_permutations(first, second)
    holds, fails = measured.p
    holds = np.maximum(holds, chance.holds)
    if claim.low <= 0:
        fails = np.maximum(fails, chance.fails)
    two_sided = min(1.0, 2 * min(chance))
    sentence = f"In these layers; p = {two_sided:.2g} by permutations of them."
    return measured._replace(
        p=PValues(float(holds), float(fails)), sentences=[*measured.sentences, sentence]
    )


def _check_shares(claim: Claim, results: Results) -> None:
    """Raise NotTestableError where a number may be 0 of which the claim's number has shares."""
    plain = {"bounds": ranges.ANY, "strict": True, "grid": False, "inputs": True, "each": ""}
    for name, whole in claim.shares_of.items():
        above = replace(claim, value=whole, low=0.0, high=np.inf, **plain)
        below = replace(above, low=-np.inf, high=0.0)
        sample, _ = _sample(above, results)
        if not min(_test(side, sample)[1].holds for side in (above, below)) < ERROR:
            raise NotTestableError(
                f"{name} has an interval with 0, and nothing is a share of that"
            )


def _sample(claim: Claim, results: Results) -> tuple[Replicates, list[Number]]:
    """Compute the claim's number by replicate, and without each block of inputs. NotTestableError
    where no replicate has what it needs, or where their candidates are others."""
    parts, numbers = _numbers_by_replicate(claim, results)
    values = [number.value for number in numbers.values()]
    labels = {number.labels for number in numbers.values()}
    if len(labels) > 1:
        raise NotTestableError("replicates do not have the same heads or layers")
    left_out = [
        _values_without_blocks(claim, parts[unit], number) for unit, number in numbers.items()
    ]
    blocks = min(map(len, left_out))
    values, without = np.array(values), None
    if blocks > 1:  # as many as all replicates have
        without = np.array([values_of_run[:blocks] for values_of_run in left_out])
        if (without == values[:, None]).all():  # rows without blocks beside others that have them
            without = None
    baselines = _baselines(claim, results, numbers)
    sample = Replicates([*numbers], values, without, baselines, *labels)
    return sample, list(numbers.values())


def _baselines(
    claim: Claim, results: Results, numbers: Mapping[Replicate, Number]
) -> Baselines | None:
    """Compute how far the number changes where the baselines that seeds share are lower.
    Pretraining runs have baselines of their own, and their spread shows it."""
    lower = results.with_lower_baselines
    if lower is None or not all(unit.kind == "seed" for unit in numbers):
        return None
    _, shifted = _numbers_by_replicate(claim, lower)
    changes = [shifted[unit].value - number.value for unit, number in numbers.items()]
    freedom = results.table["baseline_n"].min() - 1
    return Baselines(np.array(changes), max(1, int(freedom)))


def _numbers_by_replicate(
    claim: Claim, results: Results
) -> tuple[Mapping[Replicate, Results], dict[Replicate, Number]]:
    """Compute the claim's number by replicate; return the results of each replicate with it.

    Replicates are pretraining runs. If only one has what the claim needs, they are the fine-tuning
    seeds (or pairs of seeds that are compared) on it; a pretrained model's rows (seed 0) belong to
    every seed, but do not by themselves make replicates.
    """
    parts = results.pretraining_runs
    numbers = _compute_by_part(claim, parts)
    if len(numbers) == 1:
        [(run, number)] = numbers.items()
        seeds = parts[run].seeds
        seeds = {unit: part for unit, part in seeds.items() if part.has_seed_of(number.models)}
        if len(seeds) > 1:
            return seeds, _compute_by_part(claim, seeds)
    return parts, numbers


def _measure_over_all(claim: Claim, results: Results) -> Measured:
    """Measure a number that is calculated once, over all replicates. Its interval is from its
    values without each pretraining run, or without each seed of a single one."""
    sample = _whole(claim, results)
    picking = sample
    if claim.picked_by is not None:
        picking = _whole(replace(claim, value=claim.picked_by), results)
    return measure_sample(claim, sample, picking)


def _whole(claim: Claim, results: Results) -> Whole:
    """Compute a number over all replicates, and the same without each run and without each block
    of inputs."""
    number = _compute(claim, results)
    rows = _rows_read(claim, results, number.models)
    replicates = _runs_in(rows, "init", "seed") or _runs_in(rows, "init")
    kind = "init" if rows["init"].nunique() > 1 else "seed"
    runs = [] if claim.shared else [run for (run,) in _runs_in(rows, kind)]
    without_run = _values_without_runs(claim, results, kind, runs) if len(runs) > 2 else []
    left_out = _values_without_blocks(claim, results, number)
    return Whole(
        number.value,
        np.array(without_run) if len(without_run) else None,
        np.array(left_out) if len(left_out) else None,
        len(replicates),
        number.labels,
    )


def _rows_read(claim: Claim, results: Results, models: set[str]) -> pd.DataFrame:
    """Select the rows of these models from which a number over all replicates is computed. Runs
    that failed to train are left out. If some pretraining runs have the number by themselves, the
    others are left out too."""
    rows = results.trained_rows
    rows = rows[rows["name"].isin(models)]
    with suppress(NotTestableError):  # it is about how pretraining runs differ
        numbers = _compute_by_part(claim, results.pretraining_runs)
        rows = rows[rows["init"].isin([run.init for run in numbers])]
    return rows


def _runs_in(table: pd.DataFrame, *kinds: str) -> list[tuple[int, ...]]:
    """List the runs of a table, on either side of a pair, by their numbers of these `kinds`
    (`init`, `seed`). Pretrained models have no seed (0), so they are not listed if `seed` is among
    them."""
    models = table.reindex(columns=[*kinds])
    references = table.reindex(columns=[f"ref_{kind}" for kind in kinds])
    sides = [side.fillna(0).to_numpy(int) for side in (models, references)]
    runs = np.unique(np.concatenate(sides), axis=0)
    return [tuple(run) for run in runs.tolist() if all(run)]


def _values_without_runs(
    claim: Claim, results: Results, kind: str, runs: Sequence[int]
) -> list[float]:
    """Compute the claim's number without each run of this `kind` (`init`, `seed`), and without
    every pair that the run is one side of; empty where it cannot be computed."""
    sides = results.table.reindex(columns=[kind, f"ref_{kind}"])
    values = []
    for run in runs:
        is_of_run = sides.eq(run).any(axis=1)
        try:
            number = _compute(claim, results.part(results.table[~is_of_run]))
        except NotTestableError:
            return []
        values.append(number.value)
    return values


def _values_without_blocks(claim: Claim, results: Results, number: Number) -> list[np.ndarray]:
    """Compute the claim's number without each block of inputs; empty where it cannot be
    computed."""
    if not claim.inputs or not np.isfinite(number.value).all():
        return []
    try:
        values = [_compute(claim, part).value for part in results.without_blocks(number.models)]
    except NotTestableError:
        return []
    return values if np.isfinite(values).all() else []


def _compute(claim: Claim, results: Results) -> Number:
    """Compute the claim's number, or those of its candidates."""
    evidence = Evidence(results)
    value = claim.value(evidence)
    if isinstance(value, Profiles):
        return Number(np.float64(value.correlation), evidence.read, profiles=value)
    if not claim.each:
        return Number(np.asarray(value, np.float64), evidence.read)
    if not len(value):
        raise NotTestableError("there is nothing to compare")
    labels, numbers = zip(*value.items(), strict=True)
    return Number(np.array(numbers, np.float64), evidence.read, labels)


def _single(claim: Claim, value: float | Mapping) -> float:
    """Return a number, or of several candidates the one that the claim picks."""
    if not claim.each:
        return value
    labels, numbers = zip(*value.items(), strict=True)
    return float(np.array(numbers) @ claim.pick(pd.Series(numbers, labels)))


def _compute_by_part(claim: Claim, parts: Mapping[Replicate, Results]) -> dict[Replicate, Number]:
    """Compute the claim's number on every part of the results that has one. Raise NotTestableError
    if none has."""
    numbers, errors = {}, []
    for unit, results in parts.items():
        try:
            numbers[unit] = _compute(claim, results)
        except NotTestableError as error:
            errors.append(error)
    if not numbers:
        raise errors[0]
    return numbers


def _collect_evidence(claim: Claim, results: Results) -> Evidence:
    """Collect all that the claim reads."""
    evidence = Evidence(results)
    with suppress(NotTestableError):  # all replicates together may lack what each of them has
        claim.value(evidence)
    return evidence


def _describe_failures(evidence: Evidence) -> Iterator[str]:
    """Say in a sentence how many runs, or pairs of fine-tuned ones, the claim does without."""
    # 0 is what it was fine-tuned from.
    pairs = sum(ref_seed > 0 for *_, ref_seed in evidence.failed)
    runs = len(evidence.failed) - pairs
    parts = []
    if runs:
        parts.append(f"{runs} that failed to train")
    if pairs:
        plural = "s" if pairs > 1 else ""
        parts.append(f"{pairs} pair{plural} of which one or both failed to train")
    if parts:
        yield f"Without {' and '.join(parts)}."
