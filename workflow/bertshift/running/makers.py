"""Which rules make files, and what from, as rules tell it.

makers(file): the rules that make a file, of this workflow and of others. read(rule, file): the files that a rule of this
workflow reads to make a file; none of another's.
"""

from collections.abc import Callable, Collection, Iterable

Makers = Callable[[str], Collection]
Read = Callable[[object, str], Iterable[str]]


def origins(file: str, wanted: Callable[[object], bool], makers: Makers, read: Read) -> set[str]:
    """Find the files that wanted rules make, among a file and all that it is made from."""
    seen, queue = {file}, [file]
    while queue:
        each = queue.pop()
        more = {below for maker in makers(each) for below in read(maker, each)} - seen
        seen |= more
        queue += more
    return {each for each in seen if any(map(wanted, makers(each)))}
