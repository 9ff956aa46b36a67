"""Rows of models that stand for no effect of the task, which are compared with those of a model.

    mnli.noise      the parent of `mnli` with noise as large as its change (`models.noise`)
    mnli.shuffled   trained as `mnli` was, on labels dealt anew (`tasks.shuffled_labels`)

The first asks whether the direction of the change matters, the second whether the task does.
"""

from collections.abc import Mapping

import pandas as pd

from bertshift.naming import NULLS, Model, null_of, seed_and_draw
from bertshift.rows.table import Table

NOISE, SHUFFLED = NULLS


def is_null(names: pd.Series) -> pd.Series:
    """Test which of these names are of nulls."""
    return names.map(null_of) != ""


def model_of(name: str) -> str:
    """Name the model that a null belongs to; a model is itself."""
    null = null_of(name)
    return str(Model.of(name).without(null)) if null else name


def standing_in(tables: Mapping[str, Table], null: str) -> dict[str, Table]:
    """Select the rows of one of NULLS under the name of its model, and the rows of checkpoints.
    Draws of noise have the seed of the run that they imitate. Empty if there is no such null."""
    checkpoints, nulls = {}, {}
    last_seeds = {
        _metric_and_model(table): table["seed"].max()
        for table in tables.values()
        if _is_measured(table)
    }
    for path, table in tables.items():
        if not _is_measured(table):
            continue
        if (table["seed"] == 0).all():
            checkpoints[path] = table
        metric, name = _metric_and_model(table)
        if null_of(name) == null:
            model = model_of(name)
            last_seed = table["seed"].max()
            draws = max(1, last_seed // last_seeds.get((metric, model), last_seed))
            seeds, _ = seed_and_draw(table["seed"], draws)
            nulls[path] = table.assign(model=model, seed=seeds)
    return checkpoints | nulls if nulls else {}


def without_nulls(tables: Mapping[str, Table]) -> dict[str, Table]:
    """Select the tables of models that were trained on their task, and of checkpoints."""
    return {
        path: table
        for path, table in tables.items()
        if not ("model" in table and len(table) and null_of(table["model"].iloc[0]))
    }


def _is_measured(table: Table) -> bool:
    return len(table) > 0 and all(key in table for key in ("metric", "model", "seed"))


def _metric_and_model(table: Table) -> tuple[str, str]:
    return table["metric"].iloc[0], table["model"].iloc[0]
