"""Bracket notations that several corpora share: parse bits, argument and entity columns, mention
columns."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from bertshift.data.edges.records import target
from bertshift.errors import UserError

LEAF = re.compile(r"\(([^\s()]+)\s+([^\s()]+)\)")
MARK = re.compile(r"\([^()|]*\)?|[^()|]+\)")


class Tree(NamedTuple):
    """A sentence of a PTB file: parallel lists, one item a leaf."""

    line: int
    words: list[str]
    tags: list[str]
    bits: list[str]


class Mention(NamedTuple):
    start: int
    end: int
    entity: str
    rest: str  # what follows the entity's id in the opening mark


def spans(cells: Sequence[str], where: str) -> list[tuple[str, int, int]]:
    """List (label, start, end) in order of opening, from cells such as "(S(NP*", "*", "*))" or
    "(NP)".

    Spans may nest. Raises UserError beginning with `where` (file and line) for a bracket that does
    not close or open.
    """
    found, pending = [], []
    for i, cell in enumerate(cells):
        for label in re.findall(r"\(([^()*]*)", cell):
            pending.append(len(found))
            found.append((label, i, None))
        for _ in range(cell.count(")")):
            if not pending:
                raise UserError(
                    f"{where}: word {i + 1} closes a bracket that no word opened; fetch the file"
                    " again."
                )
            label, start, _ = found[pending[-1]]
            found[pending.pop()] = (label, start, i + 1)
    if pending:
        raise UserError(
            f"{where}: the bracket ({found[pending[0]][0]} is never closed; fetch the file again."
        )
    return found


def mentions(cells: Iterable[str], where: str) -> list[Mention]:
    """List mentions by start and end, from cells such as "(3|(7)" and "3)", or
    "(3-person-new(7-place)" and "3)"."""
    found, pending = [], defaultdict(list)
    for i, cell in enumerate(cells):
        for mark in MARK.findall(cell):
            entity, _, rest = mark.strip("()").partition("-")
            if mark.startswith("("):
                pending[entity].append((i, rest))
            if mark.endswith(")"):
                if not pending[entity]:
                    raise UserError(
                        f"{where}: word {i + 1} closes the mention {entity}, which no word opened;"
                        " fetch the file again."
                    )
                start, rest = pending[entity].pop()
                found.append(Mention(start, i + 1, entity, rest))
    for entity, left in pending.items():
        if left:
            raise UserError(
                f"{where}: the mention {entity} is never closed; fetch the file again."
            )
    return sorted(set(found))


def trees(text: str, where: str) -> Iterator[Tree]:
    """Yield the trees of a PTB file. Each begins with a bracket in the first column; traces are
    leaves too."""
    starts = [match.start() for match in re.finditer(r"^\(", text, re.MULTILINE)]
    line, previous = 1, 0
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        line, previous = line + text.count("\n", previous, start), start
        tree = text[start:end]
        leaves = LEAF.findall(tree)
        bits = re.findall(r"[^*]*\*\)*", re.sub(r"\s", "", LEAF.sub("*", tree)))
        if len(bits) != len(leaves) or not leaves:
            raise UserError(
                f"{where}:{line}: this is not a tree in brackets; fetch the file again."
            )
        yield Tree(line, [word for _, word in leaves], [tag for tag, _ in leaves], bits)


def bare(label: str) -> str:
    """Remove function tags and indices from a label: NP-SBJ-1 and NP=2 become NP, but -LRB- and
    WP-S stay."""
    first, *others = label.replace("=", "-").replace("|", "-").split("-")
    if not first:
        return label
    return f"{first}-S" if others[:1] == ["S"] else first


def tag_targets(tags: Iterable[str]) -> list[dict]:
    return [target(bare(tag), (i, i + 1)) for i, tag in enumerate(tags)]


def constituent_targets(bits: Sequence[str], where: str) -> list[dict]:
    """Make a target for each bracket, the root's included. A unary chain gives several targets
    with one span."""
    found = spans(bits, where)
    if not found or found[0][1:] != (0, len(bits)):
        raise UserError(f"{where}: the tree has several roots or none; fetch the file again.")
    return [target(bare(label), (start, end)) for label, start, end in found]


def frame_targets(
    columns: Iterable[Sequence[str]], where: str, irregular: Counter
) -> list[list[dict]]:
    """Make the targets of each column of a frame: a pair of predicate and argument for every
    argument. Frames without a verb are counted."""
    frames = []
    for column in columns:
        found = spans(column, where)
        verb = next(((start, end) for label, start, end in found if label == "V"), None)
        if verb:
            frames.append([target(label, verb, (s, e)) for label, s, e in found if label != "V"])
        else:
            irregular["frames without a verb"] += 1
    return frames


def pair_targets(found: Sequence[Mention]) -> list[dict]:
    """Make a target for each pair of mentions, the earlier first: "1" if both are of one entity,
    else "0"."""
    return [
        target("1" if a.entity == b.entity else "0", (a.start, a.end), (b.start, b.end))
        for a, b in combinations(found, 2)
    ]
