"""From a claim and the tables of its figure to a verdict.

A statement, its place and its strength are facts of a paper; they are in its `published.yaml`
under `claims`. The paper's module `claims` says how each is decided: by one number of one
replicate, and the range in which the statement holds. The number is averaged over replicates, as
the papers average their curves, and has an interval (`rows.estimates`): the statement holds, or
fails, where the whole interval says so. Else it is undecided, and the reason says which side it
leans to. Ranges that a paper does not give are ours, set before any result was seen.

A number on a grid, such as the layer of a peak, can be the same in all R runs. Its interval then
has no width, which is no certainty: where the truth lies at the bound, R runs agree on one side of
it by chance with probability 2^-R (the sign test). So fewer than AGREEING runs decide nothing.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from bertshift.models.source import BERT, NAMES
from bertshift.rows import nulls, ranges, statistics
from bertshift.rows.estimates import INPUTS, Estimate, Shared, estimate, estimate_of_all
from bertshift.rows.provenance import distinct
from bertshift.verdicts.evidence import Evidence, NotTestableError, Results, labelled

AGREEING = 5  # runs of one number that decide: 2^-5 is the first power below .05
HOLDS, FAILS, UNDECIDED, UNTESTED = "holds", "fails", "undecided", "not testable at this scale"
# The paper's side of a claim, and the words for what is measured.
STATED = [
    "paper",
    "figure",
    "claim",
    "id",
    "over",
    "statement",
    "place",
    "strength",
    "published_value",
    "measure",
]
COLUMNS = [
    *STATED,
    "criterion_low",
    "criterion_high",
    "ours",
    "low",
    "high",
    "replicates",
    "verdict",
    "null",
    "probability",
    "reason",
    "scale",
    "checkpoint",
]
# The meaning of `holds` beside models made by noise.
TOO, BEYOND = "for noise of this size too", "beyond matched noise"


def has_width(ours: Estimate) -> bool:
    """Test whether an interval is wider than the digits of a table."""
    return bool(ours.error > statistics.EQUAL)


# Of a number that is one of a claim's `shares_of`.
PLAIN = {"bounds": ranges.ANY, "inputs": True, "shares_of": {}}


@dataclass(frozen=True)
class Claim:
    """A claim, decided by `value(evidence)` of one replicate, a number that cannot leave `bounds`.
    It holds where low <= value <= high (strictly if `strict`)."""

    id: str
    item: str
    value: Callable[[Evidence], float]
    measure: str
    low: float = -np.inf
    high: float = np.inf
    bounds: ranges.Range = ranges.ANY
    strict: bool = True
    across: bool = False  # the value is taken once, over all replicates: it says how they differ
    # a number over all replicates that is the same whatever these are, as of one classifier
    shared: bool = False
    # not so of a value that jumps, or is compared with one that is not known without each block
    inputs: bool = True
    # what the value has shares of, by name: of a number whose interval has 0 nothing is a share
    shares_of: Mapping[str, Callable[[Evidence], float]] = field(default_factory=dict)
    case: str = ""
    # the same number, calculated from the paper's own figure
    published: Callable[[Mapping], str] | None = None

    def holds(self, value: float) -> bool:
        """Test whether the claim holds of one value; False for NaN, which means that there is no
        such layer."""
        if self.strict:
            return bool(self.low < value < self.high)
        # A value that equals a bound may miss it by rounding alone.
        return bool(self.low - statistics.EQUAL <= value <= self.high + statistics.EQUAL)

    def decided(self, ours: Estimate, runs: int) -> str:
        """Decide by the whole interval; where it has no width, by the mean of at least AGREEING
        `runs`."""
        if not has_width(ours):
            if runs < AGREEING:
                return UNDECIDED
            return HOLDS if self.holds(ours.mean) else FAILS
        if self.holds(ours.low) and self.holds(ours.high):
            return HOLDS
        return FAILS if ours.high < self.low or ours.low > self.high else UNDECIDED

    def probability(self, ours: Estimate, runs: int) -> float:
        """Calculate the probability that the claim holds; NaN without an interval."""
        if np.isnan(ours.error) or has_width(ours):
            return ours.probability(self.low, self.high)
        by_chance = 0.5 ** max(runs, 1)
        return 1 - by_chance if self.holds(ours.mean) else by_chance

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
    """One case of a claim: the words that its number takes, such as a task, and its own range
    where that is another than the claim's."""

    words: tuple[str, ...]
    criterion: Mapping

    @property
    def name(self) -> str:
        return ", ".join(self.words)


