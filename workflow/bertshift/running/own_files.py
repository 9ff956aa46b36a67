"""Files that the user brought: they count by what they hold. Copied anew, a mirror has other times and the same bytes."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from bertshift.errors import UserError
from bertshift.files import reading, remembered, sha256, write_json

LIBRARY = Path(__file__).resolve().parents[1]
# Digests of what was read before, each with the sizes and times that it goes with, so that it is not read at each start.
KNOWN = Path(".snakemake/own_files.json")
RESULTS = "results"


def misplaced(
    config: Mapping, is_made: Callable[[str], bool], is_folder: Callable[[str], bool]
) -> Iterator[str]:
    """Yield a sentence for each path of the user's that is, holds or lies in what a job makes, and so deletes
    before it begins.

    is_made: whether a job makes the file or folder. is_folder: whether a job has the folder for its files alone.
    """
    for key, path in _configured(config):
        for name in _names_here(path):
            same = ("is what" for made in (is_made, is_folder) if made(name))
            around = (f"lies in {each}, which" for each in map(str, Path(name).parents) if is_folder(each))
            inside = (f"holds {each}, which" for each in _below(name, key) if is_made(each))
            if found := next(chain(same, around, inside), None):
                yield (
                    f"{key}: {path} {found} this workflow makes, and deletes before it is made again; move yours "
                    f"elsewhere, best out of {RESULTS}, and write where it is."
                )
                break


def _configured(config: Mapping) -> Iterator[tuple[str, str]]:
    """Yield (key, path) of all that the configuration wants read, and of where downloads are kept."""
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
        yield from ((f"edge_sets.{name}.files.{part}", file) for part, file in spec["files"].items())
    yield from (("relations.files", file) for file in config["relations"]["files"])


def _names_here(path: str) -> list[str]:
    """List the names that rules have for a path, if it lies in the working folder; also where results is a link."""
    plain, real, results = Path(path).expanduser(), Path(path).expanduser().resolve(), Path(RESULTS).resolve()
    linked = [f"{RESULTS}/{real.relative_to(results)}"] if results in real.parents else []
    return [name for name in dict.fromkeys([os.path.relpath(plain), *linked]) if not name.startswith("..")]


def _below(name: str, key: str) -> Iterator[str]:
    # Of the others, single files are read or written, each with a name of its own.
    if name.startswith(RESULTS) and key not in ("data.cache", "data.mirror"):
        yield from map(str, Path(name).rglob("*"))


def is_own(path: str) -> bool:
    """Test whether a path is neither made by a rule nor a part of the program."""
    return not path.startswith(f"{RESULTS}/") and LIBRARY not in Path(path).resolve().parents


def among(inputs: Mapping[str, str | list[str]]) -> list[str]:
    """Select the user's own among a request's files."""
    files = chain.from_iterable([each] if isinstance(each, str) else each for each in inputs.values())
    return [file for file in files if is_own(file)]


def contents(paths: Iterable[str]) -> dict[str, str]:
    """Digest each file or folder: the names in it, and the bytes."""
    known, found = remembered(KNOWN), {}
    for path in paths:
        files = _files(path)
        seen = {name: [file.stat().st_size, file.stat().st_mtime_ns] for name, file in files.items()}
        match known.get(path):
            case {"seen": before, "sha256": str(digest)} if before == seen:
                found[path] = {"seen": seen, "sha256": digest}
            case _:
                found[path] = {"seen": seen, "sha256": _digest(files)}
    if known | found != known:
        write_json(KNOWN, known | found)
    return {path: one["sha256"] for path, one in found.items()}


def check(told: Mapping[str, str]) -> None:
    """Raise UserError where a file or folder holds something else than `contents` told before."""
    now = contents(told)
    if edited := [path for path in told if now[path] != told[path]]:
        raise UserError(
            f"{' and '.join(edited)} was edited after this run had been planned, so the result would not be what its "
            "record says; call the same command again."
        )


def _files(path: str) -> dict[str, Path]:
    root = Path(path)
    if not root.is_dir():
        return {root.name: root} if root.exists() else {}
    return {str(file.relative_to(root)): file for file in sorted(root.rglob("*")) if file.is_file()}


def _digest(files: dict[str, Path]) -> str:
    lines = []
    for name, file in files.items():
        with reading(file):
            lines.append(f"{sha256(file)} {name}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()
