"""Rows of models made by noise, beside those of the models whose change has the same size.

`mnli.noise` has noise as large as the change of `mnli`, `mnli.noise10` noise ten times as large
(`models.noise`). Two nulls are made of their rows:

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

import numpy as np
import pandas as pd

from bertshift.naming import Name, seed_and_draw
from bertshift.rows.blocks import JACKKNIFE_COLUMNS

NOISE, MATCHED = "noise", "matched"
# Columns that tell curves over layers of one table apart.
CURVE = ["metric", "measure", "tokens", "stimuli", "variant"]
# Which differ where a measure compares every layer with every layer.
PLACE = [
    "layer",
    "ref_layer",
]
# The variant, of measures whose variants are parts of one change, or maps of one pair of models.
MATCHED_BY = {"own_or_inherited": "total", "layer_cka": "across"}
RUN = ["init", "seed"]


def null_of(name: str) -> str:
    """Tell which null a name stands for, NOISE or MATCHED; empty for a model."""
    return next((null for null in (NOISE, MATCHED) if null in Name.of(name).variants), "")


def model_of(name: str) -> str:
    """Name the model that a null belongs to; a model is itself."""
    own = Name.of(name)
    kept = tuple(variant for variant in own.variants if not variant.startswith((NOISE, MATCHED)))
    return str(Name(own.stages, kept, own.explicit_base))


def with_matched(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Put matched noise in the place of the tables of noise of other sizes than the change.
    `tables` are by path, one model each; the path of a matched table joins those of the tables
    that it was made from."""
    sizes: dict[tuple[str, str], dict[str, int]] = {}
    for path, table in tables.items():
        if size := _size(table):
            metric, model = _key(table)
            key = metric, model_of(model)
            sizes.setdefault(key, {})[path] = size
    kept = {path: table for path, table in tables.items() if _size(table) in (0, 1)}
    if not sizes:
        return kept
    measured = [table for table in kept.values() if {"metric", "model"} <= {*table}]
    for key, paths in sizes.items():
        ordered = sorted(paths, key=paths.get)
        # A measure may have a table for each kind of its inputs.
        own = [table for table in measured if _key(table) == key]
        if own and len(ordered) > 1:
            found = matched(pd.concat(own, ignore_index=True), [tables[path] for path in ordered])
            if len(found):
                kept["; ".join(ordered)] = found
    return kept


def _key(table: pd.DataFrame) -> tuple[str, str]:
    return table["metric"].iloc[0], table["model"].iloc[0]


def standing_in(tables: Mapping[str, pd.DataFrame], null: str) -> dict[str, pd.DataFrame]:
    """Let the rows of one null, NOISE or MATCHED, stand for those of its model, beside the rows of
    checkpoints. Empty if there is no such null."""
    named = {
        path: table
        for path, table in tables.items()
        if len(table) and {"model", "seed"} <= {*table}
    }
    models = {path: table["model"].iloc[0] for path, table in named.items()}
    found = {
        path: table.assign(model=model_of(models[path]))
        for path, table in named.items()
        if null_of(models[path]) == null
    }
    checkpoints = {path: table for path, table in named.items() if (table["seed"] == 0).all()}
    return found and checkpoints | found


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
    key = [name for name in (*CURVE, *RUN) if name in rows]
    place = [name for name in PLACE if name in rows]
    numbers = ["value", *(name for name in JACKKNIFE_COLUMNS if name in rows)]
    index = pd.MultiIndex.from_frame(rows[[*key, *place]])
    changes = np.stack([_of_draws(table, rows, [*key, *place], numbers, index) for table in noise])
    most = rows.groupby(key, sort=False)[place].transform("max")
    last = rows[key].assign(**most)
    last["variant"] = rows["metric"].map(MATCHED_BY).fillna(rows["variant"])
    ends = index.get_indexer(pd.MultiIndex.from_frame(last))
    # A map without that place.
    wanted = np.where(ends[:, None] < 0, np.nan, rows[numbers].to_numpy()[ends])
    reached = changes[:, ends]
    between = (reached[:-1] - wanted) * (reached[1:] - wanted) <= 0
    lower = between.argmax(axis=0)[None]
    least, most = (np.take_along_axis(reached, lower + step, 0)[0] for step in (0, 1))
    below, above = (np.take_along_axis(changes, lower + step, 0)[0] for step in (0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(between.any(axis=0), (wanted - least) / (most - least), np.nan)
    values = (1 - share) * below + share * above
    unrelated = rows["variant"].str.endswith("_null").to_numpy()
    values[unrelated] = rows[numbers].to_numpy()[unrelated]
    name = str(Name.of(rows["model"].iloc[0]).plus(MATCHED))
    found = rows.assign(model=name, **dict(zip(numbers, values.T, strict=True)))
    return found[np.isfinite(found["value"])].drop(columns=["low", "high", "sd"], errors="ignore")


def _of_draws(
    noise: pd.DataFrame,
    rows: pd.DataFrame,
    key: list[str],
    numbers: list[str],
    index: pd.MultiIndex,
) -> np.ndarray:
    """Average the draws of noise for each of the model's rows: [rows, numbers]. Draws of one run
    follow one another."""
    draws = noise["seed"].max() // rows["seed"].max()
    imitated, _ = seed_and_draw(noise["seed"], draws)
    return noise.assign(seed=imitated).groupby(key)[numbers].mean().reindex(index).to_numpy()


def _size(table: pd.DataFrame) -> int:
    """Read from a table's model how many times as large as the change its noise is; 0 without
    noise."""
    own = Name.of(table["model"].iloc[0]) if "model" in table and len(table) else None
    found = own and own.variant(NOISE)
    return int(found["times"] or 1) if found else 0
