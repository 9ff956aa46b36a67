"""The measures that two models are compared by: metrics of the workflow, and functions of one's
own."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib import import_module

from bertshift.errors import UserError
from bertshift.measures import METRICS, Metric, Shown


@dataclass(frozen=True)
class Measure:
    """A measure that `results/<folder>` has a table of.

    module: in metrics/, whose `compare` takes its rows; shown: its line of the picture and the
    page. similarity: whether values are 1 minus those of the table, which are distances.
    """

    folder: str
    module: str
    shown: Shown
    similarity: bool = False

    @property
    def record(self) -> Metric:
        return METRICS[self.folder]

    @property
    def compare(self) -> Callable:
        return import_module(f"bertshift.metrics.{self.module}").compare


def _of(name: str) -> Measure:
    return Measure(name, METRICS[name].module, METRICS[name].shown[name])


MEASURES = {
    "rsa": _of("rsa"),
    "svcca": _of("svcca"),
    "cka": Measure(
        "similarity",
        "linear_cka",
        replace(METRICS["similarity"].shown["cka_debiased"], is_similarity=True),
        True,
    ),
    "js": _of("js"),
    "cosine": _of("cosine"),
}


def known(measures: str | Callable | Iterable[str | Callable]) -> dict[str, Measure | Callable]:
    """Find measures by name; a function is called by its own. UserError for unknown names and for
    names that stand twice."""
    given = [measures] if isinstance(measures, str) or callable(measures) else list(measures)
    if not given:
        raise UserError(f"no measure is named; write some of {', '.join(MEASURES)}.")
    found: dict[str, Measure | Callable] = {}
    for one in given:
        name = getattr(one, "__name__", type(one).__name__) if callable(one) else one
        if not callable(one) and name not in MEASURES:
            raise UserError(f"there is no measure {name!r}; write some of {', '.join(MEASURES)}.")
        if callable(one) and not name.isidentifier():
            raise UserError(
                f"a measure is called {name!r}; give a function with a name, written with def."
            )
        if name in found or callable(one) and name in MEASURES:
            raise UserError(
                f"two measures are called {name!r}; name each once, and functions otherwise."
            )
        found[name] = one if callable(one) else MEASURES[name]
    return found
