"""From a claim and the tables of its figure to a verdict.

A statement, its place and its strength are facts of a paper and stand in its `published.yaml`
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from bertshift.models.source import BERT, NAMES
from bertshift.rows import nulls, ranges, statistics
from bertshift.rows.estimates import INPUTS, Estimate, estimate, estimate_of_all
from bertshift.rows.provenance import distinct
from bertshift.verdicts.evidence import Evidence, NotTestableError, Results, labelled

AGREEING = 5  # runs of one number that decide: 2^-5 is the first power below .05
HOLDS, FAILS, UNDECIDED, UNTESTED = "holds", "fails", "undecided", "not testable at this scale"
COLUMNS = [
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


@dataclass(frozen=True)
class Claim:
    """A claim, decided by `value(evidence)` of one replicate, a number in a range with these
    `ends`. It holds where low <= value <= high (strictly if `strict`)."""

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
    case: str = ""
    # the same number, calculated from the paper's own figure
    published: Callable[[Mapping], str] | None = None

    def holds(self, value: float) -> bool:
        """Test whether the claim holds of one value; False for NaN, which stands for `there is no
        such layer`."""
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

        def ours(evidence, words):
            return number(of(evidence, *words) if of else evidence, *words)

        def theirs(facts, words):
            if published:
                return published(facts, *words)
            return form.format(number(printed(facts, *words), *words))

        for one in cases:
            own = one if isinstance(one, Case) else case(one)
            value, text = partial(ours, words=own.words), partial(theirs, words=own.words)
            about = {"case": own.name, "published": text if printed or published else None}
            self.all.append(
                Claim(id, item, value, measure, **about, **(criterion | own.criterion))
            )

    def decide(
        self, item: str, tables: Mapping[str, pd.DataFrame], published: Mapping
    ) -> pd.DataFrame:
        """Decide each claim on figure `item` from its tables and the paper's published file, a row
        (COLUMNS) a claim.

        The rows have the order of the paper's file. The papers speak of BERT, or of the `families`
        that the claim's entry there names: of another family there is the number, and no verdict.
        """
        tables = nulls.with_matched(tables)
        results, order = Results(labelled(nulls.without_nulls(tables))), list(published["claims"])
        noise = {
            null: Results(labelled(found))
            for null in (nulls.NOISE, nulls.MATCHED)
            if (found := nulls.standing_in(tables, null))
        }
        about = sorted(
            (one for one in self.all if one.item == item), key=lambda one: order.index(one.id)
        )
        rows = [_decide(one, results, published) for one in about]
        for one, row in zip(about, rows, strict=True):
            row["null"] = ""
            if row["verdict"] == HOLDS:
                numbers = _numbers_of(one, noise)
                row["null"] = _null(one, results, noise, numbers)
                row["reason"] += _in_words(numbers)
        made = {column: distinct(results.table[column]) for column in ("scale", "checkpoint")}
        return pd.DataFrame(rows, columns=COLUMNS).assign(paper=self.paper, **made)


def _decide(one: Claim, results: Results, published: Mapping) -> dict:
    facts, rows, evidence = published["claims"][one.id], results.table, _evidence(one, results)
    row = {
        "figure": one.item,
        "claim": one.name,
        "id": one.id,
        "over": facts.get("over", "all"),
        "statement": facts["statement"],
        "place": facts["place"],
        "strength": facts["strength"],
        "published_value": _published(one, facts, published),
        "measure": one.criterion,
        "ours": np.nan,
        "low": np.nan,
        "high": np.nan,
        "probability": np.nan,
        "replicates": 0,
    }
    try:
        values, ours, runs = _estimate(one, results)
    except NotTestableError as error:
        return row | {"verdict": UNTESTED, "reason": f"{error}."}
    row |= {"ours": float(np.mean(values)), "replicates": len(values)}
    if one.across:
        row["replicates"] = len(_runs_in(rows, "init", "seed")) or len(_runs_in(rows, "init"))
    if ours is not None:
        row |= {"low": float(ours.low), "high": float(ours.high)}
        row["probability"] = one.probability(ours, runs)
    verdict, reason = _verdict(one, values, ours, runs)
    others = _of_others(evidence, facts.get("families", [BERT]))
    sentences = [*others, reason, *evidence.layers_here(), *_left_out(evidence)]
    return row | {"verdict": verdict, "reason": " ".join(sentences)}


def _verdict(
    one: Claim, values: Sequence[float], ours: Estimate | None, runs: int
) -> tuple[str, str]:
    alone = [one.holds(value) for value in values]
    by_itself = f"In {sum(alone)} of {len(values)} replicates by itself."
    said = "One number, over all replicates." if one.across else by_itself
    if not one.across and len(values) < 2:
        return UNTESTED, "one replicate only; at least two are needed."
    if ours is None:  # some value stands for `there is no such layer`
        fails = not any(alone) and runs >= AGREEING
        return FAILS if fails else UNDECIDED, f"Some replicate has no such layer. {said}"
    # Over all of fewer than three runs, and not known without each block of inputs.
    if np.isnan(ours.error):
        return UNDECIDED, f"{said} It has no interval."
    if one.across and ours.interval == INPUTS:
        said += (
            " Its interval is over inputs alone: fewer than three replicates do not say how much"
            " it varies."
        )
    # Pairs of runs are more than their runs.
    if runs == len(values) and statistics.is_far_off(values):
        said += " One replicate lies far from the others."
    if not has_width(ours):
        said += (
            f" {runs} runs have the same number; {AGREEING} or more decide." if runs > 1 else ""
        )
    verdict = one.decided(ours, runs)
    if verdict == UNDECIDED:
        holds = one.probability(ours, runs)
        side, share = (HOLDS, holds) if holds > 0.5 else (FAILS, 1 - holds)
        leans = (
            f"to {side}, with probability {share:.2f}"
            if round(share, 2) > 0.5
            else "to neither side"
        )
        said = f"Leans {leans}. {said}"
    return verdict, said


def _null(
    one: Claim, results: Results, noise: Mapping[str, Results], numbers: Mapping[str, float]
) -> str:
    """Say of a claim that holds whether its number lies beyond that of noise which changes the
    last layer as much, or else whether it holds for noise of the size of the change too."""
    with suppress(NotTestableError):
        if nulls.MATCHED in noise and _beyond(one, results, noise[nulls.MATCHED]):
            return BEYOND
    return TOO if nulls.NOISE in numbers and one.holds(numbers[nulls.NOISE]) else ""


def _numbers_of(one: Claim, noise: Mapping[str, Results]) -> dict[str, float]:
    """Compute the claim's number for each kind of noise that has one."""
    numbers = {}
    for null, results in noise.items():
        with suppress(NotTestableError):
            numbers[null] = _value(one, results)[0]
    return numbers


