"""The measures of two models: metrics of the workflow, and the user's own functions."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib import import_module

from bertshift.errors import UserError
from bertshift.measures import MEASURES, Measure, Shown


@dataclass(frozen=True)
class Choice:
    """A measure with a table in `results/<folder>`.

    module: in metrics/, whose `compare` makes its rows; shown: its line of the picture and the
    page. similarity: whether values are 1 minus those of the table, which are distances.
    """

    folder: str
    module: str
    shown: Shown
    similarity: bool = False

    @property
    def record(self) -> Measure:
        return MEASURES[self.folder]

    @property
    def compare(self) -> Callable:
        return import_module(f"bertshift.metrics.{self.module}").compare


def _read_record(name: str) -> Choice:
    return Choice(name, MEASURES[name].module, MEASURES[name].shown[name])


CHOICES = {
    "rsa": _read_record("rsa"),
    "svcca": _read_record("svcca"),
    "cka": Choice(
        "similarity",
        "linear_cka",
        replace(MEASURES["similarity"].shown["cka_debiased"], is_similarity=True),
        True,
    ),
    "js": _read_record("js"),
    "cosine": _read_record("cosine"),
}


def by_name(measures: str | Callable | Iterable[str | Callable]) -> dict[str, Choice | Callable]:
    """Find measures by name; a function has its own name. UserError for unknown names and for
    names that are given twice."""
    if isinstance(measures, str) or callable(measures):
        measures = [measures]
    selected: dict[str, Choice | Callable] = {}
    for measure in measures:
        is_function = callable(measure)
        if is_function:
            name = getattr(measure, "__name__", type(measure).__name__)
            if not name.isidentifier():
                raise UserError(
                    f"a measure is called {name!r}; give a function with a name, written with def."
                )
        else:
            name = measure
            if name not in CHOICES:
                raise UserError(
                    f"there is no measure {name!r}; write some of {', '.join(CHOICES)}."
                )
        if name in selected or (is_function and name in CHOICES):
            raise UserError(
                f"two measures are called {name!r}; name each once, and functions otherwise."
            )
        selected[name] = measure if is_function else CHOICES[name]
    if not selected:
        raise UserError(f"no measure is named; write some of {', '.join(CHOICES)}.")
    return selected
