"""The measures that two models are compared by: metrics of the workflow, as their records tell."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from bertshift.measures.metric import Metric
from bertshift.measures.registry import METRICS


@dataclass(frozen=True)
class Measure:
    """A measure that `results/<folder>` has a table of, and the page a line.

    module: in metrics/, whose `compare` takes its rows; variant: the one that the page shows; alike: whether 1 is no change.
    similarity: whether values are 1 minus those of the table, which are distances.
    """

    folder: str
    line: str
    module: str
    similarity: bool = False

    @property
    def record(self) -> Metric:
        return METRICS[self.folder]

    @property
    def variant(self) -> str:
        return self.record.shown[self.line].rows["variant"]

    @property
    def title(self) -> str:
        return self.record.shown[self.line].title

    @property
    def alike(self) -> bool:
        return self.record.shown[self.line].alike != self.similarity

    @property
    def compare(self) -> Callable:
        return import_module(f"bertshift.metrics.{self.module}").compare


def _of(name: str) -> Measure:
    return Measure(name, name, METRICS[name].module)


MEASURES = {
    "rsa": _of("rsa"),
    "svcca": _of("svcca"),
    "cka": Measure("similarity", "cka_debiased", "linear_cka", similarity=True),
    "js": _of("js"),
    "cosine": _of("cosine"),
}
