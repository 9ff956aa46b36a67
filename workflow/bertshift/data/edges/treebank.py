import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from bertshift.data import conllu
from bertshift.data.edges.records import Split, record, target
from bertshift.data.text_file import read_text


def read(task: str, files: Mapping[str, Path]) -> dict[str, Split]:
    """Read basic dependencies of CoNLL-U files: (token, head) with the full relation. The root is
    its own head."""
    return {split: _read_split(task, path) for split, path in files.items()}


def _read_split(task: str, path: Path) -> Split:
    rows, irregular = conllu.read(path, {})
    records = []
    for number, row in enumerate(rows, 1):
        sentence = row.get("id", str(number))
        arcs = enumerate(zip(row["heads"], row["deprels"], strict=True))
        targets = [
            target(rel, (i, i + 1), (head - 1, head) if head else (i, i + 1))
            for i, (head, rel) in arcs
        ]
        records.append(
            record(task, f"{path}, sentence {sentence}", row["words"], targets, sentence=sentence)
        )
    return Split(records, _units(records), irregular)


def without_lost_by_jiant(split: Split, path: Path) -> Split:
    """Remove what jiant's converter loses: sentences that have an empty node (8.1), and the last
    sentence.

    Source: ud_to_json in nyu-mll/jiant-v1-legacy @8be1fad. It skips the former and never writes
    the latter.
    """
    blocks = re.split(r"\n\s*\n", read_text(path))
    sentences = [block for block in blocks if re.search(r"^\d", block, re.MULTILINE)]
    last = len(sentences) - 1
    kept = [
        record
        for number, (record, lines) in enumerate(zip(split.records, sentences, strict=True))
        if number < last and not re.search(r"^\d+\.\d+\t", lines, re.MULTILINE)
    ]
    lost = Counter({"sentences that jiant loses": len(split.records) - len(kept)})
    return Split(kept, _units(kept), split.irregular + lost)


def _units(records: list[dict]) -> Counter:
    return Counter(
        sentences=len(records), tokens=sum(len(record["targets"]) for record in records)
    )
