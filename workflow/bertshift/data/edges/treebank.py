import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from bertshift.data import conllu
from bertshift.data.edges.records import Split, record, target
from bertshift.data.text_file import numbered_blocks, read_lines


def read(task: str, files: Mapping[str, Path]) -> dict[str, Split]:
    """Read basic dependencies of CoNLL-U files: (token, head) with the full relation. The root is
    its own head."""
    return {split: _read_split(task, path) for split, path in files.items()}


def _read_split(task: str, path: Path) -> Split:
    rows, irregular = conllu.sentences(path)
    records = []
    for number, row in enumerate(rows, 1):
        sentence = row.get("id", str(number))
        targets = []
        for token, (head, rel) in enumerate(zip(row["heads"], row["deprels"], strict=True), 1):
            head = head or token
            targets.append(target(rel, (token - 1, token), (head - 1, head)))
        where = f"{path}, sentence {sentence}"
        records.append(record(task, where, row["words"], targets, sentence=sentence))
    return Split(records, _count_units(records), irregular)


def without_lost_by_jiant(split: Split, path: Path) -> Split:
    """Remove the sentences that jiant's converter loses: those with an empty node (8.1), and the
    last one.

    Source: ud_to_json in nyu-mll/jiant-v1-legacy @8be1fad. It skips the former and never writes
    the latter.
    """
    has_empty_node = []
    for _, lines in numbered_blocks(read_lines(path)):
        words = [line.split("\t") for line in lines if re.match(r"\d+\t", line)]
        forms = [word[1] for word in words]
        upos = [word[3] for word in words]
        if words and not conllu.is_blanked(forms, upos):
            has_empty_node.append(any(re.match(r"\d+\.\d+\t", line) for line in lines))
    pairs = list(zip(split.records, has_empty_node, strict=True))
    records = [row for row, is_lost in pairs[:-1] if not is_lost]
    lost = Counter({"sentences that jiant loses": len(split.records) - len(records)})
    return Split(records, _count_units(records), split.irregular + lost)


def _count_units(records: list[dict]) -> Counter:
    tokens = sum(len(row["targets"]) for row in records)
    return Counter(sentences=len(records), tokens=tokens)
