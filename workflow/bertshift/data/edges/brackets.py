"""Bracket notations that several corpora share: parse bits, columns of arguments, entities and
mentions."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise
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
    rest: str  # the text after the entity's id in the opening mark


def spans(cells: Sequence[str], where: str) -> list[tuple[str, int, int]]:
    """List (label, start, end) in order of opening, from cells such as "(S(NP*", "*", "*))" or
    "(NP)".

    Spans may nest. UserError beginning with `where` (file and line) for a bracket that does not
    close or open.
    """
    labelled, open_indices = [], []  # of spans, in order of opening; of those not yet closed
    for position, cell in enumerate(cells):
        for label in re.findall(r"\(([^()*]*)", cell):
            open_indices.append(len(labelled))
            labelled.append((label, position, None))
        for _ in range(cell.count(")")):
            if not open_indices:
                raise UserError(
                    f"{where}: word {position + 1} closes a bracket that no word opened; fetch the"
                    " file again."
                )
            index = open_indices.pop()
            label, start, _ = labelled[index]
            labelled[index] = (label, start, position + 1)
    if open_indices:
        label, *_ = labelled[open_indices[0]]
        raise UserError(f"{where}: the bracket ({label} is never closed; fetch the file again.")
    return labelled


def mentions(cells: Iterable[str], where: str) -> list[Mention]:
    """List mentions by start and end, from cells such as "(3|(7)" and "3)", or
    "(3-person-new(7-place)" and "3)"."""
    closed, open_marks = set(), defaultdict(list)
    for position, cell in enumerate(cells):
        for mark in MARK.findall(cell):
            entity, _, rest = mark.strip("()").partition("-")
            if mark.startswith("("):
                open_marks[entity].append((position, rest))
            if mark.endswith(")"):
                if not open_marks[entity]:
                    raise UserError(
                        f"{where}: word {position + 1} closes the mention {entity}, which no word"
                        " opened; fetch the file again."
                    )
                start, rest = open_marks[entity].pop()
                closed.add(Mention(start, position + 1, entity, rest))
    for entity, marks in open_marks.items():
        if marks:
            raise UserError(
                f"{where}: the mention {entity} is never closed; fetch the file again."
            )
    return sorted(closed)


def trees(text: str, where: str) -> Iterator[Tree]:
    """Yield the trees of a PTB file. Each begins with a bracket in the first column; traces are
    leaves too."""
    starts = [match.start() for match in re.finditer(r"^\(", text, re.MULTILINE)]
    line = 1 + text.count("\n", 0, starts[0]) if starts else 1
    for start, end in pairwise([*starts, len(text)]):
        tree = text[start:end]
        leaves = LEAF.findall(tree)
        structure = re.sub(r"\s", "", LEAF.sub("*", tree))
        bits = re.findall(r"[^*]*\*\)*", structure)
        if len(bits) != len(leaves) or not leaves:
            raise UserError(
                f"{where}:{line}: this is not a tree in brackets; fetch the file again."
            )
        words = [word for _, word in leaves]
        tags = [tag for tag, _ in leaves]
        yield Tree(line, words, tags, bits)
        line += tree.count("\n")


def bare(label: str) -> str:
    """Remove function tags and indices from a label: NP-SBJ-1 and NP=2 become NP, but -LRB- and
    WP-S stay."""
    category, *functions = re.split("[-=|]", label)
    if not category:
        return label
    if functions and functions[0] == "S":
        return f"{category}-S"
    return category


def tag_targets(tags: Iterable[str]) -> list[dict]:
    return [target(bare(tag), (index, index + 1)) for index, tag in enumerate(tags)]


def constituent_targets(bits: Sequence[str], where: str) -> list[dict]:
    """Make a target for each bracket, the root's included. A unary chain gives several targets
    with one span."""
    constituents = spans(bits, where)
    if not constituents or constituents[0][1:] != (0, len(bits)):
        raise UserError(f"{where}: the tree has several roots or none; fetch the file again.")
    return [target(bare(label), (start, end)) for label, start, end in constituents]


def frame_targets(
    columns: Iterable[Sequence[str]], where: str, irregular: Counter
) -> list[list[dict]]:
    """Make the targets of each column of a frame: a pair of predicate and argument for every
    argument. Frames without a verb are counted."""
    frames = []
    for column in columns:
        verbs, arguments = [], []
        for label, start, end in spans(column, where):
            if label == "V":
                verbs.append((start, end))
            else:
                arguments.append((label, (start, end)))
        if verbs:
            frames.append([target(label, verbs[0], span) for label, span in arguments])
        else:
            irregular["frames without a verb"] += 1
    return frames


def pair_targets(mentions: Sequence[Mention]) -> list[dict]:
    """Make a target for each pair of mentions, the earlier first: "1" if they name the same
    entity, else "0"."""
    targets = []
    for first, second in combinations(mentions, 2):
        label = "1" if first.entity == second.entity else "0"
        targets.append(target(label, (first.start, first.end), (second.start, second.end)))
    return targets
