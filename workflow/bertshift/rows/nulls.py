"""Rows of models made by noise, which are compared with those of the models that they imitate.

`mnli.noise` has noise as large as the change of `mnli`, `mnli.noise10` noise ten times as large
(`models.noise`). Their rows give two nulls:

    mnli.noise     noise of the same size, as measured
    mnli.matched   noise of the size at which the last layer changes as much as in `mnli`, by the
                   same measure. It has no rows where no two sizes have the model's last layer
                   between them.

With c(m, l) the measure of layer l under noise of size m, mean over draws, and v(l) the model's,
for the last layer L and neighbouring sizes a < b with v(L) between c(a, L) and c(b, L):

    w = (v(L) - c(a, L)) / (c(b, L) - c(a, L)),   matched(l) = (1 - w) c(a, l) + w c(b, l)

for each replicate, and so for its values without each block of inputs. The matched profile is that
of noise whose size was chosen by the last layer alone: what differs from it is not due to depth.
Where a measure has parts, all of them are matched by the same one (MATCHED_BY). Variants that end
in `_null`, of unrelated states, are the model's own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from bertshift.naming import Name, seed_and_draw
from bertshift.rows.blocks import JACKKNIFE_COLUMNS

NOISE, MATCHED = "noise", "matched"
# Columns that identify a curve over layers in a table.
CURVE = ["metric", "measure", "tokens", "stimuli", "variant"]
# The two differ where a measure compares every layer with every layer.
LAYERS = ["layer", "ref_layer"]
# Measures whose variants are parts of one change, or maps of one pair of models, with the variant
# that all of them are matched by.
MATCHED_BY = {"own_or_inherited": "total", "layer_cka": "across"}
RUN = ["init", "seed"]


def null_of(name: str) -> str:
    """Name the null of this name, NOISE or MATCHED; empty for a model."""
    variants = Name.of(name).variants
    return next((null for null in (NOISE, MATCHED) if null in variants), "")


def is_null(names: pd.Series) -> pd.Series:
    """Test which of these names are of models made by noise."""
    return names.map(null_of) != ""


def model_of(name: str) -> str:
    """Name the model that a null belongs to; a model is itself."""
    parsed = Name.of(name)
    variants = [variant for variant in parsed.variants if not variant.startswith((NOISE, MATCHED))]
    return str(replace(parsed, variants=tuple(variants)))


def with_matched(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Replace the tables of noise of other sizes than the change by tables of matched noise.
    `tables` are by path, one model each; the path of a matched table joins those of the tables
    that it was made from."""
    sizes = {path: _noise_size(table) for path, table in tables.items()}
    result = {path: table for path, table in tables.items() if sizes[path] in (0, 1)}
    if not any(sizes.values()):
        return result
    measured = [table for table in result.values() if {"metric", "model"} <= {*table}]
    noise_paths: dict[tuple[str, str], list[str]] = {}
    for path, table in tables.items():
        if sizes[path]:
            metric, model = _metric_and_model(table)
            noise_paths.setdefault((metric, model_of(model)), []).append(path)
    for key, paths in noise_paths.items():
        # A measure may have a table for each kind of its inputs.
        model_tables = [table for table in measured if _metric_and_model(table) == key]
        if model_tables and len(paths) > 1:
            rows = pd.concat(model_tables, ignore_index=True)
            rising = sorted(paths, key=sizes.get)
            noise = matched(rows, [tables[path] for path in rising])
            if len(noise):
                result["; ".join(rising)] = noise
    return result


def _metric_and_model(table: pd.DataFrame) -> tuple[str, str]:
    return table["metric"].iloc[0], table["model"].iloc[0]