def case(*words: str, **criterion) -> Case:
    return Case(words, criterion)


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
        **criterion,
    ) -> None:
        """Register that claim `id` on figure `item` is decided by `number`, called `measure`, once
        for each case.

        `number` takes the evidence, or what `of` reads from it, then the words of the case. A text
        is a case of one word. `of` takes the words too, and so do `printed` and `published`, which
        take the paper's file in place of the evidence. The paper's number is that of the same
        function on what `printed` reads, in this `form`, or the text that `published` gives.
        Without either it is what the file says under the claim's `published`, for all cases or by
        case.
        """

        def our_number(evidence, words):
            data = of(evidence, *words) if of else evidence
            return number(data, *words)

        def papers_number(facts, words):
            if published:
                return published(facts, *words)
            return form.format(number(printed(facts, *words), *words))

        for entry in cases:
            if not isinstance(entry, Case):
                entry = case(entry)
            text = partial(papers_number, words=entry.words) if printed or published else None
            claim = Claim(
                id,
                item,
                partial(our_number, words=entry.words),
                measure,
                case=entry.name,
                published=text,
                **(criterion | entry.criterion),
            )
            self.all.append(claim)

    def decide(
        self, item: str, tables: Mapping[str, pd.DataFrame], published: Mapping
    ) -> pd.DataFrame:
        """Decide each claim on figure `item` from its tables and the paper's published file, a row
        (COLUMNS) a claim.

        The rows have the order of the paper's file. The papers speak of BERT, or of the `families`
        that the claim's entry there names: where our models are of another, the reason says so.
        """
        results = Results(labelled(nulls.without_nulls(tables)))
        noise = {}
        for null in nulls.NULLS:
            if noise_tables := nulls.standing_in(tables, null):
                noise[null] = Results(labelled(noise_tables))
        order = list(published["claims"])
        claims = [claim for claim in self.all if claim.item == item]
        claims.sort(key=lambda claim: order.index(claim.id))
        rows = []
        for claim in claims:
            row = _decide(claim, results, published) | {"null": ""}
            if row["verdict"] == HOLDS:
                numbers = _numbers_of_noise(claim, noise)
                row["null"] = _compare_with_noise(claim, results, noise, numbers)
                row["reason"] += _describe_noise(numbers)
            rows.append(row)
        origin = {column: distinct(results.table[column]) for column in ("scale", "checkpoint")}
        return pd.DataFrame(rows, columns=COLUMNS).assign(paper=self.paper, **origin)


class Number(NamedTuple):
    """A claim's number, and the names of the models that it was read from."""

    value: float
    models: set[str]


class Replicate(NamedTuple):
    """A claim's number on one replicate, and the same without each block of inputs."""

    value: float
    left_out: list[float]

    def __sub__(self, other: "Replicate") -> "Replicate":
        pairs = zip(self.left_out, other.left_out)  # as many blocks as both have
        return Replicate(self.value - other.value, [value - null for value, null in pairs])


class Measured(NamedTuple):
    """A claim's number on every replicate, their mean with its interval (None where a number is
    NaN), and the numbers of independent runs and of replicates that it was read from."""

    values: list[float]
    estimate: Estimate | None
    runs: int
    replicates: int


def _decide(claim: Claim, results: Results, published: Mapping) -> dict:
    facts = published["claims"][claim.id]
    row = {
        "figure": claim.item,
        "claim": claim.name,
        "id": claim.id,
        "over": facts.get("over", "all"),
        "statement": facts["statement"],
        "place": facts["place"],
        "strength": facts["strength"],
        "published_value": _published_value(claim, facts, published),
        "measure": claim.criterion,
        "criterion_low": claim.low if np.isfinite(claim.low) else np.nan,
        "criterion_high": claim.high if np.isfinite(claim.high) else np.nan,
        "ours": np.nan,
        "low": np.nan,
        "high": np.nan,
        "probability": np.nan,
        "replicates": 0,
    }
    try:
        measured = _measure(claim, results)
    except NotTestableError as error:
        return row | {"verdict": UNTESTED, "reason": f"{error}."}
    values, ours, runs, replicates = measured
    row |= {"ours": float(np.mean(values)), "replicates": replicates}
    if ours is not None:
        row |= {"low": float(ours.low), "high": float(ours.high)}
        row["probability"] = claim.probability(ours, runs)
    verdict, reason = _verdict(claim, measured)
    evidence = _collect_evidence(claim, results)
    sentences = [
        *_describe_families(evidence, facts.get("families", [BERT])),
        reason,
        *evidence.layers_here(),
        *_describe_failures(evidence),
    ]
    return row | {"verdict": verdict, "reason": " ".join(sentences)}