def _in_words(numbers: Mapping[str, float]) -> str:
    """Write a sentence on the claim's numbers for noise."""
    words = {nulls.NOISE: "noise of this size", nulls.MATCHED: "matched noise"}
    each = [f"{words[null]} has {number:.3g}" for null, number in numbers.items()]
    return f" Beside it, {' and '.join(each)}." if each else ""


def _beyond(one: Claim, results: Results, matched: Results) -> bool:
    """Test whether the claim's number is farther within its range than that of matched noise: by
    the whole interval of their difference over replicates. Only a range with one end says which
    way is farther."""
    if one.across or np.isfinite(one.low) == np.isfinite(one.high):
        return False
    ours, theirs = _replicates(one, results), _replicates(one, matched)
    shared = [name for name in ours if name in theirs]
    if len(shared) < 2:
        return False
    sides = [[found[name] for name in shared] for found in (ours, theirs)]
    values, others = ([value for value, _ in side] for side in sides)
    left_out, left_out_too = ([left for _, left in side] for side in sides)
    known = min(map(len, left_out + left_out_too))
    blocks = (np.array([left[:known] for left in side]) for side in (left_out, left_out_too))
    found = estimate(
        np.subtract(values, others), shared, np.subtract(*blocks) if known > 1 else None
    )
    return has_width(found) and bool(found.low > 0 if np.isfinite(one.low) else found.high < 0)


def _of_others(evidence: Evidence, families: Sequence[str]) -> list[str]:
    """Say that the evidence is of models of other families than the paper's, where it is."""
    models = evidence.results.models
    found = {one for name in evidence.read for one in models[name]["family"].dropna().unique()} - {
        *families
    }
    paper, ours = (
        " and ".join(NAMES.get(one, one) for one in some) for some in (families, sorted(found))
    )
    return [f"The paper speaks of {paper}; this is {ours}."] if found else []


def _published(one: Claim, facts: Mapping, published: Mapping) -> str:
    if one.published:
        return one.published(published)
    value = facts.get("published", "")
    return str(value.get(one.case, "") if isinstance(value, Mapping) else value)


def _estimate(one: Claim, results: Results) -> tuple[list[float], Estimate | None, int]:
    """Collect the claim's number for every replicate that has all it needs, their mean with its
    interval (None where a value is NaN), and the number of independent runs. NotTestableError if
    no replicate has what it needs.
    """
    if one.across:
        value, read = _value(one, results)
        return [value], *_of_all(one, results, value, read)
    replicates = _replicates(one, results)
    names = list(replicates)
    runs = len(set(re.findall(r"\d+", " ".join(names))))
    values, left_out = map(list, zip(*replicates.values()))
    if np.isnan(values).any():
        return values, None, runs
    known = min(map(len, left_out))
    blocks = np.array([left[:known] for left in left_out]) if known > 1 else None
    return values, estimate(values, names, blocks, one.bounds), runs


