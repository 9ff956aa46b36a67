from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from bertshift.data import conllu, glue_tsv, hub, plain_text, squad_json
from bertshift.data.examples import EXAMPLES, NOT_STATED, SIDECAR
from bertshift.data.provenance import HUB, MIRROR
from bertshift.errors import UserError
from bertshift.files import atomic, sha256, write_json, write_jsonl

# Rows, and a count of dropped and mended rows, which is complete once the rows have been read.
Rows = tuple[Iterable[dict], Counter]
Reader = Callable[[Path, Mapping], Rows]
READERS: dict[str, Reader] = {
    "glue_tsv": glue_tsv.read,
    "squad_json": squad_json.read,
    "conllu": conllu.read,
    "text": plain_text.read,
}


def prepare_from_mirror(
    name: str, spec: Mapping, mirror: Path, directory: Path, origin: str = MIRROR
) -> None:
    """Write `directory`/examples.jsonl and dataset.json from files in the publisher's layout.

    spec: the data set's entry in config/datasets.yaml, as its schema allows it
    mirror: the folder above these files
    origin: whether the mirror is the generated world

    UserError for a missing or damaged file; then neither file is written.
    """
    mirror, read = Path(mirror), READERS[spec["format"]]
    files = {
        split: _find_first_existing(name, split, mirror, candidates)
        for split, candidates in spec["mirror"].items()
    }
    splits = {split: read(mirror / file, spec) for split, file in files.items()}
    checksums = {file: sha256(mirror / file) for file in files.values()}
    _write_dataset(
        name, spec, splits, origin, ",".join(files.values()), None, checksums, directory
    )


def prepare_from_hub(name: str, spec: Mapping, directory: Path, cache: Path | None) -> None:
    """Write the same two files from the Hugging Face hub, at the commit that `spec["hub"]` pins.

    `cache` is where `datasets` keeps its prepared copies (None: its own default); the files as
    downloaded are in the hub client's cache, which HF_HOME names. UserError as
    `prepare_from_mirror` does, and where a bounded number of attempts did not bring the files.
    """
    splits, checksums = hub.read(name, spec, cache)
    location, revision = hub.name_revision(spec["hub"]), spec["hub"]["revision"]
    _write_dataset(name, spec, splits, HUB, location, revision, checksums, directory)


def _find_first_existing(name: str, split: str, mirror: Path, candidates: Iterable[str]) -> str:
    for candidate in candidates:
        if (mirror / candidate).is_file():
            return candidate
    raise UserError(
        f"The mirror {mirror} has no {split} file of {name!r}; put {' or '.join(candidates)}"
        " there."
    )


def _write_dataset(
    name: str,
    spec: Mapping,
    splits: Mapping[str, Rows],
    origin: str,
    location: str,
    revision: str | None,
    checksums: Mapping[str, str],
    directory: Path,
) -> None:
    source = f"{origin}:{location}"
    directory = Path(directory)
    counts = dict.fromkeys(splits, 0)
    # The sidecar is written last: where it exists, the examples are complete.
    with atomic(directory / EXAMPLES) as examples:
        write_jsonl(examples, _add_ids(splits, counts))
        if empty := [split for split in splits if not counts[split]]:
            _, irregular = splits[empty[0]]
            left_out = ", ".join(f"{number} {reason}" for reason, number in irregular.items())
            raise UserError(
                f"The {empty[0]} split of {name!r} from {source} has no rows"
                f"{left_out and f' ({left_out})'}; add some or fetch it again."
            )
        digest = sha256(examples)
        (directory / SIDECAR).unlink(missing_ok=True)
    published = spec.get("published") or {}
    published = {split: published.get(split) for split in splits}
    labels = spec.get("labels")
    sidecar = {
        "name": name,
        **{key: spec[key] for key in ("kind", "format")},
        "licence": spec.get("licence", NOT_STATED),
        "origin": origin,
        "source": source,
        "revision": revision,
        "source_sha256": dict(checksums),
        "examples_sha256": digest,
        "rows": counts,
        "published": published,
        "complete": {split: counts[split] == published[split] for split in splits},
        "labels": list(dict.fromkeys(labels.values())) if labels else None,
        "remarks": [
            _describe_count(split, counts[split], published[split])
            for split in splits
            if counts[split] != published[split]
        ],
        "irregular": {
            split: dict(sorted((+irregular).items())) for split, (_, irregular) in splits.items()
        },
    }
    write_json(directory / SIDECAR, sidecar)


def _add_ids(splits: Mapping[str, Rows], counts: dict[str, int]) -> Iterator[dict]:
    """Yield rows with "id" (the publisher's if there is one) and "split" in front; count them in
    `counts`."""
    seen = Counter()
    for split, (rows, irregular) in splits.items():
        for row in rows:
            key = row.pop("id", None)
            if key is None:
                key = f"{split}-{counts[split]}"
            else:
                seen[key] += 1
                if seen[key] > 1:
                    irregular["repeated ids, numbered apart"] += 1
                    key = f"{key}#{seen[key]}"
            counts[split] += 1
            yield {"id": key, "split": split, **row}


def _describe_count(split: str, rows: int, published: int | None) -> str:
    if published is None:
        return f"{split}: {rows} rows; no published number to compare with"
    if rows < published:
        return f"{split}: a sample, {rows} of {published} published rows"
    return (
        f"{split}: {rows} rows, {rows - published} more than published; another edition or another"
        " split"
    )
