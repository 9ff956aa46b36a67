"""The result of `bertshift.along` and of `bertshift.Watch`: a training, step by step."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from bertshift.api import drawing, page, writing
from bertshift.api.measured import Measurements
from bertshift.api.spelling import spell, with_interval
from bertshift.measures import ANY, Shown
from bertshift.rows import halfway, statistics
from bertshift.rows.blocks import LEVEL
from bertshift.rows.table import Table

LAYER = ["metric", "layer"]
COLUMNS = ["step", "measure", "layer", "value", "low", "high"]
HALVES = ["measure", "layer", "step", "low", "high"]


@dataclass(frozen=True)
class Course:
    """How far a training is from a reference, by step and layer.

    results: the rows of `bertshift.compare` of every checkpoint, with the column `step`; texts:
    their number; left_out: {measure: at which step it could first not be taken, and why}; own:
    {the user's own measure: its title and kind}; duplicates: the steps of checkpoints with equal
    weights; notes: sentences that end the report.
    """

    results: Table = field(repr=False)
    model: str
    reference: str
    texts: int
    left_out: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, Shown] = field(default_factory=dict)
    duplicates: Sequence[Sequence[int]] = ()
    notes: Sequence[str] = ()

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row a step, measure and layer: step, measure, layer, value, low, high.

        value: of the measure's first variant and, of attention, the mean over heads, in the units
        of `bertshift.compare`; low, high: its 95 % interval over texts. Layer 0 is the output of
        the embeddings.
        """
        means = self._measured.averaged(["step", *LAYER])
        return means.rename(columns={"metric": "measure"})[COLUMNS]

    @cached_property
    def halves(self) -> pd.DataFrame:
        """When half of each layer's final change is made: measure, layer, step, low, high.

        The change is the distance from no change, a straight line between two checkpoints; step is
        the first where it is half of that at the last checkpoint, as in the figure beyond/when.
        low, high: its 95 % interval over texts. A layer has no row where the interval of its final
        change has 0. Where the first checkpoint has half already, step is that of the first.
        """
        change = self._change
        final = change.where(change["step"] == self.steps[-1])
        change = change.where(change["metric"].isin(final["metric"]))
        change = change.where(halfway.changes_surely(change, final, LAYER))
        if not len(change):
            return pd.DataFrame(columns=HALVES)
        found = halfway.halves(change, "step", LAYER)
        if not len(found):
            return pd.DataFrame(columns=HALVES)
        means = found.within((self.steps[0], self.steps[-1])).averaged(LAYER)
        return means.rename(columns={"metric": "measure", "value": "step"})[HALVES]

    @property
    def steps(self) -> list[int]:
        return sorted({*map(int, self.results["step"])})

    @cached_property
    def shown(self) -> dict[str, Shown]:
        """The title and kind of each measure that was taken."""
        taken = {*self.results["metric"]}
        return {name: shown for name, shown in self._found.shown.items() if name in taken}

    def by_step(self, measure: str) -> pd.DataFrame:
        """Lay out the values of a measure, [layers, steps]."""
        rows = self.table[self.table["measure"] == measure]
        return rows.pivot(index="layer", columns="step", values="value")

    @property
    def report(self) -> list[str]:
        """What was found, in some sentences, each with its number and interval."""
        return [*_sentences(self)]

    def __str__(self) -> str:
        lines = self.report
        for measure in self.shown:
            values = self.by_step(measure).map(spell).replace("nan", "")
            lines += ["", f"{measure} by layer and step:", values.to_string()]
        return "\n".join(lines)

    def plot(self):
        """Draw each measure's change by layer and step, with the step at half of it: a matplotlib
        Figure. UserError where matplotlib is not installed."""
        return drawing.draw_course(self)

    def write(self, folder: str | Path) -> list[Path]:
        """Write `steps.tsv` (`table`), `halves.tsv`, the picture of `plot`, `steps.png`, and a
        page to explore, `index.html`; return the files. Those whose packages are not installed are
        left out with a warning. UserError where the folder cannot be made."""
        tables = {"steps.tsv": self.table, "halves.tsv": self.halves}
        return writing.write(folder, tables, "steps.png", self.plot, lambda: page.of_course(self))

    @cached_property
    def _found(self) -> Measurements:
        return Measurements(self.results, self.model, self.reference, own=self.own)

    @cached_property
    def _measured(self) -> Table:
        """The rows of first variants, all heads together, as they are shown."""
        measured = self._found.measured
        first = measured["metric"].map(lambda name: self.shown[name].rows["variant"])
        return measured.where((measured["variant"] == first) & (measured["head"] == 0))

    @cached_property
    def _change(self) -> Table:
        """The distances from no change."""
        similarities = [name for name, shown in self.shown.items() if shown.is_similarity]
        is_similarity = self._measured["metric"].isin(similarities)
        numbers = self._measured.numbers
        numbers.loc[is_similarity] = 1 - numbers.loc[is_similarity]
        return self._measured.with_numbers(numbers).within(ANY)


def _sentences(course: Course) -> Iterator[str]:
    steps = course.steps
    yield (
        f"{course.model} is compared with {course.reference} at {len(steps)} steps, from"
        f" {steps[0]} to {steps[-1]}, on {course.texts} texts."
    )
    for measure, shown in course.shown.items():
        yield from _describe_end(course, measure, shown)
    for equal in course.duplicates:
        yield f"The weights are the same at steps {', '.join(map(str, equal))}."
    if course.table["low"].notna().any():
        yield (
            f"Intervals are of {100 * LEVEL:.0f} %, over texts; they say nothing of other seeds,"
            " nor of steps between checkpoints."
        )
    for measure, reason in course.left_out.items():
        yield f"{measure} is left out: {reason}"
    yield from course.notes


def _describe_end(course: Course, measure: str, shown: Shown) -> Iterator[str]:
    """Say which layer changed most by the last step, if it has the measure, and when half of that
    was made."""
    table, last = course.table, course.steps[-1]
    rows = table[(table["measure"] == measure) & (table["step"] == last)].set_index("layer")
    if rows.empty:
        return
    is_similarity = shown.is_similarity
    change = 1 - rows["value"] if is_similarity else rows["value"]
    if change.max() <= statistics.EQUAL:
        yield f"At step {last} {measure} differs in no layer."
        return
    top = change.idxmax()
    yield (
        f"At step {last} {measure} has changed most in layer {top}:"
        f" {with_interval(rows.loc[top], 'value')}, where {int(is_similarity)} is no change."
    )
    yield _describe_halves(course, measure)


def _describe_halves(course: Course, measure: str) -> str:
    """Say between which steps half of the final change is made, from the earliest layer to the
    latest."""
    halves = course.halves[course.halves["measure"] == measure].set_index("layer")
    if halves.empty:
        return f"By {measure} no layer has surely changed at the end, so nothing is half of it."
    ends = dict.fromkeys((halves["step"].idxmin(), halves["step"].idxmax()))
    places = [f"{with_interval(halves.loc[layer], 'step')} (layer {layer})" for layer in ends]
    where = f"between steps {' and '.join(places)}" if len(ends) > 1 else f"at step {places[0]}"
    sentence = f"Half of the final change by {measure} is made {where}"
    if halves["step"].min() == course.steps[0]:
        sentence += "; the first checkpoint has half already, so it may have come earlier"
    return f"{sentence}."
