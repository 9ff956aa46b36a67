"""Parts of made-up tables."""

from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from bertshift.files import BLOCKS
from bertshift.rows.table import Table

PAPERS = Path(__file__).parents[1] / "workflow/bertshift/papers"
PLACE = {"scale": "demo", "checkpoint": "4x128 BERT pretrained here on world", "family": "bert"}
# Columns that tests have for values without each block, where a Table has an array.
WITHOUT = [f"without{block}" for block in range(1, BLOCKS + 1)]


def of_columns(frame):
    """Make a Table of a frame that may have the columns WITHOUT."""
    rows = frame.drop(columns=WITHOUT, errors="ignore").reset_index(drop=True)
    return Table.of(rows, frame.reindex(columns=WITHOUT).to_numpy(np.float64))


def in_columns(table):
    """Return a Table's rows with the columns WITHOUT."""
    return table.rows.join(pd.DataFrame(table.left_out, table.rows.index, WITHOUT))


def measured(tables):
    """{path: table} of frames that may have the values without each block as columns."""
    return {path: of_columns(frame) for path, frame in tables.items()}


def published(paper):
    return yaml.safe_load((PAPERS / paper / "published.yaml").read_text(encoding="utf-8"))
