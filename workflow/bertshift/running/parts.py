"""Long jobs in parts: what a job had finished when it was stopped, its next attempt does not do
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
        """Choose a folder beside `output` that Snakemake, which deletes a failed job's outputs,
        knows nothing of."""
        return cls(Path(output).with_suffix(".parts"), code)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class Part:
    """A part of a job. make() -> a dict of tensors, numbers, text and lists; recipe: all that it
    depends on, as JSON can say it."""

    name: str
    recipe: Mapping
    make: Callable[[], dict]


def made(parts: Mapping[Key, Part], folder: Path, title: str) -> dict[Key, dict]:
    """Make every part, and return what each gives; those that are in `folder` with the same recipe
    are not made again.

    Each is written to `folder` as soon as it is made.
    """
    kept = {key: checkpoint.load(*_place(part, folder)) for key, part in parts.items()}
    found = {key: state for key, state in kept.items() if state is not None}
    _say(f"{title}: {len(found)} of {len(parts)} parts found done")
    for number, (key, part) in enumerate(parts.items(), 1):
        if key not in found:
            _say(f"{title}: part {number} of {len(parts)}: {part.name}")
            found[key] = part.make()
            checkpoint.save(*_place(part, folder), found[key])
    return {key: found[key] for key in parts}


def _place(part: Part, folder: Path) -> tuple[Path, str]:
    recipe = json.dumps(part.recipe, sort_keys=True).encode()
    return Path(folder) / f"{part.name}.pt", blake2b(recipe, digest_size=16).hexdigest()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class LastCallCache:
    """A function whose last result stays for the next call with the same arguments, and is freed
    before another is made."""

    def __init__(self, function: Callable):
        self._function, self._arguments, self._result = function, None, None

    def __call__(self, *arguments):
        if arguments != self._arguments:
            self._arguments = self._result = None
            self._result = self._function(*arguments)
            self._arguments = arguments
        return self._result
