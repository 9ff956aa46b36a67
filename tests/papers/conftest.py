from zlib import crc32

import numpy as np
import pytest
from made_tables import WITHOUT, measured

from bertshift.papers import by_name

TINY = 1e-8


@pytest.fixture(scope="session")
def decide(published):
    """decide("paper/figure", tables) -> the rows of its claims. Runs of made-up tables are alike;
    here they differ by a little, and so do blocks of inputs, so that a verdict rests on an
    interval."""

    def decide(name, tables):
        paper = published[name.partition("/")[0]]
        tables = {path: shaken(path, table) for path, table in tables.items()}
        return by_name.decide(name, measured(tables), paper).set_index("claim")

    return decide


def shaken(path, table):
    """The table with values that vary by TINY, each by itself, and without each of 20 blocks."""
    rng = np.random.default_rng(crc32(path.encode()))
    values = {
        column: table[column] + TINY * rng.normal(size=len(table))
        for column in ("value", "delta")
        if column in table
    }
    table = table.assign(**values)
    if table.reindex(columns=WITHOUT).notna().any(axis=None):
        return table
    number = table["delta" if "delta" in table and "before" in table else "value"].to_numpy()
    without = number[:, None] + TINY * rng.normal(size=(len(table), 20))
    return table.assign(**dict(zip(WITHOUT, without.T, strict=True)))


@pytest.fixture(scope="session")
def draw(published):
    """draw("paper/figure", tables) -> (figure, table, caption)."""

    def draw(name, tables):
        return by_name.draw(name, measured(tables), published[name.partition("/")[0]])

    return draw
