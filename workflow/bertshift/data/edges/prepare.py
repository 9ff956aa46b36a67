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
    more: Iterable[str] = ()  # optional files of an entry


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
    publishers' addresses. Records without targets are counted, not written. UserError for a
    missing or damaged file, and for other counts than expected where the entry is strict.
    """
    root, directory = Path(root), Path(directory)
    files = _find_files(name, spec, root)
    splits = FORMATS[spec["format"]].read(spec["task"], files)
    if spec.get("jiant_compat"):
        splits = {
            split: treebank.without_lost_by_jiant(splits[split], files[split]) for split in SPLITS
        }
    counts = {split: _count_units(splits[split]) for split in SPLITS}
    empty = [split for split in SPLITS if not counts[split]["targets"]]
    if empty:
        raise UserError(f"The {empty[0]} split of {name!r} has no targets; fetch its files again.")
    labels = sorted(set().union(*map(_collect_labels, splits.values())))
    differences = list(_describe_differences(spec.get("expected") or {}, counts, len(labels)))
    if differences and spec.get("strict"):
        raise UserError(
            f"{name!r} does not have the counts of its entry in the catalogue:"
            f" {'; '.join(differences)}. Make the files again, or set strict to false there."
        )
    irregular = {}
    # The sidecar is written last: where it exists, the records are complete.
    (directory / SIDECAR).unlink(missing_ok=True)
    for split in SPLITS:
        records = splits[split].records
        with_targets = [record for record in records if record["targets"]]
        without_targets = Counter({"records without targets": len(records) - len(with_targets)})
        irregular[split] = dict(sorted((splits[split].irregular + without_targets).items()))
        write_jsonl(directory / f"{split}.jsonl", with_targets)
    shape = TASKS[spec["task"]]
    paths = [str(path.relative_to(root)) for path in files.values()]
    sidecar = {
        "name": name,
        **{key: spec[key] for key in ("task", "format")},
        "licence": spec.get("licence", NOT_STATED),
        "origin": origin,
        "source": f"{'download' if origin == HUB else origin}:{','.join(paths)}",
        "source_sha256": {path: _hash_path(root / path) for path in paths},
        "spans": shape.spans,
        "multilabel": shape.multilabel,
        "labels": labels,
        "counts": counts,
        "expected": spec.get("expected"),
        "remarks": [spec["remark"], *differences] if spec.get("remark") else differences,
        "irregular": irregular,
    }
    write_json(directory / SIDECAR, sidecar)


def _count_units(split: Split) -> dict[str, int]:
    targets = [len(record["targets"]) for record in split.records]
    records = sum(number > 0 for number in targets)
    return {**split.source, "records": records, "targets": sum(targets)}


def _collect_labels(split: Split) -> set[str]:
    labels = set()
    for record in split.records:
        for target in record["targets"]:
            label = target["label"]
            labels.update([label] if isinstance(label, str) else label)
    return labels


def _describe_differences(
    expected: Mapping, counts: Mapping[str, Mapping[str, int]], labels: int
) -> Iterator[str]:
    if expected.get("labels", labels) != labels:
        yield f"{labels} labels, {expected['labels']} expected"
    for split in SPLITS:
        for unit, expected_count in expected.get(split, {}).items():
            count = counts[split].get(unit, "no")
            if count != expected_count:
                yield f"{split}: {count} {unit}, {expected_count} expected"


def _find_files(name: str, spec: Mapping, root: Path) -> dict[str, Path]:
    """Find the entry's files and folders. UserError where one does not exist."""
    files = {part: root / path for part, path in spec["files"].items()}
    for part, path in files.items():
        if not path.exists():
            source = f" from {spec['url']}" if "url" in spec else ""
            raise UserError(
                f"{path} does not exist, which the edge set {name!r} needs ({part}); put it"
                f" there{source}."
            )
    return files


def _hash_path(path: Path) -> str:
    """Hash a file by SHA-256, a folder by the names and SHA-256s of all its files."""
    if path.is_file():
        return sha256(path)
    files = sorted(file for file in path.rglob("*") if file.is_file())
    listing = "".join(f"{file.relative_to(path)} {sha256(file)}\n" for file in files)
    return hashlib.sha256(listing.encode()).hexdigest()
