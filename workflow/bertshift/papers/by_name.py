"""The contents of a paper's package, found by the paper's name, so that a job imports no other
paper.

The `__init__` of `bertshift.papers.<paper>` has NAME and FIGURES, its `claims` has CLAIMS, its
`published.yaml` has the paper's numbers, and each of its figures has a module that draws it.
"""

from collections.abc import Mapping
from importlib import import_module

from bertshift.papers.figure import Figure

PACKAGE = "bertshift.papers"


def module_of(name: str) -> str:
    """Name the paper and its module that draws figure `<paper>/<item>`: `hao2020/change`."""
    paper, item = name.split("/")
    module, _, _ = _figure(name).drawn_by.partition(".")
    return f"{paper}/{module or item}"


def draw(name: str, tables: Mapping, published: Mapping):
    """Draw figure `<paper>/<item>`: (figure, table of every number drawn, caption). `published`:
    the paper's file."""
    # Imports a plotting library, which `module_of` and `claims_of` do not need.
    from bertshift.figures.style import styled

    entry = _figure(name)
    module = import_module(f"{PACKAGE}.{module_of(name).replace('/', '.')}")
    _, _, function_name = entry.drawn_by.partition(".")
    function = styled(getattr(module, function_name or "draw"))
    figure, table, notes = function(tables, published, **entry.arguments)
    return figure, table, f"{entry.shows}\n\n{notes}\n"


def claims_of(paper: str):
    """Return the `verdicts.deciding.Claims` of a paper, which hold all of its claims."""
    return import_module(f"{PACKAGE}.{paper}.claims").CLAIMS


def decide(name: str, tables: Mapping, published: Mapping):
    """Decide each claim on figure `<paper>/<item>` from the figure's tables and the paper's file:
    one row each."""
    from bertshift.verdicts.statements import check

    paper, item = name.split("/")
    claims = claims_of(paper)
    check(claims, published["claims"], f"papers/{paper}/published.yaml")
    return claims.decide(item, tables, published)


def _figure(name: str) -> Figure:
    paper, item = name.split("/")
    return import_module(f"{PACKAGE}.{paper}").FIGURES[item]
