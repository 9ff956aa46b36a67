"""Files that the user brought: they count by what they hold. Copied anew, a mirror has other times and the same bytes."""

import hashlib
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

from bertshift.files import read_json, reading, sha256, write_json

LIBRARY = Path(__file__).resolve().parents[1]
# Digests of what was read before, each with the sizes and times that it goes with, so that it is not read at each start.
KNOWN = Path(".snakemake/own_files.json")


def is_own(path: str) -> bool:
    """Neither made by a rule nor a part of the program."""
    return not path.startswith("results/") and LIBRARY not in Path(path).resolve().parents


def among(inputs: Mapping[str, str | list[str]]) -> list[str]:
    """The user's own of a request's files."""
    files = chain.from_iterable([each] if isinstance(each, str) else each for each in inputs.values())
    return [file for file in files if is_own(file)]


def contents(paths: Iterable[str]) -> dict[str, str]:
    """A digest of each file or folder: of the names in it, and of the bytes."""
    known = read_json(KNOWN) if KNOWN.exists() else {}
    found = {}
    for path in paths:
        files = _files(path)
        seen = {name: [file.stat().st_size, file.stat().st_mtime_ns] for name, file in files.items()}
        before = known.get(path, {})
        found[path] = before if before.get("seen") == seen else {"seen": seen, "sha256": _digest(files)}
    if known | found != known:
        write_json(KNOWN, known | found)
    return {path: one["sha256"] for path, one in found.items()}


def _files(path: str) -> dict[str, Path]:
    root = Path(path)
    if not root.is_dir():
        return {root.name: root}
    return {str(file.relative_to(root)): file for file in sorted(root.rglob("*")) if file.is_file()}


def _digest(files: dict[str, Path]) -> str:
    lines = []
    for name, file in files.items():
        with reading(file):
            lines.append(f"{sha256(file)} {name}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()
