from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from bertshift.data.edges.records import Split, checked
from bertshift.data.text_file import read_records


def read(task: str, files: Mapping[str, Path]) -> dict[str, Split]:
    """Read records that are in jiant's JSON-lines form already, one file for each split."""
    return {split: _read_split(task, path) for split, path in files.items()}


def _read_split(task: str, path: Path) -> Split:
    records = [{"info": {}, **checked(task, where, found)} for where, found in read_records(path)]
    return Split(records, Counter(sentences=len({record["text"] for record in records})), Counter())
