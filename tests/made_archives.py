"""Tables as an archive holds them."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from bertshift.rows.blocks import write_with_blocks


def written(folder: Path, tables: Mapping[str, pd.DataFrame]) -> dict[str, Path]:
    """Write tables, with what stands beside them, below a folder of their own: {name in the archive: file}."""
    for path, table in tables.items():
        write_with_blocks(folder / path, table)
    return {file.relative_to(folder).as_posix(): file for file in folder.rglob("*.*") if file.is_file()}
