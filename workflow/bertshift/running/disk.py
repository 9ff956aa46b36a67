"""Which temporary files to make next, so that those that wait to be read fit on the disk together."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Reader:
    """A job that lacks nothing but temporary files that can be made: {file's job: MB}; begun: others of it are there."""

    lacks: Mapping[Hashable, int]
    begun: bool


def next_files(readers: Sequence[Reader], room: int, alone: bool) -> set:
    """Choose the jobs whose files to make now: all that a reader lacks or nothing, until `room` (MB) is used up.

    Readers that have begun come first, then those that lack least. Where one that has begun finds no room, none after
    it gets files, or two could each hold what the other waits for. alone: nothing else is running, which could make
    room by ending: one reader then gets its files, whatever their size.
    """
    chosen: dict[Hashable, int] = {}
    for reader in sorted(readers, key=lambda one: (not one.begun, sum(one.lacks.values()))):
        more = {job: mb for job, mb in reader.lacks.items() if job not in chosen}
        if sum(more.values()) <= room or (alone and not chosen):
            chosen |= more
            room -= sum(more.values())
        elif reader.begun:
            break
    return set(chosen)
