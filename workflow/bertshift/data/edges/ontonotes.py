import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from bertshift.data.edges import brackets
from bertshift.data.edges.records import Split, record, target
from bertshift.data.text_file import read_lines
from bertshift.errors import UserError

# document, part, index, word, tag, parse bit, lemma, frameset, sense, speaker, entity, one for
# each frame, coreference
COLUMNS = 12  # at least


def read(task: str, files: Mapping[str, Path]) -> dict[str, Split]:
    """Read OntoNotes 5 in CoNLL's columns, as jiant's edge probes have it: a folder of *gold_conll
    files per split.

    Each sentence gives one record; for srl each frame does. Words are raw everywhere: jiant has
    -LRB- for ( in the text of tags and constituents.
    """
    return {split: _read_split(task, folder) for split, folder in files.items()}


def _read_split(task: str, folder: Path) -> Split:
    paths = sorted(folder.rglob("*gold_conll"))
    if not paths:
        raise UserError(
            f"{folder} has no *gold_conll file; merge the words of LDC2013T19 into the *gold_skel"
            " files there first (skeleton2conll)."
        )
    records, source, irregular = [], Counter(), Counter()
    for number, path in enumerate(paths, 1):
        if number % 2000 == 0:
            print(f"{folder}: {task}, {number} of {len(paths)} files", file=sys.stderr)
        for line, rows in _sentences(path):
            where, columns = f"{path}:{line}", list(zip(*rows, strict=True))
            found = _targets(task, columns, where, irregular)
            source.update(sentences=1, tokens=len(rows), frames=len(found) if task == "srl" else 0)
            sentence = f"{columns[0][0]}:{line}"
            records += [
                record(task, where, columns[3], targets, sentence=sentence) for targets in found
            ]
    return Split(records, +source, irregular)


def _sentences(path: Path) -> Iterator[tuple[int, list[list[str]]]]:
    """Yield first line number and rows of every sentence. Any white space separates columns."""
    numbered = enumerate(read_lines(path), 1)
    for filled, lines in groupby(
        numbered, key=lambda line: bool(line[1].strip()) and line[1][0] != "#"
    ):
        if filled:
            rows = {number: text.split() for number, text in lines}
            first = min(rows)
            for number, row in rows.items():
                if (
                    len(row) < COLUMNS
                    or len(row) != len(rows[first])
                    or row[2] != str(number - first)
                ):
                    raise UserError(
                        f"{path}:{number} is not word {number - first} of its sentence in "
                        f"{max(COLUMNS, len(rows[first]))} columns; make the file again."
                    )
            yield first, list(rows.values())


def _targets(
    task: str, columns: Sequence[Sequence[str]], where: str, irregular: Counter
) -> list[list[dict]]:
    """Make the targets of every record that a sentence gives."""
    words, tags, bits, entities, frames, mentions = (
        *columns[3:6],
        columns[10],
        columns[11:-1],
        columns[-1],
    )
    match task:
        case "entities":
            return [
                [
                    target(label, (start, end))
                    for label, start, end in brackets.spans(entities, where)
                ]
            ]
        case "coref":
            return [brackets.pair_targets(brackets.mentions(mentions, where))]
        case "srl":
            return brackets.frame_targets(frames, where, irregular)
    if "XX" in words or "XX" in tags:
        irregular["sentences without a tree (XX)"] += 1
        return [[]]
    if task == "constituents":
        return [brackets.constituent_targets(bits, where)]
    return [brackets.tag_targets({"(": "-LRB-", ")": "-RRB-"}.get(tag, tag) for tag in tags)]
