from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from bertshift.data.edges.records import Split, record, target
from bertshift.data.text_file import read_lines
from bertshift.errors import UserError


def read(task: str, files: Mapping[str, Path]) -> dict[str, Split]:
    """Read named entities from Universal NER's IOB2 files (columns: number, word, tag, and two of
    no use here)."""
    return {split: _read_split(task, path) for split, path in files.items()}


def _read_split(task: str, path: Path) -> Split:
    records, irregular = [], Counter()
    sentence, words, tags, start = None, [], [], 1
    for number, line in enumerate([*read_lines(path), ""], 1):
        if line.startswith("#"):
            key, _, value = line[1:].partition("=")
            sentence = value.strip() if key.strip() == "sent_id" else sentence
        elif line.strip():
            fields = line.split("\t")
            if len(fields) < 3 or not (fields[2] == "O" or fields[2][:2] in ("B-", "I-")):
                raise UserError(
                    f"{path}:{number} is not a number, a word and an IOB2 tag; fetch the file"
                    " again."
                )
            start = start if words else number
            words.append(fields[1])
            tags.append(fields[2])
        elif words:
            targets, bare = entities(tags)
            irregular["I- tags that begin an entity"] += bare
            records.append(record(task, f"{path}:{start}", words, targets, sentence=sentence))
            sentence, words, tags = None, [], []
    source = Counter(sentences=len(records), tokens=sum(len(each["words"]) for each in records))
    return Split(records, source, irregular)


def entities(tags: list[str]) -> tuple[list[dict], int]:
    """Make targets of IOB2 tags, and count I- tags that follow no tag of their type. These begin
    an entity too."""
    targets, bare, previous = [], 0, "O"
    for i, tag in enumerate(tags):
        kind, _, label = tag.partition("-")
        continues = kind == "I" and previous[2:] == label
        bare += kind == "I" and not continues
        if continues:
            targets[-1]["span1"][1] = i + 1
        elif kind != "O":
            targets.append(target(label, (i, i + 1)))
        previous = tag
    return targets, bare
