"""Which rules make files, and what from, as rules tell it.

makers(file): the rules that make a file, of this workflow and of others. read(rule, file): the files that a rule of this
workflow reads to make a file; none of another's.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping

from bertshift.errors import UserError

Makers = Callable[[str], Collection]
Read = Callable[[object, str], Iterable[str]]


def check_leftovers(files: Iterable[str], makers: Makers, read: Read) -> None:
    """Raise UserError for a file, or for one on the way to it, that a rule should make and cannot."""
    for file in files:
        if found := _leftover(file, makers, read):
            raise UserError(
                "{} was made under another configuration, and cannot be made under this one: {}".format(
                    *found
                )
            )


def _leftover(file: str, makers: Makers, read: Read) -> tuple[str, object] | None:
    """Find what a rule should make and cannot, this file or one on the way to it: (file, reason), or None."""
    for maker in makers(file):
        try:
            wanted = list(read(maker, file))
        except Exception as error:  # noqa: BLE001 - Snakemake wraps what an input function raises
            return file, _reason(error)
        for below in wanted:
            if found := _leftover(below, makers, read):
                return found
            if not os.path.exists(below) and not makers(below):
                return file, f"{below} is missing."
    return None


def origins(file: str, wanted: Callable[[object], bool], makers: Makers, read: Read) -> set[str]:
    """Find the files that wanted rules make, among a file and all that it is made from. Raise UserError as
    `check_all`."""
    seen, refusals = _on_the_way([file], makers, read)
    _refuse(refusals)
    return {each for each in seen if any(map(wanted, makers(each)))}


def check_all(files: Iterable[str], makers: Makers, read: Read) -> None:
    """Raise UserError with everything that keeps rules from making these files, such as data that are missing."""
    _refuse(_on_the_way(files, makers, read)[1])


def _on_the_way(files: Iterable[str], makers: Makers, read: Read) -> tuple[set[str], set[str]]:
    """Find the files and all that they are made from, and why rules on the way refuse what they should make."""
    seen, queue, refusals = {*files}, [*files], set()
    while queue:
        each = queue.pop()
        for maker in makers(each):
            try:
                more = {*read(maker, each)} - seen
            except Exception as error:  # noqa: BLE001 - Snakemake wraps what an input function raises
                refusals.add(str(_reason(error)))
                continue
            seen |= more
            queue += more
    return seen, refusals


def _refuse(refusals: Collection[str]) -> None:
    if refusals:
        raise UserError("\n".join(sorted(refusals)))


def _reason(error: Exception) -> BaseException:
    return error.__context__ or error


def places(outputs: Mapping[str, bool]) -> tuple[Callable[[str], object], Callable[[str], object]]:
    """Return two functions of a path. The first tells whether a job makes it, the second whether a job has it as a
    folder for itself: it makes the folder, or files of fixed names in a folder with wildcards.

    outputs: what jobs make, with {wildcards}, which stand for anything within a name, and whether it is a folder.
    """

    def one_of(patterns: Iterable[str]) -> Callable[[str], object]:
        forms = (re.sub(r"\\{\w+\\}", "[^/]*", re.escape(pattern)) for pattern in patterns)
        return re.compile("|".join(forms)).fullmatch

    made = [os.path.split(file) for file, is_folder in outputs.items() if not is_folder]
    around = [folder for folder, name in made if "{" in folder and "{" not in name]
    return one_of(outputs), one_of([file for file, is_folder in outputs.items() if is_folder] + around)