def _verdict(claim: Claim, measured: Measured) -> tuple[str, str]:
    values, ours, runs, _ = measured
    holding = [claim.holds(value) for value in values]
    if claim.across:
        sentences = ["One number, over all replicates."]
    elif len(values) < 2:
        return UNTESTED, "one replicate only; at least two are needed."
    else:
        sentences = [f"In {sum(holding)} of {len(values)} replicates by itself."]
    if ours is None:  # some value is NaN
        verdict = FAILS if runs >= AGREEING and not any(holding) else UNDECIDED
        return verdict, f"Some replicate has no such layer. {sentences[0]}"
    # Over all of fewer than three runs, and not known without each block of inputs.
    if np.isnan(ours.error):
        return UNDECIDED, f"{sentences[0]} It has no interval."
    if claim.across and ours.interval == INPUTS:
        sentences.append(
            "Its interval is over inputs alone: fewer than three replicates do not say how much"
            " it varies."
        )
    # Pairs of runs are more than their runs.
    if runs == len(values) and statistics.is_far_off(values):
        sentences.append("One replicate lies far from the others.")
    if runs > 1 and not has_width(ours):
        sentences.append(f"{runs} runs have the same number; {AGREEING} or more decide.")
    verdict = claim.decided(ours, runs)
    if verdict == UNDECIDED:
        sentences.insert(0, _describe_leaning(claim.probability(ours, runs)))
    return verdict, " ".join(sentences)


def _describe_leaning(probability: float) -> str:
    """Say to which verdict an undecided claim leans that holds with this probability."""
    side = HOLDS if probability > 0.5 else FAILS
    share = max(probability, 1 - probability)
    if round(share, 2) > 0.5:
        return f"Leans to {side}, with probability {share:.2f}."
    return "Leans to neither side."


def _compare_with_noise(
    claim: Claim, results: Results, noise: Mapping[str, Results], numbers: Mapping[str, float]
) -> str:
    """Say of a claim that holds whether its number lies beyond that of noise which changes the
    last layer as much, or else whether it holds for noise of the size of the change too."""
    return TOO if nulls.NOISE in numbers and claim.holds(numbers[nulls.NOISE]) else ""


def _numbers_of_noise(claim: Claim, noise: Mapping[str, Results]) -> dict[str, float]:
    """Compute the claim's number for each kind of noise that has one."""
    numbers = {}
    for null, results in noise.items():
        with suppress(NotTestableError):
            number = _compute(claim, results).value
            if np.isfinite(number):
                numbers[null] = number
    return numbers


def _describe_noise(numbers: Mapping[str, float]) -> str:
    """Write a sentence on the claim's numbers for noise."""
    words = {nulls.NOISE: "noise of this size", nulls.SHUFFLED: "shuffled labels"}
    parts = [f"{words[null]} has {number:.3g}" for null, number in numbers.items()]
    return f" Beside it, {' and '.join(parts)}." if parts else ""


def _is_beyond(claim: Claim, results: Results, matched: Results) -> bool:
    """Test whether the claim's number is farther within its range than that of matched noise: by
    the whole interval of their difference over replicates. Only a range with one end says which
    way is farther."""
    if claim.across or np.isfinite(claim.low) == np.isfinite(claim.high):
        return False
    ours, theirs = _replicates(claim, results), _replicates(claim, matched)
    shared = [name for name in ours if name in theirs]
    if len(shared) < 2:
        return False
    differences = [ours[name] - theirs[name] for name in shared]
    values = [difference.value for difference in differences]
    if not np.isfinite(values).all():  # noise has no such layer
        return False
    mean = estimate(values, shared, _blocks_of(differences))
    if not has_width(mean):
        return False
    return bool(mean.low > 0 if np.isfinite(claim.low) else mean.high < 0)


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


def _published_value(claim: Claim, facts: Mapping, published: Mapping) -> str:
    if claim.published:
        return claim.published(published)
    value = facts.get("published", "")
    if isinstance(value, Mapping):
        value = value.get(claim.case, "")
    return str(value)


def _measure(claim: Claim, results: Results) -> Measured:
    """Measure the claim's number on every replicate that has all it needs. NotTestableError if no
    replicate has what it needs, or what the number has shares of may be 0."""
    for name, whole in claim.shares_of.items():
        _check_above_zero(replace(claim, value=whole, **PLAIN), name, results)
    if claim.across:
        return _measure_over_all(claim, results)
    replicates = _replicates(claim, results)
    names = list(replicates)
    runs = len(set(re.findall(r"\d+", " ".join(names))))
    values = [replicate.value for replicate in replicates.values()]
    if np.isnan(values).any():
        return Measured(values, None, runs, len(values))
    blocks = _blocks_of(replicates.values())
    shared = _noise_of_baselines(claim, results, replicates)
    mean = estimate(values, names, blocks, claim.bounds, shared=shared)
    return Measured(values, mean, runs, len(values))


def _check_above_zero(claim: Claim, name: str, results: Results) -> None:
    """Raise NotTestableError, which calls the claim's number `name`, where its interval has 0."""
    mean = _measure(claim, results).estimate
    if mean is None or not mean.low > 0:
        raise NotTestableError(f"{name} has an interval with 0, and nothing is a share of that")


