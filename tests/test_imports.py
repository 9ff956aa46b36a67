"""No package of the library imports one that uses it, and Snakemake's own objects stay in the rules."""

import ast
import os
import subprocess
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


def test_rules_are_read_with_snakemake_alone(tmp_path):
    """Before there is an environment for jobs; and numpy, pandas and torch would slow each call down."""
    for package in ("numpy", "pandas", "scipy", "torch", "transformers", "datasets", "safetensors", "matplotlib"):
        (tmp_path / f"{package}.py").write_text(f"raise ModuleNotFoundError('no {package}', name='{package}')")
    command = [sys.executable, "-m", "snakemake", "-n", "figures/all", "--quiet", "rules"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
