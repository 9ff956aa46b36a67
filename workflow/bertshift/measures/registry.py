"""All metrics of two models, as the records beside this module tell; imports none of the modules
that compute them."""

from importlib import import_module
from pathlib import Path

from bertshift.measures.metric import Metric, Range

_NAMES = {file.stem for file in Path(__file__).parent.glob("[a-z]*.py")} - {"metric", "registry"}
_RECORDS: dict[str, Metric] = {
    name: import_module(f"bertshift.measures.{name}").METRIC for name in sorted(_NAMES)
}
# By name, in the page's order.
METRICS = dict(sorted(_RECORDS.items(), key=lambda entry: entry[1].order))
# Those that one rule computes, from dumps of both models.
OF_DUMPS = {name: metric for name, metric in METRICS.items() if metric.module}
RANGES: dict[str, Range] = {
    words: ends for metric in METRICS.values() for words, ends in metric.ranges.items()
}
