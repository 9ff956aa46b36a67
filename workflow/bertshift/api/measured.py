"""The numbers of two models, as `bertshift.compare` measures them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from bertshift.api.answers import Answers
from bertshift.api.measures import CHOICES
from bertshift.errors import UserError
from bertshift.measures import ANY, CORRELATION, Shown
from bertshift.metrics import reordered, text_change
from bertshift.metrics.text_change import TextChanges
from bertshift.naming import noise_of, seed_and_draw
from bertshift.rows import ranges, statistics
from bertshift.rows.design import Study
from bertshift.rows.table import Table

# Columns of `table` by the ending of the variant whose values they have.
BESIDE = {"null": "_null", "made": "_made", "arrived": "_arrived"}
ENDINGS = tuple(BESIDE.values())
BY = ["metric", "variant", "layer", "head"]
COLUMNS = ["measure", "variant", "layer", "head", "value", "low", "high", *BESIDE]
NOISE = ["noise", "noise_low", "noise_high"]
COUNTS = ["replicates", "texts", "replicates_of_both", "texts_of_both"]
DESIGN = ["measure", "layer", "half_width", "wanted", *COUNTS]
TESTS = ["measure", "null", "draws", "layer", "p"]


@dataclass(frozen=True)
class Measurements:
    """The differences between a model and its reference, by layer and head.

    results: the table of every replicate and model made by noise, in the columns of the workflow's
    tables, where CKA's values are distances; table: means over replicates; left_out: {measure: why
    it could not be taken}; about: the number of texts, the checkpoints, and the names of both
    sides as given; draws: the number of models made by noise for each replicate, whose rows have
    `noise_of(model)` as `model`; own: {the user's own measure: its title and kind}; in_orders:
    similarities with the texts in other orders (`metrics.reordered.compare`); answers: of both
    models, if they were asked; text_changes: of each text and word.
    """

    results: Table = field(repr=False)
    model: str
    reference: str
    about: Mapping = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    draws: int = 0
    own: Mapping[str, Shown] = field(default_factory=dict)
    in_orders: pd.DataFrame = field(default_factory=reordered.no_rows, repr=False)
    answers: Answers = field(default_factory=Answers, repr=False)
    text_changes: TextChanges = field(default_factory=TextChanges, repr=False)

    @property
    def behaviour(self) -> pd.DataFrame:
        """How differently both models answer: measure, value, low, high, n (docs/methods.md); no
        rows where they have no head in common, which `answers.reason` explains.

        value: the mean over replicates; low, high: its 95 % interval over texts and, where there
        are several, replicates; n: the texts, tokens or characters that it is a mean over.
        """
        return self.answers.table

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row a measure, variant, layer and head: measure, variant, layer, head, value, low,
        high, null, made, arrived.

        value: the mean over replicates; low, high: its 95 % interval over texts and, where there
        are several, replicates; null: the value of unrelated models, where it is known. Layer 0 is
        the output of the embeddings; head 0 is the mean over heads, and the only one of hidden
        states. Units: rsa -1 to 1, cka at most 1, cosine 0 to 1, all 1 where nothing changed;
        svcca 0 to 1, js 0 to ln 2 nats (or 1 bit), both 0 where nothing changed. made and arrived,
        of rsa and cka alone, are the same measure of the output of the model's layer on the
        reference's input, and of the reference's layer on the model's input. With draws of
        noise there are noise, noise_low and noise_high too: the mean, the smallest and the largest
        draw, each a mean over replicates.
        """
        means = self.measured.averaged(BY)
        table = means[~means["variant"].str.endswith(ENDINGS)]
        for column, ending in BESIDE.items():
            rows = means[means["variant"].str.endswith(ending)]
            rows = rows.assign(variant=rows["variant"].str.removesuffix(ending))
            table = table.join(rows.set_index(BY)["value"].rename(column), on=BY)
        columns = COLUMNS
        if self.draws:
            table = table.join(self._summarise_noise(), on=BY)
            columns = [*COLUMNS, *NOISE]
        return table.rename(columns={"metric": "measure"})[columns].reset_index(drop=True)

    @property
    def shown(self) -> dict[str, Shown]:
        """The title and kind of each measure, also of those that were not taken."""
        return {name: measure.shown for name, measure in CHOICES.items()} | dict(self.own)

    @property
    def rows(self) -> pd.DataFrame:
        """The rows of `results`."""
        return self.results.rows

    @cached_property
    def measured(self) -> Table:
        """The table of the model itself, without models made by noise."""
        return _as_shown(self.results.where(self.results["model"] == self.model))

    def _summarise_noise(self) -> pd.DataFrame:
        """Calculate the mean, the smallest and the largest draw, by BY."""
        return self._draws.groupby(BY)["value"].agg(["mean", "min", "max"]).set_axis(NOISE, axis=1)

    @cached_property
    def _draws(self) -> pd.DataFrame:
        """The means over replicates of each draw of noise, by BY and `draw`."""
        return self._number_noise().averaged([*BY, "draw"])

    def _number_noise(self) -> Table:
        """Take the rows of models made by noise, with `seed` of the replicate and `draw`."""
        noise = self.results.where(self.results["model"] == noise_of(self.model))
        numbers = [seed_and_draw(number, self.draws) for number in noise["seed"]]
        seeds, draws = zip(*numbers, strict=True)
        return _as_shown(noise.assign(seed=seeds, draw=draws))

    @cached_property
    def profile(self) -> pd.DataFrame:
        """The change of each layer by each measure, as a share of the layer that changed most:
        [measures, layers]."""
        shares = {}
        for name in self.shown:
            values = self.by_layer(name)["value"]
            if values.empty:
                continue
            change = self._change(name, values)
            shares[name] = change / (change.max() or 1.0)
        return pd.DataFrame(shares).T.rename_axis(index="measure", columns="layer")

    @property
    def differs(self) -> pd.DataFrame:
        """Whether each layer differs by each measure, [measures, layers]."""
        return self.profile > 0

    def by_layer(self, measure: str) -> pd.DataFrame:
        """Select the rows of `table` for a measure's first variant, all heads together, by
        layer."""
        rows = self.table[self._is_of_first(self.table, measure)]
        return rows[rows["head"] == 0].set_index("layer")

    def by_head(self, measure: str) -> pd.DataFrame:
        """Select the rows of `table` for a measure's first variant, of single heads."""
        rows = self.table[self._is_of_first(self.table, measure)]
        return rows[rows["head"] > 0]

    def _of_layers(self, measure: str) -> Table:
        """Take the model's rows of a measure's first variant, all heads together."""
        rows = self.measured.where(self._is_of_first(self.measured.rows, measure))
        return rows.where(rows["head"] == 0)

    def _is_of_first(self, rows: pd.DataFrame, measure: str) -> pd.Series:
        """Mark the rows of a measure's first variant."""
        name = "measure" if "measure" in rows else "metric"
        return (rows[name] == measure) & (rows["variant"] == self.shown[measure].rows["variant"])

    @cached_property
    def excess(self) -> pd.DataFrame:
        """How much more the model changed than each draw of noise: measure, variant, layer, head,
        draw, value, low, high.

        value: the mean difference over replicates, in the measure's unit, above 0 where the model
        changed more; low, high: its 95 % interval over texts and, where there are several,
        replicates. Replicates and texts are paired: each draw was made for one replicate, and
        reads the same texts.
        """
        replicate = [*BY, "init", "seed"]
        own = self.measured.averages(replicate)
        differences = self._number_noise().minus(own, replicate)
        is_similarity = {name: shown.is_similarity for name, shown in self.shown.items()}
        sign = differences["metric"].map(is_similarity).map({True: 1, False: -1})
        more = differences.with_numbers(differences.numbers.mul(sign, axis=0))
        is_beside = more["variant"].str.endswith(ENDINGS)
        means = more.where(~is_beside).averaged([*BY, "draw"])
        columns = [*BY, "draw", "value", "low", "high"]
        return means[columns].rename(columns={"metric": "measure"})

    def beyond_noise(self, measure: str) -> list[int]:
        """List the layers that changed more by a measure, all heads together, than every draw of
        noise: those where the interval of each difference (`excess`) lies above 0, and whose
        change is larger than the largest over layers of each draw (`tests`).

        Differences by rounding do not count, as where nothing changed, and none without an
        interval.
        """
        rows = self.excess[self._is_of_first(self.excess, measure)]
        rows = rows[rows["head"] == 0]
        is_more = (rows["low"] > statistics.EQUAL).groupby(rows["layer"]).all()
        return sorted({*is_more.index[is_more]} & {*self.exceeding(measure)})

    @cached_property
    def tests(self) -> pd.DataFrame:
        """Test each measure's profile against the null: measure, null, draws, layer, p.

        p: of a layer, corrected over all layers by the largest (`statistics.by_largest`), so that
        the smallest p of a measure is one test of its whole profile. With the null "noise", of a
        change as large as by noise of the same size, each layer in units of its mean change in
        the model and all draws; with "texts", of states that are no more alike than with the texts
        in another order, each layer in its standard deviations over all orders. Means over
        replicates are tested, and the texts are taken as they are. No p is below 1 / (draws + 1).
        """
        tests = []
        for null, measure, standardised in self._standardise():
            p = statistics.by_largest(standardised.to_numpy())
            keys = {"measure": measure, "null": null, "draws": len(standardised) - 1}
            tests += [keys | {"layer": layer, "p": one} for layer, one in zip(standardised, p)]
        return pd.DataFrame(tests, columns=TESTS)

    def _standardise(self) -> Iterator[tuple[str, str, pd.DataFrame]]:
        """Yield the null, the measure, and [1 + draws, layers] that `statistics.by_largest` takes.

        Each layer's unit is of the model and all draws alike, so that under the null each of these
        is as likely as the others to be the largest.
        """
        if self.draws:
            for measure in self.profile.index:
                rows = self._draws[self._is_of_first(self._draws, measure)]
                rows = rows[rows["head"] == 0]
                noise = rows.pivot(index="draw", columns="layer", values="value")
                own = self.by_layer(measure)["value"].rename(0)
                values = pd.concat([own.to_frame().T, noise]).dropna(axis="columns")
                changes = self._change(measure, values)
                yield "noise", measure, changes / changes.mean().replace(0, 1)
        for measure, rows in self.in_orders.groupby("metric", sort=False):
            values = rows.pivot_table(index="order", columns="layer", values="value")
            values = values.dropna(axis="columns")
            yield "texts", measure, (values - values.mean()) / values.std().replace(0, 1)

    def _change(self, measure: str, values: pd.Series | pd.DataFrame):
        """Calculate how far values are from that of no change; 0 for what is rounding."""
        changes = (1 - values if self.shown[measure].is_similarity else values).abs()
        return changes.where(changes > statistics.EQUAL, 0.0)

    def exceeding(self, measure: str) -> list[int]:
        """List the layers whose p in `tests` is as small as it can be."""
        tests = self.tests[self.tests["measure"] == measure]
        is_least = tests["p"] <= 1 / (tests["draws"] + 1) + statistics.EQUAL
        return list(tests.loc[is_least, "layer"])

    def design(self, half_width: float | None = None) -> pd.DataFrame:
        """Count the replicates or texts that make each layer's interval as narrow as wanted:
        measure, layer, half_width, wanted, replicates, texts, replicates_of_both, texts_of_both.

        half_width: in the measures' units; half of each interval's own if None. replicates: with
        these texts; texts: with this number of replicates; the last two: with as many texts for
        each replicate as now. A new study is as narrow in at least 80 % of cases (`rows.design`).
        NaN where nobody knows, as of other seeds where there is one, and where a thousand times as
        many are too few. Layers without an interval, or where nothing varies, have no row.
        """
        if half_width is not None and not half_width > 0:
            raise UserError(f"half_width is {half_width}; write a number above 0.")
        answers = [
            self._count_more(measure, layer, study, half_width)
            for measure in self.profile.index
            for layer, study in self._studies(measure)
        ]
        return pd.DataFrame(answers, columns=DESIGN)

    def design_of(self, measure: str, layer: int) -> pd.DataFrame:
        """Return the row of `design` of one layer, if it has one."""
        answers = [
            self._count_more(measure, layer, study, None)
            for studied, study in self._studies(measure)
            if studied == layer
        ]
        return pd.DataFrame(answers, columns=DESIGN)

    def _count_more(
        self, measure: str, layer: int, study: Study, half_width: float | None
    ) -> tuple:
        """Make a row of `design`."""
        row = self.by_layer(measure).loc[layer]
        now = (row["high"] - row["low"]) / 2
        wanted = half_width or now / 2
        # The interval lies on a scale of its own where its range ends.
        linear = wanted / now * study.half_width(study.replicates, study.inputs)
        counts = study.replicates_for(linear), study.inputs_for(linear)
        return measure, layer, now, wanted, *counts, *study.both_for(linear)

    def _studies(self, measure: str) -> Iterator[tuple[int, Study]]:
        """Yield each layer with an interval, and its numbers."""
        rows = self._of_layers(measure)
        numbered = rows.keep(statistics.with_replicates(rows.rows))
        for layer, numbers in numbered.averages(["layer", "replicate"]).groupby(level=0):
            left_out = numbers.drop(columns="value").dropna(axis="columns").to_numpy()
            values = numbers["value"].to_numpy()
            if left_out.shape[1] > 1 and (np.ptp(left_out, axis=1) > statistics.EQUAL).any():
                yield layer, Study(values, left_out, self.about["texts"])

    @cached_property
    def texts(self) -> pd.DataFrame:
        """Each text's change (`metrics.text_change`), the largest in the last layer first:
        position (from 0), layer_0 and so on, and answer, the change of its answer, where answers
        are compared. With draws of noise, noise: their mean in the last layer; with several seeds
        of one reference, seeds: how much two of them differ there, a mean over all such pairs.
        Means over replicates. Empty where `left_out` says why."""
        rows = self.text_changes.texts
        if rows.empty:
            return rows.filter(["position"])
        table = text_change.summarise_texts(rows)
        if self.answers.kind:
            answers = self.answers.texts.groupby("position")["change"].mean()
            table = table.join(answers.rename("answer"), on="position")
        return table

    @cached_property
    def words(self) -> pd.DataFrame:
        """Word types and how much their states change in the last layer, the largest first: word,
        n (texts), value, low, high and, with draws of noise, noise, p, q, and with several seeds
        of one reference, seeds (`text_change.summarise_words`). Means over replicates."""
        rows = self.text_changes.words
        if rows.empty:
            return rows.filter(["word"])
        last = text_change.layers_of(rows)[-1]
        return text_change.summarise_words(rows.assign(value=rows[last]))

    def words_in(self, position: int) -> pd.DataFrame:
        """List the words of a text (`position`, from 0) as they stand there: segment (0 or 1 of a
        pair), written, and the change in each layer, layer_0 and so on. Means over replicates; NaN
        for words without a content token, as of the first token and behind a cut.

        UserError for a text that there is not, or where `left_out` says why there are no words.
        """
        rows = self.text_changes.words
        rows = rows[(rows["position"] == position) & (rows["of"] == text_change.MODEL)]
        if rows.empty:
            raise UserError(
                f"there are no words of a text at position {position}; take one of"
                " change.texts['position']."
            )
        layers = text_change.layers_of(rows)
        means = rows.groupby(["number", "segment", "written"])[layers].mean()
        return means.reset_index().drop(columns="number")

    def most_changed(self, measure: str) -> tuple[int, list[int]]:
        """Find the layer that changed most by a measure, and the layers that are not shown to have
        changed less: those where the interval of the difference of the two reaches 0.

        The difference is paired by texts and replicates. A layer without an interval is not shown
        to have changed less.
        """
        top = int(self.profile.loc[measure].idxmax())
        rows = self._of_layers(measure)
        replicate = ["metric", "init", "seed"]
        differences = rows.minus(rows.where(rows["layer"] == top).averages(replicate), replicate)
        sign = 1 if self.shown[measure].is_similarity else -1
        less = differences.with_numbers(sign * differences.numbers)
        means = less.where(less["layer"] != top).averaged(["layer", "metric"])
        is_less = means["low"] > statistics.EQUAL
        return top, sorted(means.loc[~is_less, "layer"])


def _as_shown(table: Table) -> Table:
    """Convert distances of a similarity (CKA) to similarities, and set the range of each row's
    measure; a user's own has any."""
    names = [name for name, measure in CHOICES.items() if measure.similarity]
    is_distance = table["metric"].isin(names)
    is_own = ~table["metric"].isin(CHOICES)
    bounds = ranges.of(table.rows)
    bounds[is_distance], bounds[is_own] = CORRELATION, ANY
    numbers = table.numbers
    numbers.loc[is_distance] = 1 - numbers.loc[is_distance]
    return table.with_numbers(numbers).within(bounds.T)