def standing_in(tables: Mapping[str, pd.DataFrame], null: str) -> dict[str, pd.DataFrame]:
    """Select the rows of one null, NOISE or MATCHED, under the name of its model, and the rows of
    checkpoints. Empty if there is no such null."""
    checkpoints, nulls = {}, {}
    for path, table in tables.items():
        if not len(table) or not {"model", "seed"} <= {*table}:
            continue
        if (table["seed"] == 0).all():
            checkpoints[path] = table
        model = table["model"].iloc[0]
        if null_of(model) == null:
            nulls[path] = table.assign(model=model_of(model))
    return checkpoints | nulls if nulls else {}


def without_nulls(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Select the tables of models that were trained, and of checkpoints."""
    return {
        path: table
        for path, table in tables.items()
        if not ("model" in table and len(table) and null_of(table["model"].iloc[0]))
    }


def matched(rows: pd.DataFrame, noise: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Compute the rows of matched noise from a model's `rows` and those with noise of rising
    sizes: one row for each of the model's rows of means over heads, where the sizes reach that
    far."""
    if "head" in rows:
        rows = rows[rows["head"] == 0]
    curve = [name for name in (*CURVE, *RUN) if name in rows]
    layers = [name for name in LAYERS if name in rows]
    numbers = ["value", *(name for name in JACKKNIFE_COLUMNS if name in rows)]
    index = pd.MultiIndex.from_frame(rows[curve + layers])
    values = rows[numbers].to_numpy()
    # [sizes, rows, numbers]
    noise_values = np.stack([_average_draws(table, rows, index, numbers) for table in noise])

    # The row of the last layer of each row's curve.
    last_layers = rows.groupby(curve, sort=False)[layers].transform("max")
    last = rows[curve].assign(**last_layers)
    last["variant"] = rows["metric"].map(MATCHED_BY).fillna(rows["variant"])
    last_row = index.get_indexer(pd.MultiIndex.from_frame(last))
    has_last = last_row[:, None] >= 0  # a map of layers may lack it
    last_value = np.where(has_last, values[last_row], np.nan)
    last_noise = noise_values[:, last_row]

    # Interpolate between the neighbouring sizes that have the last layer's value between them.
    distances = last_noise - last_value
    brackets = distances[:-1] * distances[1:] <= 0
    smaller = brackets.argmax(axis=0)[None]
    last_smaller = np.take_along_axis(last_noise, smaller, axis=0)[0]
    last_larger = np.take_along_axis(last_noise, smaller + 1, axis=0)[0]
    noise_smaller = np.take_along_axis(noise_values, smaller, axis=0)[0]
    noise_larger = np.take_along_axis(noise_values, smaller + 1, axis=0)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = (last_value - last_smaller) / (last_larger - last_smaller)
    weight = np.where(brackets.any(axis=0), weight, np.nan)
    matched_values = (1 - weight) * noise_smaller + weight * noise_larger

    is_null = rows["variant"].str.endswith("_null").to_numpy()
    matched_values[is_null] = values[is_null]
    name = Name.of(rows["model"].iloc[0]).plus(MATCHED)
    result = rows.assign(model=str(name))
    result[numbers] = matched_values
    has_value = np.isfinite(result["value"])
    return result[has_value].drop(columns=["low", "high", "sd"], errors="ignore")


def _average_draws(
    noise: pd.DataFrame, rows: pd.DataFrame, index: pd.MultiIndex, numbers: list[str]
) -> np.ndarray:
    """Average the draws of noise for each of the model's rows, whose keys are `index`: [rows,
    numbers]. Draws of one run follow one another."""
    draws = noise["seed"].max() // rows["seed"].max()
    imitated, _ = seed_and_draw(noise["seed"], draws)
    means = noise.assign(seed=imitated).groupby(index.names)[numbers].mean()
    return means.reindex(index).to_numpy()


def _noise_size(table: pd.DataFrame) -> int:
    """Read from a table's model how many times as large as the change its noise is; 0 without
    noise."""
    if "model" not in table or not len(table):
        return 0
    variant = Name.of(table["model"].iloc[0]).variant(NOISE)
    return int(variant["times"] or 1) if variant else 0
