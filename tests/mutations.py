"""Plant small faults in the library, one at a time, and count those that the tests notice.

    python -m mutations [--seed 1] [--number 30] [--under metrics] [-- tests/metrics ...]

It works on a copy of the tree. Each fault changes one operator, number or statement of a function.
What stands behind `--` goes to pytest, by default the whole suite. A fault is noticed when pytest
fails or takes longer than an hour.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LIBRARY = Path("workflow/bertshift")
COMPARISONS = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
}
OPERATORS = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.MatMult: "*",
    ast.FloorDiv: "/",
}
STATEMENTS = (ast.AugAssign, ast.Delete)
LONGEST = 3600  # seconds
NO_TESTS = [4, 5]  # pytest's statuses for wrong arguments and for no test


class Fault(NamedTuple):
    """A part of a file, from one byte to another, and what is written instead."""

    file: Path
    line: int
    begin: int
    end: int
    new: str


def faults(file: Path, source: bytes) -> Iterator[Fault]:
    """Yield every fault that can be planted in the functions of a module."""
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))

    def begin(node: ast.AST) -> int:
        return lines[node.lineno - 1] + node.col_offset

    def end(node: ast.AST) -> int:
        return lines[node.end_lineno - 1] + node.end_col_offset

    for node in _working_nodes(ast.parse(source)):
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if (
                type(operator) in COMPARISONS
            ):
                new = f" {COMPARISONS[type(operator)]} "
                between = end(left), begin(right)
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
                new = f" {OPERATORS[type(operator)]} "
                between = end(left), begin(right)
            case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
                new, between = " ", (begin(node), begin(operand))
            case ast.Constant(value=bool(value)):
                new, between = str(not value), (begin(node), end(node))
            case ast.Constant(value=int(value)):
                new, between = str(value + 1), (begin(node), end(node))
            case ast.Constant(value=float(value)):
                new, between = repr(10 * value), (begin(node), end(node))
            case _ if isinstance(node, STATEMENTS):
                new, between = "pass", (begin(node), end(node))
            case _:
                continue
        # Brackets and line breaks between two operands stay out of it.
        if not set(source[slice(*between)].decode()) & set("()\n\\#"):
            yield Fault(file, node.lineno, *between, new)


def _working_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of functions that compute: no annotation, no message of an error, no
    text."""
    outside = (ast.Raise, ast.JoinedStr, ast.arguments)
    queue = [(tree, False)]
    while queue:
        node, inside = queue.pop()
        if inside:
            yield node
        inside = inside or isinstance(node, ast.FunctionDef)
        for name, value in ast.iter_fields(node):
            children = value if isinstance(value, list) else [value]
            if name not in ("annotation", "returns", "decorator_list"):
                queue += [
                    (c, inside)
                    for c in children
                    if isinstance(c, ast.AST) and not isinstance(c, outside)
                ]


def drawn(seed: int, number: int, under: str) -> list[Fault]:
    """Draw so many faults from the library's modules, or from those below one folder of it."""
    files = (ROOT / LIBRARY / under).rglob("*.py")
    found = [
        fault for file in files for fault in faults(file.relative_to(ROOT), file.read_bytes())
    ]
    return random.Random(seed).sample(sorted(found), number)


def noticed(fault: Fault, folder: Path, tests: list[str]) -> bool:
    """Plant a fault in the copy of the tree in `folder`, run the tests, and mend it."""
    file = folder / fault.file
    source = file.read_bytes()
    file.write_bytes(source[: fault.begin] + fault.new.encode() + source[fault.end :])
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    paths = os.pathsep.join([str(folder / "workflow"), str(folder / "tests")])
    try:
        done = subprocess.run(
            command,
            check=False,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        file.write_bytes(source)
    if done.returncode in NO_TESTS:
        sys.exit(f"pytest runs nothing with these arguments: {' '.join(tests)}")
    return done.returncode != 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=30)
    parser.add_argument(
        "--under", default="", help="a folder or module of the library, such as metrics"
    )
    parser.add_argument("tests", nargs="*", help="arguments of pytest, behind --")
    given = parser.parse_args()
    count = 0
    planted = drawn(given.seed, given.number, given.under)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "tree"
        kept_out = shutil.ignore_patterns(
            ".git", ".venv", ".snakemake", "results", "logs", "__pycache__"
        )
        shutil.copytree(ROOT, folder, ignore=kept_out)
        for fault in planted:
            source = (ROOT / fault.file).read_bytes()
            start = time.monotonic()
            seen = noticed(fault, folder, given.tests)
            count += seen
            line = source.splitlines()[fault.line - 1].decode().strip()
            old = source[fault.begin : fault.end].decode().strip()
            state = "noticed" if seen else "MISSED "
            place = f"{fault.file.relative_to(LIBRARY)}:{fault.line}"
            seconds = time.monotonic() - start
            print(
                f"{state} {seconds:5.0f} s  {place}  {old or 'it'} -> {fault.new.strip() or 'nothing'}  in: {line}",
                flush=True,
            )
    print(f"{count} of {len(planted)} faults noticed")


if __name__ == "__main__":
    main()
