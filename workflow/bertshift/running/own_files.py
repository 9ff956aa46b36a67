"""Files that the user brought: they count by what they hold. Copied anew, a mirror has other times
and the same bytes."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from bertshift.files import reading, remembered, sha256, write_json

LIBRARY = Path(__file__).resolve().parents[1]
# Digests of what was read before, each with the sizes and times that it goes with, so that it is
# not read at each start.
KNOWN = Path(".snakemake/own_files.json")
RESULTS = "results"
MADE = (RESULTS, "logs")
# A configuration may name data that jobs make there; and downloads are kept there by
# default.
MAKING_DATA = ("results/world/", "results/corpora/", "results/hub")


def misplaced(config: Mapping) -> Iterator[str]:
    """Yield a sentence for each path of the user's in a folder whose files jobs delete before they
    make them again."""
    folders = [Path(name).resolve() for name in MADE]
    for key, path in _configured(config):
        real = Path(path).expanduser().resolve()
        if not path.startswith(MAKING_DATA) and any(
            folder in (real, *real.parents) for folder in folders
        ):
            yield (
                f"{key}: {path} lies where this workflow writes; move yours out of"
                f" {' and '.join(MADE)}, and write where it is."
            )


def _configured(config: Mapping) -> Iterator[tuple[str, str]]:
    """Yield (key, path) of all that the configuration wants read, and of where downloads are
    kept."""
    data = config["data"]
    for base, spec in config["bases"].items():
        paths = [entry.get("path") for entry in spec.get("checkpoints", [])]
        yield from ((f"bases.{base}.checkpoints", path) for path in paths if path)
    yield from ((f"corpora.{name}", path) for name, path in config["corpora"].items())
    yield "data.cache", data["cache"]
    for part, key in (("patterns", "labels"), ("relations", "source")):
        if path := config[part][key]:
            yield f"{part}.{key}", path
    if data["source"] != "world" and (mirror := data.get("mirror")):
        yield "data.mirror", mirror
        yield from ((key, os.path.join(mirror, file)) for key, file in _of_mirror(config))


def _of_mirror(config: Mapping) -> Iterator[tuple[str, str]]:
    for name, spec in config["datasets"].items():
        for split, files in spec.get("mirror", {}).items():
            yield from ((f"datasets.{name}.mirror.{split}", file) for file in files)
    for name, spec in config["edge_sets"].items():
        yield from (
            (f"edge_sets.{name}.files.{part}", file) for part, file in spec["files"].items()
        )
    yield from (("relations.files", file) for file in config["relations"]["files"])


def is_own(path: str) -> bool:
    """Test whether a path is neither made by a rule nor a part of the program."""
    return not path.startswith(f"{RESULTS}/") and LIBRARY not in Path(path).resolve().parents


def among(inputs: Mapping[str, str | list[str]]) -> list[str]:
    """Select the user's own among a request's files."""
    files = chain.from_iterable(
        [each] if isinstance(each, str) else each for each in inputs.values()
    )
    return [file for file in files if is_own(file)]


def contents(paths: Iterable[str]) -> dict[str, str]:
    """Digest each file or folder: the names in it, and the bytes."""
    paths, found = list(paths), {}
    known = remembered(KNOWN) if paths else {}
    for path in paths:
        files = _files(path)
        seen = {
            name: [file.stat().st_size, file.stat().st_mtime_ns] for name, file in files.items()
        }
        match known.get(path):
            case {"seen": before, "sha256": str(digest)} if before == seen:
                found[path] = {"seen": seen, "sha256": digest}
            case _:
                found[path] = {"seen": seen, "sha256": _digest(files)}
    if known | found != known:
        write_json(KNOWN, known | found)
    return {path: one["sha256"] for path, one in found.items()}


def _files(path: str) -> dict[str, Path]:
    root = Path(path)
    if not root.is_dir():
        return {root.name: root} if root.exists() else {}
    return {
        str(file.relative_to(root)): file for file in sorted(root.rglob("*")) if file.is_file()
    }


def _digest(files: dict[str, Path]) -> str:
    lines = []
    for name, file in files.items():
        with reading(file):
            lines.append(f"{sha256(file)} {name}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()
