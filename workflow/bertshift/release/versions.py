"""Columns that the tables of released versions lack, and the values that replace them.

A new column that figures read needs an entry in LACKS, and the version before it needs an archive
in tests/release/archives.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from bertshift.models.source import BERT
from bertshift.naming import is_pair
from bertshift.rows.table import Table

UNSTAMPED = "a version before 0.2.0"


@dataclass(frozen=True)
class Lack:
    """Columns that tables lack up to this released version: tables whose path matches `tables`
    have no `columns`. `meaning` tells a reader the consequence.

    The columns are filled with missing values, which mean `not known` in every table, or with
    those that `fill` reads from the table. blocks: whether the leave-one-block-out values are
    missing, too.
    """

    version: str
    tables: str
    columns: tuple[str, ...]
    meaning: str
    blocks: bool = False
    fill: Callable[[Table], pd.Series] | None = None


def _read_family(table: Table) -> pd.Series:
    """Read the family from the name of the checkpoint, which has it unless it is BERT."""
    families = table["checkpoint"].astype(str).str.partition(", family ")[2]
    return families.where(families != "", BERT)


LACKS = [
    Lack(
        "0.2.0", "results/.*", ("family",), "the names of checkpoints tell it", fill=_read_family
    ),
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


def completed(path: str, table: Table, lacks: Iterable[Lack] = LACKS) -> tuple[Table, list[str]]:
    """Complete the table at `path` with all columns that its version lacks. Return it with a
    sentence for each entry of `lacks` that leaves values missing."""
    notes = []
    for lack in lacks:
        columns = [column for column in lack.columns if column not in table]
        if not columns or not re.fullmatch(lack.tables, path):
            continue
        if _latest_version(table) > _parse_version(lack.version):
            continue
        if lack.fill:
            table = table.assign(**{lack.columns[0]: lack.fill(table)})
            continue
        table = table.assign(**dict.fromkeys(columns, np.nan))
        if lack.blocks:
            table = replace(table, left_out=np.full_like(table.left_out, np.nan))
        folder = path.rpartition("/")[0]
        missing = " and ".join(f"`{column}`" for column in columns)
        notes.append(f"{folder} of {written_by(table)} has no {missing}: {lack.meaning}.")
    return table, notes


def uneven(tables: Mapping[str, Table]) -> str:
    """Name in a phrase a table that lacks a column of a later version's table of the same kind;
    empty if there is none.

    Stacked, such tables would give missing values that no entry of LACKS explains.
    """
    for path, table in tables.items():
        for later_path, later in tables.items():
            same_kind = _kind(path) == _kind(later_path)
            if same_kind and _latest_version(table) < _latest_version(later):
                for column in later.rows.columns.difference(table.rows.columns, sort=False):
                    return f"{path} of {written_by(table)} has no column `{column}`"
    return ""


def _kind(path: str) -> tuple[str, bool, bool]:
    """Return the folder, whether the table compares two models, and whether it has losses."""
    return path.rpartition("/")[0], is_pair(path), path.endswith(".losses.tsv")


def lacking(error: KeyError, tables: Mapping[str, Table]) -> str:
    """Name in a phrase a table that lacks a column that caused `error`; empty if there is none."""
    for column in re.findall(r"'(\w+)'", str(error)):
        for path, table in tables.items():
            if column not in table:
                return f"{path} of {written_by(table)} has no column `{column}`"
    return ""


def written_by(table: Table) -> str:
    """Name the program and version that wrote a table: `bertshift 0.2.0`."""
    if "version" not in table:
        return UNSTAMPED
    return " and ".join(map(str, table["version"].dropna().unique()))


def _latest_version(table: Table) -> tuple[int, ...]:
    """Find the latest version among those that made the table's rows."""
    return max(map(_parse_version, written_by(table).split(" and ")))


def _parse_version(version: str) -> tuple[int, ...]:
    """Read the three numbers of a version; none of a table without a version."""
    match = re.search(r"(\d+)\.(\d+)\.(\d+)$", version)
    if not match or version == UNSTAMPED:
        return ()
    return tuple(map(int, match.groups()))
