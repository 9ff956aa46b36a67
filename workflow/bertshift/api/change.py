"""The result of `bertshift.compare`."""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from bertshift.api.measures import MEASURES
from bertshift.api.surroundings import ending_cleanly
from bertshift.errors import UserError
from bertshift.files import write_text, write_tsv
from bertshift.measures import ANY, CORRELATION, Shown
from bertshift.naming import noise_of, seed_and_draw
from bertshift.rows import statistics
from bertshift.rows.blocks import LEVEL
from bertshift.rows.table import Table, of_columns

# Columns of `table` by the ending of the variant whose values they have.
BESIDE = {"null": "_null", "made": "_made", "arrived": "_arrived"}
ENDINGS = tuple(BESIDE.values())
BY = ["metric", "variant", "layer", "head"]
COLUMNS = ["measure", "variant", "layer", "head", "value", "low", "high", *BESIDE]
PERCENT = f"{100 * LEVEL:.0f} %"
NOISE = ["noise", "noise_low", "noise_high"]


@dataclass(frozen=True)
class Change:
    """The differences between a model and its reference, by layer and head.

    rows: of every replicate, in the columns of the workflow's tables, where CKA's values are
    distances; table: means over replicates; left_out: {measure: why it could not be taken}; about:
    the number of texts, the checkpoints, and the names of both sides as given; draws: the number
    of models made by noise for each replicate, whose rows have `noise_of(model)` as `model`;
    own: {the user's own measure: its title and kind}.
    """

    rows: pd.DataFrame = field(repr=False)
    model: str
    reference: str
    about: Mapping = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    draws: int = 0
    own: Mapping[str, Shown] = field(default_factory=dict)

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
        means = measured(self.own_rows).averaged(BY)
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
        return {name: measure.shown for name, measure in MEASURES.items()} | dict(self.own)

    @property
    def own_rows(self) -> pd.DataFrame:
        """The rows of the model itself, without those of models made by noise."""
        return self.rows[self.rows["model"] == self.model]

    def _summarise_noise(self) -> pd.DataFrame:
        """Calculate the mean, the smallest and the largest draw, by BY."""
        means = self._number_noise().averaged([*BY, "draw"])
        return means.groupby(BY)["value"].agg(["mean", "min", "max"]).set_axis(NOISE, axis=1)

    def _number_noise(self) -> Table:
        """Take the rows of models made by noise, with `seed` of the replicate and `draw`."""
        rows = self.rows[self.rows["model"] == noise_of(self.model)]
        numbers = [seed_and_draw(number, self.draws) for number in rows["seed"]]
        seeds, draws = zip(*numbers, strict=True)
        return measured(rows.assign(seed=seeds, draw=draws))

    @cached_property
    def profile(self) -> pd.DataFrame:
        """The change of each layer by each measure, as a share of the layer that changed most:
        [measures, layers]."""
        shares = {}
        for name, measure in self.shown.items():
            values = self.by_layer(name)["value"]
            if values.empty:
                continue
            change = (1 - values if measure.is_similarity else values).abs()
            change = change.where(change > statistics.EQUAL, 0.0)
            shares[name] = change / (change.max() or 1.0)
        return pd.DataFrame(shares).T.rename_axis(index="measure", columns="layer")

    def by_layer(self, measure: str) -> pd.DataFrame:
        """Select the rows of `table` for a measure's first variant, all heads together, by
        layer."""
        table, variant = self.table, self.shown[measure].rows["variant"]
        is_measure = (table["measure"] == measure) & (table["variant"] == variant)
        return table[is_measure & (table["head"] == 0)].set_index("layer")

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
        own = measured(self.own_rows).averages(replicate)
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
        noise: those where the interval of each difference (`excess`) lies above 0.

        Differences by rounding do not count, as where nothing changed, and none without an
        interval.
        """
        rows = self._excess_by_layer(measure)
        is_more = (rows["low"] > statistics.EQUAL).groupby(rows["layer"]).all()
        return list(is_more.index[is_more])

    def _excess_by_layer(self, measure: str) -> pd.DataFrame:
        """Select the rows of `excess` for a measure's first variant, all heads together."""
        rows, variant = self.excess, self.shown[measure].rows["variant"]
        is_measure = (rows["measure"] == measure) & (rows["variant"] == variant)
        return rows[is_measure & (rows["head"] == 0)]

    def plot(self):
        """Draw the profile and every measure by layer, with intervals, nulls and draws of noise: a
        matplotlib Figure. UserError where matplotlib is not installed."""
        from bertshift.api.drawing import draw

        return draw(self)

    @ending_cleanly()
    def write(self, folder: str | Path) -> list[Path]:
        """Write the table, the picture of `plot` and a page to explore, `change.tsv`, `change.png`
        and `index.html`.

        Returns the files. Those whose packages are not installed are left out with a warning.
        UserError where the folder cannot be made.
        """
        from bertshift.api import drawing

        folder = folder_at(folder)
        files = [folder / "change.tsv"]
        write_tsv(files[-1], self.table)
        if drawing.has(drawing.PICTURE):
            files.append(folder / "change.png")
            self.plot().savefig(files[-1], dpi=150)
        if drawing.has(drawing.PAGE):
            from bertshift.api.page import page

            files.append(folder / "index.html")
            write_text(files[-1], page(self))
        if missing_files := drawing.left_out():
            warnings.warn(missing_files, stacklevel=3)  # `ending_cleanly` is between
        return files

    def __str__(self) -> str:
        """Format two tables by layer: each measure's values with their share of the largest
        change, and their intervals."""
        values: dict[str, dict] = {}
        intervals: dict[str, dict] = {}
        for measure, shares in self.profile.iterrows():
            rows = self.by_layer(measure)
            values[measure] = {
                layer: f"{_spell(value)} {shares[layer]:4.0%}"
                for layer, value in rows["value"].items()
            }
            ends = rows[["low", "high"]].dropna()
            intervals[measure] = {
                layer: f"{_spell(low)} to {_spell(high)}" for layer, low, high in ends.itertuples()
            }
        lines = [
            (
                f"{self.model} and {self.reference}: each measure by layer, and its share of the"
                " largest change"
            ),
            _lay_out(values),
            *self._describe_intervals(intervals),
            *self._describe_made(),
        ]
        if self.draws:
            lines.append(self._describe_noise())
        for measure, reason in self.left_out.items():
            lines.append(f"{measure} is left out: {reason}")
        return "\n".join(lines)

    def _describe_intervals(self, intervals: dict[str, dict]) -> list[str]:
        """List the lines about intervals: one that counts them, and their table."""
        count = sum(map(len, intervals.values()))
        if not count:
            return ["There is no interval: one text says nothing about others."]
        replicates = self.own_rows[["init", "seed"]].drop_duplicates()
        over = "texts and replicates" if len(replicates) > 1 else "texts"
        misses = count * (1 - LEVEL)
        return [
            (
                f"{count} intervals of {PERCENT} over {over}, of which about {misses:.2g} miss"
                " their value by chance"
            ),
            _lay_out(intervals),
        ]

    def _describe_made(self) -> Iterator[str]:
        """Say of each measure that has it what the last layer makes and what arrives there."""
        for measure in self.profile.index:
            rows = self.by_layer(measure).dropna(subset=["made", "arrived"])
            if len(rows):
                last = rows.iloc[-1]
                yield (
                    f"{measure} in layer {rows.index[-1]} is {_spell(last['value'])}: by this"
                    f" layer's weights alone {_spell(last['made'])} (made), by its input alone"
                    f" {_spell(last['arrived'])} (arrived)."
                )

    def _describe_noise(self) -> str:
        """Name the layers that changed more than by noise, among how many comparisons."""
        phrases = []
        beyond = comparisons = 0
        for measure in self.profile.index:
            found = self.beyond_noise(measure)
            beyond += len(found)
            comparisons += self._excess_by_layer(measure)["layer"].nunique()
            layers = ", ".join(map(str, found))
            if not layers:
                phrases.append(f"{measure} in none")
            elif "," in layers:
                phrases.append(f"{measure} in layers {layers}")
            else:
                phrases.append(f"{measure} in layer {layers}")
        noise = f"every draw of noise of the same size ({self.draws} drawn)"
        by_chance = comparisons / (self.draws + 1)
        return (
            f"Changed more than by {noise}, by the {PERCENT} interval of each difference:"
            f" {'; '.join(phrases)}. These are {beyond} of {comparisons} comparisons; if the"
            f" change were one more draw, at most {by_chance:.2g} would be expected."
        )


