import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from bertshift.data.edges.records import Split, checked
from bertshift.data.text_file import read_lines
from bertshift.errors import UserError


def read(task: str, files: Mapping[str, Path]) -> dict[str, Split]:
    """Records that are in jiant's JSON-lines form already, one file a split."""
    return {split: _read_split(task, path) for split, path in files.items()}


def _read_split(task: str, path: Path) -> Split:
    records = [_parsed(task, f"{path}:{number}", line) for number, line in enumerate(read_lines(path), 1)]
    return Split(records, Counter(sentences=len({record["text"] for record in records})), Counter())


def _parsed(task: str, where: str, line: str) -> dict:
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise UserError(f"{where} is not JSON ({error.msg}); write one record a line.") from None
    if not isinstance(found, dict):
        raise UserError(f"{where} is not a record; write an object with text and targets.")
    return {"info": {}, **checked(task, where, found)}
