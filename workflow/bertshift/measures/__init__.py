"""Metrics of two models: what is known of each apart from how it is computed, in the record of
its name beside this file.

Rules, figures, the page and the plan are made from these records. No module imports a record by
its name: it is among the code of its metric's rule and of what is drawn from that metric, so an
edited record makes no other metric again. Nothing here imports a module that computes a metric.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from bertshift.errors import UserError

Range = tuple[float, float]
SHARE, CORRELATION = (0.0, 1.0), (-1.0, 1.0)
POSITIVE, ANY = (0.0, math.inf), (-math.inf, math.inf)
READS = ("attention", "sampled", "inputs", "weights")
SAMPLED_TOKENS = "tokens"  # the key of `samples` that says how many tokens a sampled dump holds
NATS = (0.0, math.log(2))  # of a divergence of two distributions from their mean


@dataclass(frozen=True)
class Shown:
    """A line of the page: the rows of a metric's table that it has.

    null: the variant of what unrelated models give
    is_similarity: whether a value of 1 means no change, so that the change is 1 minus the value
    """

    title: str
    rows: Mapping[str, str]
    null: str = ""
    is_similarity: bool = False


@dataclass(frozen=True)
class Metric:
    """A metric whose tables are `results/<name of the record>/<model>_vs_<model>.tsv`.

    reads: a kind of dump, "attention" with all states and maps or "sampled" with the states of a
        sample of tokens; or "inputs" or "weights" of a metric with a rule of its own
    module: in metrics/; its `compare` takes the pairs of dumps and what is named here
    tokens: the key of `samples` that says how many tokens are compared
    weights: whether `compare` takes the models' folders
    annotations: whether it takes the words' tags and trees
    by_heads: whether its table has a row for each head
    ranges: by the column `metric`, or this and a word of one of the columns rows.ranges.KINDS
    shown: lines of the page, by key
    order: the place of these lines on the page
    """

    reads: str = "attention"
    module: str = ""
    tokens: str | None = None
    weights: bool = False
    annotations: bool = False
    by_heads: bool = False
    ranges: Mapping[str, Range] = field(default_factory=dict)
    shown: Mapping[str, Shown] = field(default_factory=dict)
    order: int = 99

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


_RECORDS: dict[str, Metric] = {
    file.stem: import_module(f"bertshift.measures.{file.stem}").METRIC
    for file in sorted(Path(__file__).parent.glob("[a-z]*.py"))
}
# By name, in the page's order.
METRICS = dict(sorted(_RECORDS.items(), key=lambda entry: entry[1].order))
# Those that one rule computes, from dumps of both models.
OF_DUMPS = {name: metric for name, metric in METRICS.items() if metric.module}
RANGES: dict[str, Range] = {
    words: ends for metric in METRICS.values() for words, ends in metric.ranges.items()
}
