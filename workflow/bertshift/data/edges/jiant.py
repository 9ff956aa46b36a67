from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from bertshift.data.edges.records import Split, record
from bertshift.data.text_file import read_records
from bertshift.errors import UserError


def read(task: str, files: Mapping[str, Path]) -> dict[str, Split]:
    """Read jiant's JSON lines {"text", "targets", perhaps "info"}, one file for each split.

    A text has one space between its words, so no word of this form holds a space.
    """
    return {split: _read_split(task, path) for split, path in files.items()}


def _read_split(task: str, path: Path) -> Split:
    records = [_convert_record(task, where, row) for where, row in read_records(path)]
    sentences = {tuple(row["words"]) for row in records}
    return Split(records, Counter(sentences=len(sentences)), Counter())


def _convert_record(task: str, where: str, row: dict) -> dict:
    text, targets = row.get("text"), row.get("targets")
    if not isinstance(text, str) or not isinstance(targets, list):
        raise UserError(f'{where} lacks its "text" or its list of "targets"; correct the file.')
    words = text.split()
    if not words or " ".join(words) != text:
        raise UserError(
            f"{where}: the text {text[:60]!r} is not words with one space between them; correct"
            " the file."
        )
    return record(task, where, words, targets) | {"info": row.get("info", {})}
