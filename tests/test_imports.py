"""No package of the library imports one that uses it, and Snakemake's own objects stay in the rules."""

import ast
from graphlib import CycleError, TopologicalSorter

import pytest
from conftest import ROOT

LIBRARY = ROOT / "workflow/bertshift"


def imported():
    """(package or module at the top of the library, what a file of it imports) of every import."""
    for file in LIBRARY.rglob("*.py"):
        own = file.relative_to(LIBRARY).with_suffix("").parts[0]
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                yield from ((own, f"{node.module}.{each.name}") for each in node.names)
            elif isinstance(node, ast.Import):
                yield from ((own, each.name) for each in node.names)


def test_nothing_runs_back_up():
    below = {}
    for own, name in imported():
        first, _, rest = name.partition(".")
        other = rest.partition(".")[0]
        if first == "bertshift" and other != own:
            below.setdefault(own, set()).add(other)
    assert len(below) > 15
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        pytest.fail(f"these import each other: {' <- '.join(error.args[1])}")


def test_snakemake_is_imported_in_one_module():
    assert {own for own, name in imported() if name.partition(".")[0].startswith("snakemake")} <= {"running"}
