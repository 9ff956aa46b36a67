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
    """An archive's tables, compared with those of the same names here: those with the same bytes,
    those that are missing here, those that differ only in the version of the program, and other
    ones with their differences."""

    same: list[str]
    missing: list[str]
    version: list[str]
    other: dict[str, str]


def compare(archive: ZipFile, folder: Path) -> Compared:
    """Compare all tables of `archive` with those of the same names in `folder`."""
    compared = Compared([], [], [], {})
    for name in sorted(archive.namelist()):
        if not name.endswith(".tsv"):
            continue
        path, content = folder / name, read(archive, name)
        if not path.is_file():
            compared.missing.append(name)
        elif path.read_bytes() == content:
            compared.same.append(name)
        else:
            phrases = list(differences(read_tsv(io.BytesIO(content)), read_tsv(path)))
            if phrases:
                compared.other[name] = "; ".join(phrases)
            else:
                compared.version.append(name)
    return compared


def differences(theirs: pd.DataFrame, ours: pd.DataFrame) -> Iterator[str]:
    """Yield a phrase for each column but `version` that differs from the archive's, or one for the
    number of rows."""
    theirs = theirs.drop(columns="version", errors="ignore")
    ours = ours.drop(columns="version", errors="ignore")
    for column in theirs.columns.symmetric_difference(ours.columns, sort=False):
        yield f"column `{column}` is {'missing' if column in theirs else 'new'} here"
    if len(theirs) != len(ours):
        yield f"{len(ours)} rows here, {len(theirs)} in the archive"
        return
    for column in theirs.columns.intersection(ours.columns, sort=False):
        there, here = theirs[column], ours[column]
        differ = ~((there == here) | (there.isna() & here.isna()))
        if differ.any():
            size = _describe_size(there[differ], here[differ])
            yield f"`{column}` {size}in {differ.sum()} of {len(ours)} rows"


def _describe_size(there: pd.Series, here: pd.Series) -> str:
    """Say how far two columns differ: `by at most 0.02 ` for numbers, nothing for text."""
    if {there.dtype.kind, here.dtype.kind} - set("iuf"):
        return ""
    distance = np.abs(there.to_numpy(np.float64) - here.to_numpy(np.float64))
    missing = np.isnan(distance)
    phrases = []
    if not missing.all():
        phrases.append(f"by at most {distance[~missing].max():.3g}")
    if missing.any():
        phrases.append("by a missing value")
    return " or ".join(phrases) + " "


def other_settings(theirs: Mapping, ours: Mapping) -> list[str]:
    """List the top-level keys whose values differ between two configurations."""
    return [key for key in {**theirs, **ours} if theirs.get(key) != ours.get(key)]


def sentences(compared: Compared) -> Iterator[str]:
    """Yield the comparison in plain words, differences first."""
    for name, difference in compared.other.items():
        yield f"{name} differs: {difference}."
    for name in compared.missing:
        yield f"{name} is missing here."
    groups = {
        "the same bytes here": compared.same,
        "the same but for the version of the program": compared.version,
        "different": compared.other,
        "missing here": compared.missing,
    }
    counts = [f"{len(names)} {words}" for words, names in groups.items() if names]
    yield f"Tables: {', '.join(counts)}."
