"""What `bertshift.compare` gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from bertshift.api.measures import MEASURES
from bertshift.files import write_text, write_tsv
from bertshift.measures.metric import CORRELATION
from bertshift.rows import ranges, statistics

NULL = "_null"
BY = ["metric", "variant", "layer", "head"]
COLUMNS = ["measure", "variant", "layer", "head", "value", "low", "high", "null"]


@dataclass(frozen=True)
class Change:
    """How a model differs from its reference, by layer and head.

    rows: of every replicate, in the columns of the workflow's tables, of which CKA's values are distances; table: means over
    replicates; left_out: {measure: why it could not be taken}; about: how many texts, which checkpoints.
    """

    rows: pd.DataFrame = field(repr=False)
    model: str
    reference: str
    about: Mapping = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row a measure, variant, layer and head: measure, variant, layer, head, value, low, high, null.

        value: the mean over replicates; low, high: its 95 % interval over texts and, where there are several, replicates; null:
        what unrelated models would give, where that is known. Layer 0 is the output of the embeddings; head 0 is the mean over
        heads, and all there is of hidden states. Units: rsa -1 to 1, cka at most 1, cosine 0 to 1, all 1 where nothing changed;
        svcca 0 to 1, js 0 to ln 2 nats (or 1 bit), both 0 where nothing changed.
        """
        rows = statistics.summarise(with_ranges(self.rows), BY)
        nulls = rows["variant"].str.endswith(NULL)
        null = rows[nulls].assign(variant=rows["variant"].str.removesuffix(NULL)).set_index(BY)["value"]
        rows = rows[~nulls].join(null.rename("null"), on=BY).rename(columns={"metric": "measure"})
        return rows[COLUMNS].reset_index(drop=True)

    @cached_property
    def profile(self) -> pd.DataFrame:
        """How much each layer changed by each measure, as a share of the layer that changed most: [measures, layers]."""
        shares = {}
        for name, measure in MEASURES.items():
            rows = self.by_layer(name)
            if len(rows):
                change = (1 - rows["value"] if measure.alike else rows["value"]).abs()
                shares[name] = change / (change.max() or 1.0)
        return pd.DataFrame(shares).T.rename_axis(index="measure", columns="layer")

    def by_layer(self, measure: str) -> pd.DataFrame:
        """Select the rows of `table` for a measure's first variant, all heads together, by layer."""
        rows, variant = self.table, MEASURES[measure].variant
        return rows[
            (rows["measure"] == measure) & (rows["variant"] == variant) & (rows["head"] == 0)
        ].set_index("layer")

    def plot(self):
        """Draw the profile and every measure by layer, with intervals and nulls: a matplotlib Figure. UserError where
        matplotlib is not installed."""
        from bertshift.api.drawing import draw

        return draw(self)

    def write(self, folder: str | Path) -> list[Path]:
        """Write the table, the picture of `plot` and a page to explore, `change.tsv`, `change.png` and `index.html`."""
        from bertshift.api.page import page

        folder = Path(folder)
        figure, html = self.plot(), page(self)
        write_tsv(folder / "change.tsv", self.table)
        figure.savefig(folder / "change.png", dpi=150)
        write_text(folder / "index.html", html)
        return [folder / name for name in ("change.tsv", "change.png", "index.html")]

    def __str__(self) -> str:
        """Format the profile as a table: each layer's values, and their share of the largest change."""
        cells = {}
        for measure in self.profile.index:
            values = self.by_layer(measure)["value"]
            cells[measure] = {
                layer: f"{value:.6g} {self.profile.loc[measure, layer]:4.0%}"
                for layer, value in values.items()
            }
        lines = [
            f"{self.model} and {self.reference}: each measure by layer, and its share of the largest change"
        ]
        lines.append(pd.DataFrame(cells).fillna("").rename_axis("layer").reset_index().to_string(index=False))
        lines += [f"{measure} is left out: {why}" for measure, why in self.left_out.items()]
        return "\n".join(lines)


def with_ranges(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the range of each row's value, and turn the distances of a similarity into what it is itself."""
    rows = ranges.within_measures(rows)
    distances = rows["metric"].isin([name for name, measure in MEASURES.items() if measure.similarity])
    turned = ranges.within(statistics.mapped(rows[distances], lambda value: 1 - value), CORRELATION)
    return pd.concat([rows[~distances], turned]).sort_index()
