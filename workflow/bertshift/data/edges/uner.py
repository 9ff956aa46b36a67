import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from bertshift.data.edges.records import Split, record, target
from bertshift.data.text_file import numbered_blocks, read_lines
from bertshift.errors import UserError

IOB2_TAG = re.compile("O$|[BI]-")


def read(task: str, files: Mapping[str, Path]) -> dict[str, Split]:
    """Read named entities from Universal NER's IOB2 files (columns: number, word, tag, and two
    that are ignored)."""
    return {split: _read_split(task, path) for split, path in files.items()}


def _read_split(task: str, path: Path) -> Split:
    records, source, irregular = [], Counter(), Counter()
    sentence = None
    for first, lines in numbered_blocks(read_lines(path)):
        words, tags = [], []
        for number, line in enumerate(lines, first):
            if line.startswith("#"):
                key, _, value = line[1:].partition("=")
                if key.strip() == "sent_id":
                    sentence = value.strip()
                continue
            fields = line.split("\t")
            if len(fields) < 3 or not IOB2_TAG.match(fields[2]):
                raise UserError(
                    f"{path}:{number} is not a number, a word and an IOB2 tag; fetch the file"
                    " again."
                )
            if not words:
                start = number
            words.append(fields[1])
            tags.append(fields[2])
        if words:
            targets, bare = entities(tags)
            irregular["I- tags that begin an entity"] += bare
            source.update(sentences=1, tokens=len(words))
            records.append(record(task, f"{path}:{start}", words, targets, sentence=sentence))
            sentence = None
    return Split(records, source, irregular)


def entities(tags: list[str]) -> tuple[list[dict], int]:
    """Make targets of IOB2 tags, and count I- tags that follow no tag of their type. These begin
    an entity too."""
    targets, bare, previous = [], 0, ""
    for position, tag in enumerate(tags):
        kind, _, label = tag.partition("-")
        if kind == "I" and label == previous:
            targets[-1]["span1"][1] = position + 1
        elif kind != "O":
            targets.append(target(label, (position, position + 1)))
            bare += kind == "I"
        previous = label
    return targets, bare
