from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bertshift.data.conllu import UNSPECIFIED, is_blanked
from bertshift.errors import UserError
from bertshift.files import read_json, read_jsonl

SPLITS = ("train", "dev", "test")
SIDECAR = "edges.json"


class TargetForm(NamedTuple):
    """The form of a task's targets."""

    spans: int
    multilabel: bool = False
    tokens: bool = False  # span1 is a single word, and no word comes twice


TASKS = {
    "pos": TargetForm(1, tokens=True),
    "constituents": TargetForm(1),
    "dependencies": TargetForm(2, tokens=True),
    "entities": TargetForm(1),
    "srl": TargetForm(2),
    "coref": TargetForm(2),
    "spr": TargetForm(2, multilabel=True),
    "relations": TargetForm(2),
}


class Split(NamedTuple):
    """One split as read: its records, the contents of its files {unit: number}, and the items left
    out {reason: number}."""

    records: list[dict]
    source: Counter
    irregular: Counter


def empty_splits() -> dict[str, Split]:
    return {split: Split([], Counter(), Counter()) for split in SPLITS}


def target(
    label: str | list[str], span1: tuple[int, int], span2: tuple[int, int] | None = None
) -> dict:
    """Make a target of a record; spans are [start, end) in words."""
    second = {} if span2 is None else {"span2": list(span2)}
    return {"span1": list(span1), **second, "label": label}


def record(task: str, where: str, words: Sequence[str], targets: list[dict], **info) -> dict:
    """Make a record {words, info, targets} that the probes of `task` take. A word may hold spaces
    ("26 000").

    The UserError for a fault begins with `where` (file and line).
    """
    if is_blanked(words):
        raise UserError(
            f"{where}: {words[0]} stands for every word, as the corpus is published without its"
            " texts; put the words in as its README says, or leave such sentences out."
        )
    if fault := _find_fault(words, targets, TASKS[task]):
        raise UserError(f"{where}: {fault}; correct the file or fetch it again.")
    return {"words": list(words), "info": info, "targets": targets}


def _find_fault(words: Sequence[str], targets: list, shape: TargetForm) -> str | None:
    """Describe the first fault of a record, or return None."""
    if not words:
        return "the sentence has no words"
    if not all(words):
        return f"word {list(words).index('') + 1} is empty"
    for number, item in enumerate(targets, 1):
        if fault := _find_target_fault(item, shape, len(words)):
            return f"target {number} {fault}"
    if shape.tokens:
        targets_at = Counter(item["span1"][0] for item in targets)
        for start, number in targets_at.items():
            if number > 1:
                return f"word {start + 1} has several targets where each word has one"
    return None


def _find_target_fault(item: Mapping, shape: TargetForm, length: int) -> str | None:
    if not isinstance(item, dict):
        return "is not an object"
    expected = ["span1", "span2"][: shape.spans]
    present = [name for name in ("span1", "span2") if name in item]
    if present != expected:
        return f"has {' and '.join(present) or 'no span'} where {' and '.join(expected)} should be"
    for name in expected:
        span = item[name]
        if not isinstance(span, list) or [type(bound) for bound in span] != [int, int]:
            return f"has the {name} {span}, which is not [start, end)"
        start, end = span
        if start >= end:
            return f"has the empty {name} [{start}, {end})"
        if start < 0 or end > length:
            return f"has the {name} [{start}, {end}) outside its {length} words"
    start, end = item["span1"]
    if shape.tokens and end - start > 1:
        return f"has the span1 {item['span1']} where a single word should be"
    label = item.get("label")
    labels = [label] if isinstance(label, str) else label
    if not isinstance(labels, list) or not all(map(_is_label, labels)):
        return "has no label"
    if not shape.multilabel and len(labels) != 1:
        return f"has {len(labels)} labels where one should be"
    return None


def _is_label(name: object) -> bool:
    return isinstance(name, str) and name not in ("", UNSPECIFIED)


def read_edge_sidecar(directory: Path) -> dict:
    """Read the sidecar of a prepared edge set.

    Keys: name, task, format, licence, origin, source, source_sha256 {file: sha}, spans (1 or 2),
    multilabel, labels (sorted, over all splits), counts {split: {unit: number}}, expected (the
    same form, perhaps with the number of labels, or null), remarks [sentence], irregular {split:
    {reason: number}}.
    """
    path = Path(directory) / SIDECAR
    if not path.is_file():
        raise UserError(
            f"{path} does not exist; prepare the edge set {Path(directory).name!r} first."
        )
    return read_json(path)


def read_edges(directory: Path, split: str) -> list[dict]:
    """Read the records of one split, each with at least one target. UserError for a split that
    does not exist."""
    splits = read_edge_sidecar(directory)["counts"]
    if split not in splits:
        raise UserError(
            f"{directory} has no split {split!r}, only {', '.join(splits)}; ask for one of these."
        )
    return list(read_jsonl(Path(directory) / f"{split}.jsonl"))
