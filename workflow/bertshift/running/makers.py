"""Which rules make files, and what from, as rules tell it.

makers(file): the rules that make a file, of this workflow and of others. read(rule, file): the files that a rule of this
workflow reads to make a file; none of another's.
"""

from collections.abc import Callable, Collection, Iterable

from bertshift.errors import UserError

Makers = Callable[[str], Collection]
Read = Callable[[object, str], Iterable[str]]


def origins(file: str, wanted: Callable[[object], bool], makers: Makers, read: Read) -> set[str]:
    """Find the files that wanted rules make, among a file and all that it is made from. Raise UserError with
    everything that keeps rules from making them, such as data that are missing."""
    seen, queue, refusals = {file}, [file], set()
    while queue:
        each = queue.pop()
        for maker in makers(each):
            try:
                more = {*read(maker, each)} - seen
            except Exception as error:  # noqa: BLE001 - Snakemake wraps what an input function raises
                refusals.update(str(error.__context__ or error).splitlines())
                continue
            seen |= more
            queue += more
    if refusals:
        raise UserError("\n".join(sorted(refusals)))
    return {each for each in seen if any(map(wanted, makers(each)))}
