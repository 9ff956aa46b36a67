"""Columns that the tables of released versions lack: the one list of them, and what stands in
their place.

A new column that figures read needs a line here, and the version that came before it an archive in
tests/release/archives.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bertshift.models.source import BERT
from bertshift.naming import is_pair
from bertshift.rows.blocks import JACKKNIFE_COLUMNS

UNSTAMPED = "a version before 0.2.0"


@dataclass(frozen=True)
class Lack:
    """Columns that tables lack up to this released version: tables whose path is like `tables`
    have no `columns`. `meaning` tells a reader what follows.

    The columns are filled with missing values, which stand for `not known` in every table, or with
    what `told_by` makes of the table. blocks: whether the values without each block of inputs are
    not there either.
    """

    version: str
    tables: str
    columns: tuple[str, ...]
    meaning: str
    blocks: bool = False
    told_by: Callable[[pd.DataFrame], pd.Series] | None = None


def _family(table: pd.DataFrame) -> pd.Series:
    """Read the family from the name of the checkpoint, which says it where it is not BERT."""
    said = table["checkpoint"].astype(str).str.partition(", family ")[2]
    return said.where(said != "", BERT)


LACKS = [
    Lack("0.2.0", "results/.*", ("family",), "the names of checkpoints tell it", told_by=_family),
    Lack(
        "0.2.0",
        "results/gains/.*",
        ("failed", "ref_failed"),
        "figures do not count runs that failed",
    ),
    Lack(
        "0.2.0",
        "results/(losses/.*|sweeps/.*[.]losses)[.]tsv",
        ("failed",),
        "figures do not count runs that failed",
    ),
    Lack(
        "0.2.0",
        "results/(ablation|forgetting|frozen|mdl|reinit_heads|sweeps)/.*(?<![.]losses)[.]tsv",
        ("low", "high"),
        "intervals are over replicates alone",
        blocks=True,
    ),
]


def completed(
    path: str, table: pd.DataFrame, lacks: Iterable[Lack] = LACKS
) -> tuple[pd.DataFrame, list[str]]:
    """Complete the table at `path` with all columns that its version lacks; with a sentence for
    each line of the list."""
    said = []
    for lack in lacks:
        columns = [column for column in lack.columns if column not in table]
        if columns and re.fullmatch(lack.tables, path) and _number(table) <= _parsed(lack.version):
            if lack.told_by:
                table = table.assign(**{lack.columns[0]: lack.told_by(table)})
                continue
            table = table.assign(**dict.fromkeys(columns, np.nan))
            table = (
                table.drop(columns=JACKKNIFE_COLUMNS, errors="ignore") if lack.blocks else table
            )
            named = " and ".join(f"`{column}`" for column in columns)
            said.append(
                f"{path.rpartition('/')[0]} of {written_by(table)} has no {named}: {lack.meaning}."
            )
    return table, said


def uneven(tables: Mapping[str, pd.DataFrame]) -> str:
    """Write the phrase that says which table lacks a column that a later version's table of the
    same kind has; empty if none does.

    Below each other, such tables would give missing values that no line of the list explains.
    """
    for path, table in tables.items():
        for other_path, other in tables.items():
            if _kind(path) == _kind(other_path) and _number(table) < _number(other):
                for column in other.columns.difference([*table, *JACKKNIFE_COLUMNS], sort=False):
                    return f"{path} of {written_by(table)} has no column `{column}`"
    return ""


def _kind(path: str) -> tuple[str, bool, bool]:
    return path.rpartition("/")[0], is_pair(path), path.endswith(".losses.tsv")


def lacking(error: KeyError, tables: Mapping[str, pd.DataFrame]) -> str:
    """Write the phrase that says which table lacks a column that was asked for; empty where each
    table has it."""
    for column in re.findall(r"'(\w+)'", str(error)):
        for path, table in tables.items():
            if column not in table:
                return f"{path} of {written_by(table)} has no column `{column}`"
    return ""


def written_by(table: pd.DataFrame) -> str:
    """Name the program and version that wrote a table: `bertshift 0.2.0`."""
    return (
        " and ".join(map(str, table["version"].dropna().unique()))
        if "version" in table
        else UNSTAMPED
    )


def _number(table: pd.DataFrame) -> tuple[int, ...]:
    """Find the latest version among those that made the table's rows."""
    return max(map(_parsed, written_by(table).split(" and ")))


def _parsed(version: str) -> tuple[int, ...]:
    found = re.search(r"(\d+)\.(\d+)\.(\d+)$", version)
    return tuple(map(int, found.groups())) if found and version != UNSTAMPED else ()
