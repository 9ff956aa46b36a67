"""The version of this program: only pyproject.toml states it, and every table and caption carries
it."""

import tomllib
from functools import cache
from importlib import metadata

import pandas as pd

from bertshift.shipped import ROOT


@cache
def version() -> str:
    """Return the version, such as `bertshift 1.2.3`. It is read from pyproject.toml and not
    written as code, so that a release makes no job run again. An installed library has no such
    file, and gives the version that it was installed with."""
    file = ROOT / "pyproject.toml"
    if not file.is_file():
        return f"bertshift {metadata.version('bertshift')}"
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    return f"bertshift {project['version']}"


__version__ = version().rpartition(" ")[2]


def stamped(table: pd.DataFrame) -> pd.DataFrame:
    """Add a column `version` of the program that makes the table, in place of those of the tables
    it is made from."""
    return table.assign(version=version())
