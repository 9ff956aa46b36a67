"""python -m size: how large the library and its tests are, in nodes of the syntax tree, and how
dense."""

import ast
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
WIDEST = 99
PARTS = {
    "library": sorted((ROOT / "workflow/bertshift").rglob("*.py")),
    "the demo's world": sorted((ROOT / "workflow/demo_world").rglob("*.py")),
    "rules and scripts": sorted((ROOT / "workflow/scripts").glob("*.py")),
    "tests": sorted((ROOT / "tests").rglob("*.py")),
}


class Size(NamedTuple):
    """Nodes of the syntax tree, lines that are neither empty nor a comment, and lines wider than
    99."""

    nodes: int
    lines: int
    wide: int


def size_of(text: str) -> Size:
    nodes = sum(1 for _ in ast.walk(ast.parse(text)))
    lines = [line.strip() for line in text.splitlines()]
    written = [line for line in lines if line and not line.startswith("#")]
    return Size(nodes, len(written), sum(len(line) > WIDEST for line in text.splitlines()))


def main() -> None:
    for name, files in PARTS.items():
        sizes = [size_of(file.read_text(encoding="utf-8")) for file in files]
        total = Size(*map(sum, zip(*sizes, strict=True)))
        density = total.nodes / total.lines
        print(
            f"{name}: {total.nodes:,} nodes, {density:.1f} a line, {total.wide:,} lines wider than {WIDEST}"
        )


if __name__ == "__main__":
    main()
