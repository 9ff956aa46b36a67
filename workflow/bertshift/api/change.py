"""The result of `bertshift.compare`."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from bertshift.api.measures import MEASURES
from bertshift.errors import UserError
from bertshift.files import write_text, write_tsv
from bertshift.measures import ANY, CORRELATION, Shown
from bertshift.naming import seed_and_draw
from bertshift.rows import ranges, statistics

NULL = "_null"
BY = ["metric", "variant", "layer", "head"]
COLUMNS = ["measure", "variant", "layer", "head", "value", "low", "high", "null"]
NOISE = ["noise", "noise_low", "noise_high"]


@dataclass(frozen=True)
class Change:
    """How a model differs from its reference, by layer and head.

    rows: of every replicate, in the columns of the workflow's tables, of which CKA's values are
    distances; table: means over replicates; left_out: {measure: why it could not be taken}; about:
    how many texts, which checkpoints; draws: how many models were made by noise for each
    replicate. Their rows have `noise_name(model)` as `model`; own: {measure of the user's own: how
    it is shown}.
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
        high, null.

        value: the mean over replicates; low, high: its 95 % interval over texts and, where there
        are several, replicates; null: what unrelated models would give, where that is known. Layer
        0 is the output of the embeddings; head 0 is the mean over heads, and all there is of
        hidden states. Units: rsa -1 to 1, cka at most 1, cosine 0 to 1, all 1 where nothing
        changed; svcca 0 to 1, js 0 to ln 2 nats (or 1 bit), both 0 where nothing changed. With
        draws of noise there are noise, noise_low and noise_high too: the mean, the smallest and
        the largest draw, each a mean over replicates.
        """
        rows = statistics.summarise(with_ranges(self.own_rows), BY)
        nulls = rows["variant"].str.endswith(NULL)
        null = (
            rows[nulls]
            .assign(variant=rows["variant"].str.removesuffix(NULL))
            .set_index(BY)["value"]
        )
        rows = rows[~nulls].join(null.rename("null"), on=BY)
        if self.draws:
            rows = rows.join(self._noise(), on=BY)
        columns = [*COLUMNS, *(NOISE if self.draws else ())]
        return rows.rename(columns={"metric": "measure"})[columns].reset_index(drop=True)

    @property
    def shown(self) -> dict[str, Shown]:
        """How each measure is shown, those that were not taken included."""
        return {name: measure.shown for name, measure in MEASURES.items()} | dict(self.own)

    @property
    def own_rows(self) -> pd.DataFrame:
        """The rows of the model itself, without those of models made by noise."""
        return self.rows[self.rows["model"] == self.model]

    def _noise(self) -> pd.DataFrame:
        """Calculate the mean, the smallest and the largest draw, by BY."""
        rows = self.rows[self.rows["model"] == noise_name(self.model)]
        draw = rows["seed"].map(lambda number: seed_and_draw(number, self.draws)[1])
        values = statistics.summarise(with_ranges(rows.assign(draw=draw)), [*BY, "draw"])
        return values.groupby(BY)["value"].agg(["mean", "min", "max"]).set_axis(NOISE, axis=1)

    @cached_property
    def profile(self) -> pd.DataFrame:
        """How much each layer changed by each measure, as a share of the layer that changed most:
        [measures, layers]."""
        shares = {}
        for name, measure in self.shown.items():
            rows = self.by_layer(name)
            if len(rows):
                change = (1 - rows["value"] if measure.is_similarity else rows["value"]).abs()
                change = change.where(change > statistics.EQUAL, 0.0)
                shares[name] = change / (change.max() or 1.0)
        return pd.DataFrame(shares).T.rename_axis(index="measure", columns="layer")

    def by_layer(self, measure: str) -> pd.DataFrame:
        """Select the rows of `table` for a measure's first variant, all heads together, by
        layer."""
        rows, variant = self.table, self.shown[measure].rows["variant"]
        return rows[
            (rows["measure"] == measure) & (rows["variant"] == variant) & (rows["head"] == 0)
        ].set_index("layer")

    def beyond_noise(self, measure: str) -> list[int]:
        """List the layers that changed more by a measure, all heads together, than every draw of
        noise.

        Differences that are rounding alone, as where nothing changed, do not count.
        """
        rows = self.by_layer(measure)
        more = rows["value"] - rows["noise_high"]
        if self.shown[measure].is_similarity:
            more = rows["noise_low"] - rows["value"]
        return list(rows.index[more > statistics.EQUAL])

    def plot(self):
        """Draw the profile and every measure by layer, with intervals, nulls and draws of noise: a
        matplotlib Figure. UserError where matplotlib is not installed."""
        from bertshift.api.drawing import draw

        return draw(self)

    def write(self, folder: str | Path) -> list[Path]:
        """Write the table, the picture of `plot` and a page to explore, `change.tsv`, `change.png`
        and `index.html`.

        Returns the files. Those whose packages are not installed are left out with a warning.
        UserError where the folder cannot be made.
        """
        from bertshift.api import drawing

        folder = folder_at(folder)
        write_tsv(folder / "change.tsv", self.table)
        written = ["change.tsv"]
        if drawing.has(drawing.PICTURE):
            self.plot().savefig(folder / "change.png", dpi=150)
            written.append("change.png")
        if drawing.has(drawing.PAGE):
            from bertshift.api.page import page

            write_text(folder / "index.html", page(self))
            written.append("index.html")
        if lacking := drawing.left_out():
            warnings.warn(lacking, stacklevel=2)
        return [folder / name for name in written]

    def __str__(self) -> str:
        """Format the profile as a table: each layer's values, and their share of the largest
        change."""
        cells = {}
        for measure in self.profile.index:
            values = self.by_layer(measure)["value"]
            cells[measure] = {
                layer: (
                    f"{value if abs(value) > statistics.EQUAL else 0:.6g}"
                    f" {self.profile.loc[measure, layer]:4.0%}"
                )
                for layer, value in values.items()
            }
        lines = [
            (
                f"{self.model} and {self.reference}: each measure by layer, and its share of the"
                " largest change"
            )
        ]
        lines.append(
            pd.DataFrame(cells)
            .fillna("")
            .rename_axis("layer")
            .reset_index()
            .to_string(index=False)
        )
        lines += [self._beyond_noise()] if self.draws else []
        lines += [f"{measure} is left out: {why}" for measure, why in self.left_out.items()]
        return "\n".join(lines)

    def _beyond_noise(self) -> str:
        found = []
        for measure in self.profile.index:
            layers = self.beyond_noise(measure)
            words = "layer" if len(layers) == 1 else "layers"
            place = f"{words} {', '.join(map(str, layers))}" if layers else "none"
            found.append(f"{measure} in {place}")
        drawn = f"every draw of noise of the same size ({self.draws} drawn)"
        return f"Changed more than by {drawn}: {'; '.join(found)}."


def folder_at(path: str | Path) -> Path:
    """Return the folder, which is made where it is not there. UserError where it cannot be."""
    folder = Path(path).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{path} is no folder and cannot be made one ({error.strerror}); name another."
        ) from None
    return folder


def noise_name(model: str) -> str:
    """Name the models made by noise as large as the change of this one."""
    return f"{model}.noise"


def with_ranges(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the range of each row's value, and turn the distances of a similarity into what it is
    itself.

    Values of a user's own measure may lie anywhere.
    """
    distances = rows["metric"].isin(
        [name for name, measure in MEASURES.items() if measure.similarity]
    )
    own = ~rows["metric"].isin(MEASURES)
    turned = statistics.mapped(rows[distances], lambda value: 1 - value)
    parts = [
        ranges.within_measures(rows[~distances & ~own]),
        ranges.within(turned, CORRELATION),
        ranges.within(rows[own], ANY),
    ]
    return pd.concat(parts).sort_index()
