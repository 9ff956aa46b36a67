import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from bertshift.data.edges import gum, jiant, ontonotes, propbank, semeval, spr, treebank, uner
from bertshift.data.edges.records import SIDECAR, SPLITS, TASKS, Split
from bertshift.data.examples import NOT_STATED
from bertshift.data.provenance import HUB, MIRROR
from bertshift.errors import UserError
from bertshift.files import sha256, write_json, write_jsonl


class Format(NamedTuple):
    read: Callable[[str, Mapping[str, Path]], dict[str, Split]]
    tasks: Iterable[str]
    files: Iterable[str] = SPLITS
    more: Iterable[str] = ()  # files that an entry may name or not


FORMATS = {
    "jiant": Format(jiant.read, TASKS),
    "conllu": Format(treebank.read, ["dependencies"]),
    "propbank": Format(propbank.read, ["pos", "constituents", "srl"], more=["skeletons"]),
    "iob2": Format(uner.read, ["entities"]),
    "gum": Format(gum.read, ["pos", "constituents", "entities", "coref"], ["archive"]),
    "semeval": Format(semeval.read, ["relations"], ["train", "test"]),
    "spr1": Format(spr.read_spr1, ["spr"], ["rows", "trees"]),
    "spr2": Format(spr.read_spr2, ["spr"], ["rows", *SPLITS]),
    "ontonotes": Format(ontonotes.read, ["pos", "constituents", "entities", "srl", "coref"]),
}


def prepare_edges(
    name: str, spec: Mapping, root: Path, directory: Path, origin: str = MIRROR
) -> None:
    """Write `directory`/{train,dev,test}.jsonl and, last, edges.json from the files of `spec`
    below `root`.

    `spec` is the edge set's entry in config/edges.yaml, as its schema allows it; `origin` says
    what `root` is: the generated world, a mirror, or, as HUB, a folder of files under their
    publishers' addresses. Records without targets are counted, not written. Raises UserError for a
    missing or damaged file, and for other counts than expected where the entry is strict.
    """
    root, directory = Path(root), Path(directory)
    files = _files(name, spec, root)
    splits = FORMATS[spec["format"]].read(spec["task"], files)
    if spec.get("jiant_compat"):
        splits = {
            split: treebank.without_lost_by_jiant(splits[split], files[split]) for split in SPLITS
        }
    counts = {split: _counts(splits[split]) for split in SPLITS}
    empty = [split for split in SPLITS if not counts[split]["targets"]]
    if empty:
        raise UserError(f"The {empty[0]} split of {name!r} has no targets; fetch its files again.")
    labels = sorted({label for split in splits.values() for label in _labels(split)})
    differences = list(_differences(spec.get("expected") or {}, counts, len(labels)))
    if differences and spec.get("strict"):
        raise UserError(
            f"{name!r} does not have the counts of its entry in the catalogue:"
            f" {'; '.join(differences)}. Make the files again, or set strict to false there."
        )
    irregular = {split: Counter(splits[split].irregular) for split in SPLITS}
    # The sidecar takes its name last: where it is, the records are whole.
    (directory / SIDECAR).unlink(missing_ok=True)
    for split in SPLITS:
        filled = [record for record in splits[split].records if record["targets"]]
        irregular[split]["records without targets"] = len(splits[split].records) - len(filled)
        write_jsonl(directory / f"{split}.jsonl", filled)
    shape = TASKS[spec["task"]]
    names = ",".join(str(path.relative_to(root)) for path in files.values())
    sidecar = {
        "name": name,
        **{key: spec[key] for key in ("task", "format")},
        "licence": spec.get("licence", NOT_STATED),
        "origin": origin,
        "source": f"{'download' if origin == HUB else origin}:{names}",
        "source_sha256": {str(path.relative_to(root)): _digest(path) for path in files.values()},
        "spans": shape.spans,
        "multilabel": shape.multilabel,
        "labels": labels,
        "counts": counts,
        "expected": spec.get("expected"),
        "remarks": [*filter(None, [spec.get("remark")]), *differences],
        "irregular": {split: dict(sorted((+found).items())) for split, found in irregular.items()},
    }
    write_json(directory / SIDECAR, sidecar)


def _counts(split: Split) -> dict[str, int]:
    targets = [len(record["targets"]) for record in split.records]
    return {**split.source, "records": sum(map(bool, targets)), "targets": sum(targets)}


def _labels(split: Split) -> Iterator[str]:
    for record in split.records:
        for target in record["targets"]:
            label = target["label"]
            yield from [label] if isinstance(label, str) else label


def _differences(
    expected: Mapping, counts: Mapping[str, Mapping[str, int]], labels: int
) -> Iterator[str]:
    if expected.get("labels", labels) != labels:
        yield f"{labels} labels, {expected['labels']} expected"
    for split in SPLITS:
        for unit, number in expected.get(split, {}).items():
            if counts[split].get(unit) != number:
                yield f"{split}: {counts[split].get(unit, 'no')} {unit}, {number} expected"


def _files(name: str, spec: Mapping, root: Path) -> dict[str, Path]:
    """Find the entry's files and folders. UserError where one does not exist."""
    for part, path in spec["files"].items():
        if not (root / path).exists():
            raise UserError(
                f"{root / path} does not exist, which the edge set {name!r} needs ({part}); put it"
                " there" + (f" from {spec['url']}." if "url" in spec else ".")
            )
    return {part: root / path for part, path in spec["files"].items()}


def _digest(path: Path) -> str:
    """Hash a file by SHA-256, and a folder by the names and SHA-256s of all its files."""
    if path.is_file():
        return sha256(path)
    inside = sorted(each for each in path.rglob("*") if each.is_file())
    return hashlib.sha256(
        "".join(f"{each.relative_to(path)} {sha256(each)}\n" for each in inside).encode()
    ).hexdigest()
