"""The columns that say what a row was made from."""

from collections.abc import Mapping

import pandas as pd

from bertshift.models.source import origins

# family: the `model_type` of transformers.
ORIGIN = ["scale", "checkpoint", "family", "data"]


def of_runs(inits: pd.Series, checkpoints: Mapping) -> dict[str, pd.Series]:
    """Make the columns `checkpoint` and `family` of rows of these pretraining runs; `checkpoints`
    as `models.source.origins` takes them."""
    found = pd.DataFrame.from_dict(origins(checkpoints), orient="index")
    return {key: inits.astype(str).map(column) for key, column in found.items()}


def distinct(values: pd.Series) -> str:
    """Join the values of a column, each once."""
    return "; ".join(map(str, values.unique()))


def joined(rows: pd.DataFrame) -> dict[str, str]:
    """Say what all rows were made from, each thing once."""
    return {key: distinct(rows[key]) for key in ORIGIN}
