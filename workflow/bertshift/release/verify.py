"""Differences between the tables of an archive and those of a rerun."""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pandas as pd

from bertshift.files import read_tsv
from bertshift.release.archive import read


@dataclass(frozen=True)
class Compared:
    """The comparison of an archive's tables with what is here in their place: the same bytes,
    none, the same but for the version of the program that made it, or another, with what it
    differs in."""

    same: list[str]
    missing: list[str]
    version: list[str]
    other: dict[str, str]


def compare(archive: ZipFile, folder: Path) -> Compared:
    """Compare all tables of `archive` with those of the same names in `folder`."""
    found = Compared([], [], [], {})
    for name in sorted(name for name in archive.namelist() if name.endswith(".tsv")):
        here, there = folder / name, read(archive, name)
        if not here.is_file():
            found.missing.append(name)
        elif here.read_bytes() == there:
            found.same.append(name)
        elif said := "; ".join(differences(read_tsv(io.BytesIO(there)), read_tsv(here))):
            found.other[name] = said
        else:
            found.version.append(name)
    return found


def differences(theirs: pd.DataFrame, ours: pd.DataFrame) -> Iterator[str]:
    """Yield a phrase for each column but `version` that differs from the archive's, or one for the
    number of rows."""
    theirs, ours = (table.drop(columns="version", errors="ignore") for table in (theirs, ours))
    for column in theirs.columns.symmetric_difference(ours.columns, sort=False):
        yield f"column `{column}` is {'missing' if column in theirs else 'new'} here"
    if len(theirs) != len(ours):
        yield f"{len(ours)} rows here, {len(theirs)} in the archive"
        return
    for column in theirs.columns.intersection(ours.columns, sort=False):
        there, here = theirs[column], ours[column]
        differ = ~((there == here) | (there.isna() & here.isna()))
        if differ.any():
            yield (
                f"`{column}` {_by(there[differ], here[differ])}in {differ.sum()} of {len(ours)}"
                " rows"
            )


def _by(there: pd.Series, here: pd.Series) -> str:
    """Say how far two columns differ: `by at most 0.02 ` for numbers, nothing for text."""
    if {there.dtype.kind, here.dtype.kind} - set("iuf"):
        return ""
    distance = np.abs(there.to_numpy(np.float64) - here.to_numpy(np.float64))
    missing = np.isnan(distance)
    most = [f"by at most {distance[~missing].max():.3g}"] if not missing.all() else []
    return " or ".join(most + ["by a missing value"] * int(missing.any())) + " "


def other_settings(theirs: Mapping, ours: Mapping) -> list[str]:
    """List the top-level keys whose values differ between two configurations."""
    return [key for key in {**theirs, **ours} if theirs.get(key) != ours.get(key)]


def sentences(found: Compared) -> Iterator[str]:
    """Yield the comparison in plain words, what differs first."""
    for name, said in found.other.items():
        yield f"{name} differs: {said}."
    for name in found.missing:
        yield f"{name} is missing here."
    counts = {
        "the same bytes here": found.same,
        "the same but for the version of the program": found.version,
        "different": found.other,
        "missing here": found.missing,
    }
    yield (
        "Tables: "
        + ", ".join(f"{len(names)} {words}" for words, names in counts.items() if names)
        + "."
    )
