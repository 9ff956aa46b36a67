"""Archives of runs: of figures of MNLI alone, with the real run's tables."""

import base64
import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import yaml
from made_papers import configuration, real
from made_tables import of_columns

from bertshift.release import archive


def written(folder: Path, tables: Mapping[str, pd.DataFrame]) -> dict[str, Path]:
    """Write tables, with what stands beside them, below a folder of their own: {name in the
    archive: file}."""
    for path, table in tables.items():
        of_columns(table).write(folder / path)
    return {
        file.relative_to(folder).as_posix(): file for file in folder.rglob("*.*") if file.is_file()
    }


def data_of_page(html: str) -> dict:
    [packed] = re.findall(r'<script type="text/plain" id="data">(.*?)</script>', html)
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def tables_of(*names, make=real) -> dict[str, pd.DataFrame]:
    return {path: table for name in names for path, table in make(name, "/mnli").items()}


def write(path: Path, names, make=real, config=None, **files) -> str:
    """An archive of these figures, but for those of its `files` that are given."""
    resolved = {"configuration.yaml": yaml.safe_dump(config or configuration(*names)).encode()}
    archive.write(
        path, written(path.parent / path.stem, tables_of(*names, make=make)) | resolved | files
    )
    return str(path)
