"""The user's own files. Jobs depend on their contents, not on their times: a new copy of a mirror
has other times and the same bytes."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from bertshift.errors import UserError
from bertshift.files import reading, remembered, sha256, write_json

LIBRARY = Path(__file__).resolve().parents[1]
# Digests of files, with the sizes and times of the files, so that they are not read at each start.
CACHE = Path(".snakemake/own_files.json")
RESULTS = "results"
OUTPUT_FOLDERS = (RESULTS, "logs")
# Parts of these folders that a configuration may name: data that jobs make, and downloads.
DATA_OF_JOBS = ("results/world/", "results/corpora/", "results/hub")


def misplaced(config: Mapping) -> Iterator[str]:
    """Yield a sentence for each of the user's paths in a folder whose files jobs delete before
    they make them again."""
    folders = [Path(name).resolve() for name in OUTPUT_FOLDERS]
    for key, path in _list_configured_paths(config):
        if path.startswith(DATA_OF_JOBS):
            continue
        resolved = Path(path).expanduser().resolve()
        if any(resolved.is_relative_to(folder) for folder in folders):
            yield (
                f"{key}: {path} lies where this workflow writes; move yours out of"
                f" {' and '.join(OUTPUT_FOLDERS)}, and write where it is."
            )


def check_writable(folder: Path) -> None:
    """Raise UserError where snakemake cannot keep its records in `folder`, which it does even with
    -n."""
    records = folder / CACHE.parent
    place = records if records.exists() else folder
    if not os.access(place, os.W_OK):
        raise UserError(
            f"{place.absolute()} cannot be written to, and snakemake keeps its records there, even"
            " with -n; work in a folder of your own."
        )


def check(files: str | list[str], config: Mapping) -> None:
    """Raise UserError where one of the user's own files among these does not exist."""
    for path in among(files):
        if not Path(path).exists():
            keys = [key for key, named in _list_configured_paths(config) if named == path]
            where = ": ".join([*keys[:1], path])
            raise UserError(f"{where} does not exist; put it there, or write where it is.")


def _list_configured_paths(config: Mapping) -> Iterator[tuple[str, str]]:
    """Yield (key, path) of the files and folders that the configuration names to be read, and of
    the folder of downloads."""
    data = config["data"]
    for base, spec in config["bases"].items():
        for checkpoint in spec.get("checkpoints", []):
            if checkpoint.get("path"):
                yield f"bases.{base}.checkpoints", checkpoint["path"]
    for name, path in config["corpora"].items():
        yield f"corpora.{name}", path
    yield "data.cache", data["cache"]
    if config["patterns"]["labels"]:
        yield "patterns.labels", config["patterns"]["labels"]
    if config["relations"]["source"]:
        yield "relations.source", config["relations"]["source"]
    if data["source"] != "world" and data.get("mirror"):
        yield "data.mirror", data["mirror"]
        for key, file in _list_mirror_files(config):
            yield key, os.path.join(data["mirror"], file)


def _list_mirror_files(config: Mapping) -> Iterator[tuple[str, str]]:
    """Yield (key, path below the mirror) of the files that a mirror may have."""
    for name, spec in config["datasets"].items():
        for split, files in spec.get("mirror", {}).items():
            for file in files:
                yield f"datasets.{name}.mirror.{split}", file
    for name, spec in config["edge_sets"].items():
        for part, file in spec["files"].items():
            yield f"edge_sets.{name}.files.{part}", file
    for file in config["relations"]["files"]:
        yield "relations.files", file


def is_own(path: str) -> bool:
    """Test whether a path is neither made by a rule nor a part of the program."""
    return not path.startswith(f"{RESULTS}/") and LIBRARY not in Path(path).resolve().parents


def among(files: str | list[str]) -> list[str]:
    """Select the user's own files."""
    return list(filter(is_own, [files] if isinstance(files, str) else files))


def contents(paths: Iterable[str]) -> dict[str, str]:
    """Digest each file or folder: the names in it, and the bytes."""
    paths = list(paths)
    cache = remembered(CACHE) if paths else {}
    entries = {}
    for path in paths:
        files = _list_files(path)
        sizes_and_times = {}
        for name, file in files.items():
            status = file.stat()
            sizes_and_times[name] = [status.st_size, status.st_mtime_ns]
        match cache.get(path):
            case {"seen": seen, "sha256": str(digest)} if seen == sizes_and_times:
                pass
            case _:
                digest = _digest(files)
        entries[path] = {"seen": sizes_and_times, "sha256": digest}
    if cache | entries != cache:
        with suppress(OSError):  # a folder that cannot be written can still be planned for
            write_json(CACHE, cache | entries)
    return {path: entry["sha256"] for path, entry in entries.items()}


def _list_files(path: str) -> dict[str, Path]:
    """List a file, or all files of a folder, by their paths within it."""
    root = Path(path)
    if not root.is_dir():
        return {root.name: root} if root.exists() else {}
    files = filter(Path.is_file, sorted(root.rglob("*")))
    return {str(file.relative_to(root)): file for file in files}


def _digest(files: dict[str, Path]) -> str:
    lines = []
    for name, file in files.items():
        with reading(file):
            lines.append(f"{sha256(file)} {name}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()