def _spell(value: float) -> str:
    """Write a number in six digits, and 0 for what is rounding."""
    return f"{0 if abs(value) <= statistics.EQUAL else value:.6g}"


def _lay_out(cells: Mapping[str, Mapping[int, str]]) -> str:
    """Lay out {measure: {layer: cell}} as a table, one row a layer."""
    table = pd.DataFrame(cells).sort_index().fillna("").rename_axis("layer").reset_index()
    return table.to_string(index=False)


def folder_at(path: str | Path) -> Path:
    """Return the folder, and make it if it does not exist. UserError where it cannot be made."""
    folder = Path(path).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{path} is not a folder and cannot be made one ({error.strerror}); name another."
        ) from None
    return folder


def measured(rows: pd.DataFrame) -> Table:
    """Make the table of a change's rows, with distances of a similarity (CKA) as similarities.

    Values of a user's own measure have any range.
    """
    table = of_columns(rows)
    names = [name for name, measure in MEASURES.items() if measure.similarity]
    is_distance = table["metric"].isin(names)
    is_own = ~table["metric"].isin(MEASURES)
    bounds = table.bounds.copy()
    bounds[is_distance], bounds[is_own] = CORRELATION, ANY
    numbers = table.numbers
    numbers.loc[is_distance] = 1 - numbers.loc[is_distance]
    return table.with_numbers(numbers).within(bounds.T)