def _noise_of_baselines(
    claim: Claim, results: Results, replicates: Mapping[str, Replicate]
) -> Shared | None:
    """Estimate the variance that the mean over seeds has by the noise of the baselines, which they
    share: the square of its change by one standard error of these. Pretraining runs have baselines
    of their own, and their spread shows it."""
    lower = results.with_lower_baselines
    if lower is None or not all(name.startswith("seed") for name in replicates):
        return None
    shifted = _replicates(claim, lower)
    changes = [shifted[name].value - replicates[name].value for name in replicates]
    freedom = results.table["baseline_n"].min() - 1
    return Shared(float(np.mean(changes)) ** 2, max(1, int(freedom)))


def _blocks_of(replicates: Collection[Replicate]) -> np.ndarray | None:
    """Stack the values without each block, [replicates, blocks], of the blocks that all replicates
    have; None where these are fewer than two."""
    blocks = min(len(replicate.left_out) for replicate in replicates)
    if blocks < 2:
        return None
    return np.array([replicate.left_out[:blocks] for replicate in replicates])


def _replicates(claim: Claim, results: Results) -> dict[str, Replicate]:
    """Collect the claim's number by replicate, with the same without each block of inputs.

    Replicates are pretraining runs. If only one has what the claim needs, they are the fine-tuning
    seeds (or pairs of seeds that are compared) on it; a pretrained model's rows (seed 0) belong to
    every seed, but do not by themselves make replicates.
    """
    parts = results.pretraining_runs
    numbers = _compute_by_part(claim, parts)
    if len(numbers) == 1:
        [(init, number)] = numbers.items()
        seeds = parts[init].seeds
        seeds = {name: part for name, part in seeds.items() if part.has_seed_of(number.models)}
        if len(seeds) > 1:
            parts, numbers = seeds, _compute_by_part(claim, seeds)
    replicates = {}
    for name, (value, models) in numbers.items():
        left_out = _values_without_blocks(claim, parts[name], models) if np.isfinite(value) else []
        replicates[str(name)] = Replicate(value, left_out)
    return replicates


def _measure_over_all(claim: Claim, results: Results) -> Measured:
    """Measure a number that is calculated once, over all replicates. Its interval is from its
    values without each pretraining run, or without each seed of a single one."""
    number = _compute(claim, results)
    rows = _rows_read(claim, results, number.models)
    kind = "init" if rows["init"].nunique() > 1 else "seed"
    runs = [] if claim.shared else [run for (run,) in _runs_in(rows, kind)]
    replicates = _runs_in(rows, "init", "seed") or _runs_in(rows, "init")
    counts = len(runs), len(replicates)
    if np.isnan(number.value):
        return Measured([number.value], None, *counts)
    without_run = _values_without_runs(claim, results, kind, runs) if len(runs) > 2 else []
    left_out = _values_without_blocks(claim, results, number.models)
    mean = estimate_of_all(number.value, without_run, left_out, claim.bounds)
    return Measured([number.value], mean, *counts)


def _rows_read(claim: Claim, results: Results, models: set[str]) -> pd.DataFrame:
    """Select the rows of these models that a number over all replicates can be read from: of runs
    that did not fail to train, and of pretraining runs that have it, if any has it alone."""
    rows = results.trained_rows
    rows = rows[rows["name"].isin(models)]
    with suppress(NotTestableError):  # it is about how pretraining runs differ
        numbers = _compute_by_part(claim, results.pretraining_runs)
        rows = rows[rows["init"].isin([*numbers])]
    return rows


def _runs_in(table: pd.DataFrame, *kinds: str) -> list[tuple[int, ...]]:
    """List the runs of a table, by their numbers of these `kinds` (`init`, `seed`), of either side
    of a pair. A pretrained model has no seed (0), and is none of them where seeds are asked for.
    """
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


def _values_without_blocks(claim: Claim, results: Results, models: set[str]) -> list[float]:
    """Compute the claim's number without each block of inputs; empty where it cannot be
    computed."""
    if not claim.inputs:
        return []
    try:
        values = [_compute(claim, part).value for part in results.without_blocks(models)]
    except NotTestableError:
        return []
    return values if np.isfinite(values).all() else []


def _compute(claim: Claim, results: Results) -> Number:
    """Compute the claim's number."""
    evidence = Evidence(results)
    return Number(float(claim.value(evidence)), evidence.read)


def _compute_by_part(claim: Claim, parts: Mapping[int | str, Results]) -> dict[int | str, Number]:
    """Compute the claim's number on every part of the results that has one. Raise NotTestableError
    if none has."""
    numbers, errors = {}, []
    for name, results in parts.items():
        try:
            numbers[name] = _compute(claim, results)
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
