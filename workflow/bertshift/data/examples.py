from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bertshift.errors import UserError
from bertshift.files import read_json, read_jsonl
from bertshift.seeds import seed_from

# Rows of examples.jsonl by `kind` of the data set; each begins with "id" and "split":
#   sentence  text_a, label                         label: the class's name, or a number for a regression
#   pair      text_a, text_b, label
#   qa        question, context, answers [{text, start}], impossible
#   treebank  text, words, upos, xpos, heads (1-based, 0 is the root), deprels
#   text      text, document, sentence               successive numbers are successive sentences
EXAMPLES = "examples.jsonl"
SIDECAR = "dataset.json"
NOT_STATED = "not stated"  # the licence of a data set whose entry names none


def read_sidecar(directory: Path) -> dict:
    """What is known of a prepared data set: where it came from, and its rows beside those published.

    Keys: name, kind, format, licence, source, revision, source_sha256 {file: sha}, examples_sha256, rows,
    published, complete {split: bool}, labels (ordered names, or null), remarks [sentence], irregular
    {split: {what was dropped or mended: number}}.
    """
    path = Path(directory) / SIDECAR
    if not path.is_file():
        raise UserError(f"{path} does not exist; prepare the data set {Path(directory).name!r} first.")
    return read_json(path)


def read_examples(directory: Path, split: str) -> list[dict]:
    """The rows of one split in the publisher's order; UserError for a split that the data set lacks."""
    rows = read_sidecar(directory)["rows"]
    if split not in rows:
        raise UserError(f"{directory} has no split {split!r}, only {', '.join(rows)}; ask for one of these.")
    return [row for row in read_jsonl(Path(directory) / EXAMPLES) if row["split"] == split]


def sample(rows: Sequence[dict], size: int | None, dataset: str, split: str) -> list[dict]:
    """At most `size` rows in their order, drawn by the names of data set and split alone. UserError if none is left."""
    if not rows:
        raise UserError(f"{dataset} has no rows in split {split}; check its files in config/datasets.yaml.")
    if size is None or size >= len(rows):
        return list(rows)
    chosen = np.random.default_rng(seed_from("sample", dataset, split)).permutation(len(rows))[:size]
    return [rows[i] for i in np.sort(chosen)]
