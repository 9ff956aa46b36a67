from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from bertshift.data.edges.records import Split, record
from bertshift.data.text_file import read_records
from bertshift.errors import UserError


def read(task: str, files: Mapping[str, Path]) -> dict[str, Split]:
    """Read jiant's JSON lines {"text", "targets", perhaps "info"}, one file for each split.

    A text is words with one space between them, so no word of this form holds a space.
    """
    return {split: _read_split(task, path) for split, path in files.items()}


def _read_split(task: str, path: Path) -> Split:
    records = [_record(task, where, found) for where, found in read_records(path)]
    sentences = {tuple(each["words"]) for each in records}
    return Split(records, Counter(sentences=len(sentences)), Counter())


def _record(task: str, where: str, found: dict) -> dict:
    text, targets = found.get("text"), found.get("targets")
    if not isinstance(text, str) or not isinstance(targets, list):
        raise UserError(f'{where} lacks its "text" or its list of "targets"; correct the file.')
    words = text.split()
    if not words or " ".join(words) != text:
        raise UserError(
            f"{where}: the text {text[:60]!r} is not words with one space between them; correct"
            " the file."
        )
    return record(task, where, words, targets) | {"info": found.get("info", {})}
