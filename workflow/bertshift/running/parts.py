"""Long jobs in parts: the next attempt of a job that was stopped does not make finished parts
again."""

import json
import shutil
import sys
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from bertshift.running import checkpoint

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class PartCache:
    """The folder where a job keeps its finished parts until its table is written, with a digest of
    the code that makes them."""

    folder: Path
    code: str

    @classmethod
    def beside(cls, output: str | Path, code: str) -> "PartCache":
        """Choose a folder next to `output` that Snakemake does not know, as it deletes the outputs
        of a failed job."""
        return cls(Path(output).with_suffix(".parts"), code)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class Part:
    """A part of a job.

    recipe: everything that it depends on, as values of JSON
    make: -> a dict of tensors, numbers, text and lists
    """

    name: str
    recipe: Mapping
    make: Callable[[], dict]


def made(parts: Mapping[Key, Part], folder: Path, title: str) -> dict[Key, dict]:
    """Make every part, and return their results; parts that are in `folder` with the same recipe
    are not made again.

    A part is written to `folder` as soon as it is made.
    """
    states = {key: checkpoint.load(*_locate(part, folder)) for key, part in parts.items()}
    finished = sum(state is not None for state in states.values())
    _print_progress(f"{title}: {finished} of {len(parts)} parts found done")
    for number, (key, part) in enumerate(parts.items(), 1):
        if states[key] is None:
            _print_progress(f"{title}: part {number} of {len(parts)}: {part.name}")
            states[key] = part.make()
            checkpoint.save(*_locate(part, folder), states[key])
    return states


def _locate(part: Part, folder: Path) -> tuple[Path, str]:
    """Return the file of a part and the digest of its recipe."""
    recipe = json.dumps(part.recipe, sort_keys=True).encode()
    digest = blake2b(recipe, digest_size=16).hexdigest()
    return Path(folder) / f"{part.name}.pt", digest


def _print_progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class LastCallCache:
    """A function that keeps its last result for the next call with the same arguments, and frees
    it before it makes another."""

    def __init__(self, function: Callable):
        self._function, self._arguments, self._result = function, None, None

    def __call__(self, *arguments):
        if arguments != self._arguments:
            self._arguments = self._result = None
            self._result = self._function(*arguments)
            self._arguments = arguments
        return self._result
