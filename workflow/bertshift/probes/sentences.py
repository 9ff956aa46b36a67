from collections.abc import Mapping
from pathlib import Path

from bertshift.data.edges.records import SPLITS, read_edge_sidecar, read_edges
from bertshift.data.examples import sample
from bertshift.data.provenance import ORIGINS


def records_used(
    folder: Path, task: str, split: str, sizes: Mapping[str, int | None]
) -> list[dict]:
    """Select the records of a split that probes read, the same for every model; `sizes` by split,
    None for all.

    They are random samples of the training and the test records, and the first development
    records, as jiant takes them.
    """
    records = read_edges(folder, split)
    size = sizes[split]
    return records[:size] if split == "dev" else sample(records, size, task, split)


def distinct_sentences(
    folders: Mapping[str, Path], sizes: Mapping[str, Mapping[str, int | None]]
) -> list[dict]:
    """List each sentence that a probe of any task reads, once, in order of appearance: rows of id
    and words."""
    rows = {}
    for task, folder in folders.items():
        for split in SPLITS:
            for number, record in enumerate(records_used(folder, task, split, sizes[task])):
                words = tuple(record["words"])
                rows.setdefault(words, {"id": f"{task}-{split}-{number}", "words": list(words)})
    return list(rows.values())


def describe(folders: Mapping[str, Path]) -> str:
    """Name the corpora that the records of all tasks come from, for a table's `data` column."""
    names: dict[str, list[str]] = {}
    for sidecar in map(read_edge_sidecar, folders.values()):
        names.setdefault(ORIGINS[sidecar["origin"]], []).append(sidecar["name"])
    return ", ".join(f"{', '.join(corpora)} ({origin})" for origin, corpora in names.items())
