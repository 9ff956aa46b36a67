import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bertshift.data.edges import brackets
from bertshift.data.edges.records import Split, record, target
from bertshift.data.text_file import numbered_blocks, read_lines
from bertshift.errors import UserError

# document, part, index, word, tag, parse bit, lemma, frameset, sense, speaker, entity, one for
# each frame, coreference
COLUMNS = 12  # at least
PARENTHESES = {"(": "-LRB-", ")": "-RRB-"}


def read(task: str, files: Mapping[str, Path]) -> dict[str, Split]:
    """Read OntoNotes 5 in CoNLL's columns, as jiant's edge probes have it: a folder of *gold_conll
    files per split.

    Each sentence gives one record; for srl each frame does. Words are raw in every task: jiant
    writes -LRB- for ( in the texts of tags and constituents. UserError for a document in two
    files, as in a folder with several versions of the corpus.
    """
    file_of_document: dict[str, Path] = {}
    return {split: _read_split(task, folder, file_of_document) for split, folder in files.items()}


def _read_split(task: str, folder: Path, file_of_document: dict[str, Path]) -> Split:
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
        for line, rows in _read_sentences(path):
            where, columns = f"{path}:{line}", list(zip(*rows, strict=True))
            document, words = columns[0][0], columns[3]
            other = file_of_document.setdefault(document, path)
            if other != path:
                raise UserError(
                    f"{path} has the document {document}, as {other} has; keep one version of the"
                    " corpus there, and each document in one split."
                )
            target_lists = _make_targets(task, columns, where, irregular)
            source.update(sentences=1, tokens=len(words))
            if task == "srl":
                source["frames"] += len(target_lists)
            records += [
                record(task, where, words, targets, sentence=f"{document}:{line}")
                for targets in target_lists
            ]
    return Split(records, +source, irregular)


def _read_sentences(path: Path) -> Iterator[tuple[int, list[list[str]]]]:
    """Yield first line number and rows of every sentence. Any white space separates columns."""
    lines = ("" if line.startswith("#") else line for line in read_lines(path))
    for first, block in numbered_blocks(lines):
        rows = [line.split() for line in block]
        width = max(COLUMNS, len(rows[0]))
        for index, row in enumerate(rows):
            if len(row) != width or row[2] != str(index):
                raise UserError(
                    f"{path}:{first + index} is not word {index} of its sentence in "
                    f"{width} columns; make the file again."
                )
        yield first, rows


def _make_targets(
    task: str, columns: Sequence[Sequence[str]], where: str, irregular: Counter
) -> list[list[dict]]:
    """Make the targets of every record of a sentence."""
    _, _, _, words, tags, bits, _, _, _, _, entities, *frames, mentions = columns
    match task:
        case "entities":
            spans = brackets.spans(entities, where)
            return [[target(label, (start, end)) for label, start, end in spans]]
        case "coref":
            return [brackets.pair_targets(brackets.mentions(mentions, where))]
        case "srl":
            return brackets.frame_targets(frames, where, irregular)
    if "XX" in words or "XX" in tags:
        irregular["sentences without a tree (XX)"] += 1
        return [[]]
    if task == "constituents":
        return [brackets.constituent_targets(bits, where)]
    return [brackets.tag_targets(PARENTHESES.get(tag, tag) for tag in tags)]
