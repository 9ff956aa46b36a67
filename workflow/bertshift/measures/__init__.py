"""What is known of each measure apart from how it is computed, in the record of its name beside
this file.

Rules, ranges, labels of figures, the page and the guides' tables of measures are made from these
records. No module outside of this folder imports a record by its name. A rule counts the ranges of
the measure that it computes as its code; what draws a table counts its whole record. So an edited
record makes no other measure again, and an edited title none. Nothing here imports a module that
computes a measure.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from bertshift.errors import UserError

Range = tuple[float, float]
SHARE, CORRELATION = (0.0, 1.0), (-1.0, 1.0)
POSITIVE, ANY = (0.0, math.inf), (-math.inf, math.inf)
NATS = (0.0, math.log(2))  # of a divergence of two distributions from their mean

SAMPLED_TOKENS = "tokens"  # the key of `samples` that says how many tokens a sampled dump holds
# What measures read. The first two are kinds of dumps: all states and maps, or the states of a
# sample of tokens.
READS = (
    "attention",
    "sampled",
    "padded",
    "weights",
    "sentences",
    "trees",
    "edges",
    "relations",
    "training",
    "task",
)
TWO, ONE, ROW = "two models", "one model", "models that differ in one thing"


@dataclass(frozen=True)
class Shown:
    """A line of the page: the rows of a measure's table that it has.

    null: the variant of what unrelated models give
    is_similarity: whether a value of 1 means no change, so that the change is 1 minus the value
    """

    title: str
    rows: Mapping[str, str]
    null: str = ""
    is_similarity: bool = False


@dataclass(frozen=True)
class Measure:
    """A measure, whose tables are `results/<name of the record>/<model>.tsv`, or
    `<model>_vs_<model>.tsv` there.

    title: in the middle of a sentence
    short: the title where there is little room
    of: of what there are tables: TWO, ONE, ROW
    reads: one of READS
    unit: empty where numbers have none
    null: what models give that have nothing in common, or that know nothing
    ranges: by the column `metric`, or this and a word of one of the columns rows.ranges.KINDS
    counted: what is a share of examples, named as in `ranges`
    has_blocks: whether its values are known without each block of inputs
    by_heads: whether its table has a row for each head that a model's attention has
    words: values of its columns, for a reader
    shown: lines of the page's view of two models, by key
    on_page: whether this view tells of it in another way
    order: the place of these lines on the page
    explained: the heading of its entry in docs/methods.md

    One rule computes the measures of two models that have a module, from dumps:

    module: in metrics/; its `compare` takes the pairs of dumps and what is named here
    tokens: the key of `samples` that says how many tokens are compared
    weights: whether `compare` takes the models' folders
    annotations: whether it takes the words' tags and trees
    """

    title: str
    reads: str = "attention"
    of: Sequence[str] = (TWO,)
    short: str = ""
    unit: str = ""
    null: str = ""
    ranges: Mapping[str, Range] = field(default_factory=dict)
    counted: Sequence[str] = ()
    has_blocks: bool = True
    by_heads: bool = False
    words: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, Shown] = field(default_factory=dict)
    on_page: bool = False
    order: int = 99
    explained: str = ""
    module: str = ""
    tokens: str | None = None
    weights: bool = False
    annotations: bool = False

    def __post_init__(self):
        if self.reads not in READS:
            raise UserError(
                f"a record in measures/ has reads={self.reads!r}; write one of {', '.join(READS)}."
            )
        if self.reads == "sampled" and self.tokens != SAMPLED_TOKENS:
            raise UserError(
                f"a record in measures/ has reads='sampled' and tokens={self.tokens!r}; such a"
                f" dump holds as many tokens as samples.{SAMPLED_TOKENS} says, so write"
                f" tokens={SAMPLED_TOKENS!r}, or reads='attention'."
            )

    @property
    def is_on_page(self) -> bool:
        """Whether the page's view of two models reads its tables."""
        return bool(self.shown) or self.on_page

    @property
    def label(self) -> str:
        """The title of an axis."""
        return self._with_unit(self.title)

    @property
    def short_title(self) -> str:
        return self.short or self.title

    @property
    def short_label(self) -> str:
        return self._with_unit(self.short_title)

    def _with_unit(self, words: str) -> str:
        return f"{words} ({self.unit})" if self.unit else words


_RECORDS: dict[str, Measure] = {
    file.stem: import_module(f"bertshift.measures.{file.stem}").MEASURE
    for file in sorted(Path(__file__).parent.glob("[a-z]*.py"))
}
# By name, in the page's order.
MEASURES = dict(sorted(_RECORDS.items(), key=lambda entry: entry[1].order))
# Those that one rule computes, from dumps of both models.
OF_DUMPS = {name: measure for name, measure in MEASURES.items() if measure.module}
