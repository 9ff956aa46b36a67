"""No package of the library imports one that uses it, and Snakemake's own objects stay in the rules."""

import ast
import re
import sys
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


def at_the_top(file):
    """What importing a file imports: names of modules, and of what is taken from them."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            yield from [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


def test_rules_are_read_with_snakemake_alone():
    """Before there is an environment for jobs; and numpy, pandas and torch would slow each call down."""
    imports = re.compile(r"^ *from (bertshift[.\w]*) import ([^#\n(]+)", re.MULTILINE)
    rules = "".join(file.read_text() for file in (ROOT / "workflow/rules").glob("*.smk"))
    names = [
        f"{package}.{name.strip()}" for package, found in imports.findall(rules) for name in found.split(",")
    ]
    queue, seen = names + [name.rpartition(".")[0] for name in names], set()
    while queue:
        name = queue.pop()
        for file in (
            LIBRARY.parent / name.replace(".", "/") / "__init__.py",
            LIBRARY.parent / f"{name.replace('.', '/')}.py",
        ):
            if file.is_file() and file not in seen:
                seen.add(file)
                queue += at_the_top(file)
        if not name.startswith("bertshift"):
            seen.add(name.partition(".")[0])
    assert len(seen) > 60
    allowed = {*sys.stdlib_module_names, "snakemake_interface_logger_plugins", "yaml", "jsonschema", "psutil"}
    assert {name for name in seen if isinstance(name, str)} <= allowed
