"""Parts of made-up tables."""

from pathlib import Path

import yaml

from bertshift.rows.table import of_columns

PAPERS = Path(__file__).parents[1] / "workflow/bertshift/papers"
PLACE = {"scale": "demo", "checkpoint": "4x128 BERT pretrained here on world", "family": "bert"}


def measured(tables):
    """{path: table} of frames that may have the values without each block as columns."""
    return {path: of_columns(frame) for path, frame in tables.items()}


def published(paper):
    return yaml.safe_load((PAPERS / paper / "published.yaml").read_text(encoding="utf-8"))