def _replicates(one: Claim, results: Results) -> dict[str, tuple[float, list[float]]]:
    """Collect the claim's number by replicate, with the same without each block of inputs.

    Replicates are pretraining runs. If only one has what the claim needs, they are the fine-tuning
    seeds (or pairs of seeds that are compared) on it; a pretrained model's rows (seed 0) belong to
    every seed, but do not by themselves make replicates.
    """
    replicates, parts = _by_replicate(one, results.pretraining_runs), results.pretraining_runs
    if len(replicates) == 1:
        [(init, (_, read))] = replicates.items()
        seeds = results.pretraining_runs[init].seeds
        single = {seed: part for seed, part in seeds.items() if part.has_seed_of(read)}
        if len(single) > 1:
            replicates, parts = _by_replicate(one, single), single
    return {
        str(name): (value, _without_blocks(one, parts[name], read) if np.isfinite(value) else [])
        for name, (value, read) in replicates.items()
    }


def _of_all(
    one: Claim, results: Results, value: float, read: set[str]
) -> tuple[Estimate | None, int]:
    """Estimate a number that is calculated over all replicates, from its values without each
    pretraining run, or without each seed of a single one. Return the number of these runs too.

    A run that is left out takes with it every pair of runs that it is one side of.
    """
    kind = "init" if len(results.pretraining_runs) > 1 else "seed"
    table, sides = results.table, [kind, f"ref_{kind}"]
    runs = [] if one.shared else [number for (number,) in _runs_in(table, kind)]
    if np.isnan(value):
        return None, len(runs)
    without = []
    for run in runs if len(runs) > 2 else ():
        concerned = table.reindex(columns=sides).eq(run).any(axis=1)
        with suppress(NotTestableError):
            without.append(_value(one, results.part(table[~concerned]))[0])
    whole = without if len(without) == len(runs) else []
    return estimate_of_all(
        value, whole, _without_blocks(one, results, read) or None, one.bounds
    ), len(runs)


def _runs_in(table: pd.DataFrame, *kinds: str) -> list[tuple[int, ...]]:
    """List the runs of a table, by their numbers of these `kinds` (`init`, `seed`), of either side
    of a pair. A pretrained model has no seed (0), and is none of them where seeds are asked for.
    """
    sides = [table.reindex(columns=[f"{side}{kind}" for kind in kinds]) for side in ("", "ref_")]
    numbers = np.concatenate([side.fillna(0).to_numpy(int) for side in sides])
    return [tuple(map(int, run)) for run in np.unique(numbers, axis=0) if run.all()]


def _without_blocks(one: Claim, results: Results, read: set[str]) -> list[float]:
    """Compute the claim's number without each block of inputs; empty where that cannot be told."""
    if not one.inputs:
        return []
    try:
        found = [_value(one, part)[0] for part in results.without_blocks(read)]
    except NotTestableError:
        return []
    return found if np.isfinite(found).all() else []


def _value(one: Claim, results: Results) -> tuple[float, set[str]]:
    """Compute the claim's number, and name the models that it was read from."""
    evidence = Evidence(results)
    return float(one.value(evidence)), evidence.read


def _left_out(evidence: Evidence) -> Iterator[str]:
    """Say in a sentence how many runs, or pairs of fine-tuned ones, the claim does without."""
    # 0 is what it was fine-tuned from.
    pairs = sum(ref_seed > 0 for *_, ref_seed in evidence.failed)
    counts = {
        "{} that failed to train": len(evidence.failed) - pairs,
        f"{{}} pair{'s' * (pairs > 1)} of which one or both failed to train": pairs,
    }
    words = " and ".join(text.format(count) for text, count in counts.items() if count)
    if words:
        yield f"Without {words}."


def _evidence(one: Claim, results: Results) -> Evidence:
    """Collect all that the claim asks for."""
    evidence = Evidence(results)
    with suppress(NotTestableError):  # all replicates together may lack what each of them has
        one.value(evidence)
    return evidence


def _by_replicate(
    one: Claim, replicates: Mapping[int | str, Results]
) -> dict[int | str, tuple[float, set[str]]]:
    """Compute the number of every replicate that has one, and name the models that it was read
    from. Raise NotTestableError if none has."""
    found, missing = {}, []
    for number, results in replicates.items():
        try:
            found[number] = _value(one, results)
        except NotTestableError as error:
            missing.append(error)
    if not found:
        raise missing[0]
    return found
