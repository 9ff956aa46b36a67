"""The columns that say what a row was made from."""

from collections.abc import Mapping, Sequence

import pandas as pd

from bertshift.models.source import origins

# family: the `model_type` of transformers.
ORIGIN = ["scale", "checkpoint", "family", "data"]


def of_runs(inits: pd.Series, checkpoints: Mapping) -> dict[str, pd.Series]:
    """Make the columns `checkpoint` and `family` of rows of these pretraining runs; `checkpoints` as
    `models.source.origins` takes them."""
    found = pd.DataFrame.from_dict(origins(checkpoints), orient="index")
    return {key: inits.astype(str).map(column) for key, column in found.items()}


def joined(rows: pd.DataFrame, keys: Sequence[str] = ORIGIN) -> dict[str, str]:
    """What all rows were made from, each once."""
    return {key: "; ".join(map(str, rows[key].unique())) for key in keys}
