import json
from array import array
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bertshift.errors import UserError
from bertshift.files import read_json, read_jsonl, sha256
from bertshift.seeds import seed_from

# Rows of examples.jsonl by `kind` of the data set; each begins with "id" and "split": sentence
# text_a, label                         label: the class's name, or a number for a regression pair
# text_a, text_b, label qa        question, context, answers [{text, start}], impossible treebank
# text, words, upos, xpos, heads (1-based, 0 is the root), deprels text      text, document,
# sentence               successive numbers are successive sentences
EXAMPLES = "examples.jsonl"
SIDECAR = "dataset.json"
NOT_STATED = "not stated"  # the licence of a data set whose entry names none


def read_sidecar(directory: Path) -> dict:
    """Read the sidecar of a prepared data set: where it came from, how many rows it has and how
    many were published.

    Keys: name, kind, format, licence, origin, source, revision, source_sha256 {file: sha},
    examples_sha256, rows, published, complete {split: bool}, labels (ordered names, or null),
    remarks [sentence], irregular {split: {kind of dropped or mended row: number}}.
    """
    path = Path(directory) / SIDECAR
    if not path.is_file():
        raise UserError(
            f"{path} does not exist; prepare the data set {Path(directory).name!r} first."
        )
    return read_json(path)


def read_examples(directory: Path, split: str) -> list[dict]:
    """Read the rows of one split in the publisher's order. UserError for a split that the data set
    lacks."""
    rows = read_jsonl(_find_examples(directory, split))
    return [row for row in rows if row["split"] == split]


class Examples(Sequence):
    """The rows of `read_examples`, each read from the file at its access: Wikipedia's would fill
    gigabytes."""

    def __init__(self, directory: Path, split: str):
        path = _find_examples(directory, split)
        self.file = open(path, "rb")  # noqa: SIM115 - as long as the rows are read
        self.starts, start = array("q"), 0
        for row, line in zip(read_jsonl(path), self.file, strict=True):
            if row["split"] == split:
                self.starts.append(start)
            start += len(line)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: int) -> dict:
        self.file.seek(self.starts[index])
        return json.loads(self.file.readline())


def _find_examples(directory: Path, split: str) -> Path:
    """Find the file of a data set's rows. UserError if its sidecar has another SHA-256, or lacks
    this split."""
    sidecar = read_sidecar(directory)
    path = Path(directory) / EXAMPLES
    rows = sidecar["rows"]
    if split not in rows:
        raise UserError(
            f"{directory} has no split {split!r}, only {', '.join(rows)}; ask for one of these."
        )
    if sha256(path) != sidecar["examples_sha256"]:
        raise UserError(
            f"{path} is damaged: {SIDECAR} beside it tells of other bytes; delete both and call"
            " the same command again, which makes them again."
        )
    return path


def sample(rows: Sequence[dict], size: int | None, dataset: str, split: str) -> list[dict]:
    """Draw at most `size` rows, which keep their order. The draw depends on the names of data set
    and split alone. UserError if there are no rows."""
    if not rows:
        raise UserError(
            f"{dataset} has no rows in split {split}; check its files in config/datasets.yaml."
        )
    if size is None or size >= len(rows):
        return list(rows)
    rng = np.random.default_rng(seed_from("sample", dataset, split))
    chosen = rng.permutation(len(rows))[:size]
    return [rows[index] for index in np.sort(chosen)]
