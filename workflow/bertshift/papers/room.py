"""What a paper's room holds, found by the paper's name.

A room is the package `bertshift.papers.<paper>`. Its `__init__` has NAME and FIGURES, its `claims` has CLAIMS, its
`published.yaml` has the paper's numbers, and each of its figures has a module that draws it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module

PACKAGE = "bertshift.papers"


@dataclass(frozen=True)
class Figure:
    """One figure of a paper.

    `tables` names the TSVs that the figure reads, given its entry in the configuration. `shows` begins its caption.
    `drawn_by` names the room's module that draws it and, behind a dot, the function there; by default the module has the
    figure's own name and the function is `draw`. `arguments` are what that takes beside the tables and the paper's numbers.
    `lacking` says in a phrase why a model, given the configuration, cannot be drawn, or nothing.
    """

    title: str
    tables: Callable[[Mapping], list[str]]
    shows: str
    drawn_by: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    lacking: Callable[[str, Mapping], str] | None = None


def module_of(name: str) -> str:
    """`hao2020/change`: the room, and its module that draws figure `<paper>/<item>`."""
    paper, item = name.split("/")
    return f"{paper}/{(_figure(name).drawn_by or item).partition('.')[0]}"


def draw(name: str, tables: Mapping, published: Mapping):
    """(figure, table of every number drawn, caption) of figure `<paper>/<item>`; `published` is the paper's file."""
    # A plotting library, which those who only read names do without.
    from bertshift.figures.style import styled

    entry = _figure(name)
    module = import_module(f"{PACKAGE}.{module_of(name).replace('/', '.')}")
    function = getattr(module, entry.drawn_by.partition(".")[2] or "draw")
    figure, table, notes = styled(function)(tables, published, **entry.arguments)
    return figure, table, f"{entry.shows}\n\n{notes}\n"


def claims_of(paper: str):
    """All `verdicts.deciding.Claims` of a paper."""
    return import_module(f"{PACKAGE}.{paper}.claims").CLAIMS


def decide(name: str, tables: Mapping, published: Mapping):
    """One row for each claim on figure `<paper>/<item>`, from the figure's tables and the paper's file."""
    paper, item = name.split("/")
    return claims_of(paper).decide(item, tables, published)


def _figure(name: str) -> Figure:
    paper, item = name.split("/")
    return import_module(f"{PACKAGE}.{paper}").FIGURES[item]
