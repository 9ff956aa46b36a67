from collections.abc import Mapping
from pathlib import Path

from bertshift.data.edges.records import SPLITS, read_edge_sidecar, read_edges
from bertshift.data.examples import sample
from bertshift.provenance import ORIGINS


def training_records(folder: Path, task: str, max_train: int | None) -> list[dict]:
    """The training records of a task, or a random sample of `max_train`, the same for every model."""
    return sample(read_edges(folder, "train"), max_train, task, "train")


def distinct_sentences(folders: Mapping[str, Path], max_train: Mapping[str, int | None]) -> list[dict]:
    """Rows of id and words: each sentence that a probe of any task reads, once, in order of appearance."""
    rows = {}
    for task, folder in folders.items():
        for split in SPLITS:
            records = (
                training_records(folder, task, max_train[task])
                if split == "train"
                else read_edges(folder, split)
            )
            for number, record in enumerate(records):
                words = tuple(record["text"].split())
                rows.setdefault(words, {"id": f"{task}-{split}-{number}", "words": list(words)})
    return list(rows.values())


def describe(folders: Mapping[str, Path], source: str) -> str:
    """Which corpora the records of all tasks come from, for a table's `data` column."""
    names = ", ".join(read_edge_sidecar(folder)["name"] for folder in folders.values())
    return f"{names} ({ORIGINS[source]})"
