"""The files of the maps to be labelled."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bertshift.files import atomic

TABLE, MAPS = "maps.tsv", "maps.npz"


def write_maps(path: Path, maps: Sequence[np.ndarray], special: Sequence[np.ndarray]) -> None:
    flat = np.concatenate([weights.ravel() for weights in maps])
    lengths = np.array([len(weights) for weights in maps])
    with atomic(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, flat=flat, lengths=lengths, special=np.concatenate(special))


def read_maps(path: Path) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Read the maps [L, L], and whether each of their tokens [L] is special."""
    with np.load(path) as stored:
        flat, lengths, special = stored["flat"], stored["lengths"], stored["special"]
    parts = np.split(flat, np.cumsum(lengths**2)[:-1])
    maps = [part.reshape(length, length) for part, length in zip(parts, lengths, strict=True)]
    return maps, np.split(special, np.cumsum(lengths)[:-1])
