"""When half of a change is made: of layers, over the course of a training."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bertshift.measures import ANY
from bertshift.rows import statistics
from bertshift.rows.table import Table, concat


def half_change(shares: Sequence[float], change: Sequence[float]) -> float:
    """Find the share of training after which a layer has made half of its final change.

    `change` is the distance from the parent after each of the ascending `shares`, or steps, the
    last one at the end; between two shares it is a straight line. Where it reaches half of its
    last value several times, the first counts. NaN where it ends at 0.
    """
    half = change[-1] / 2
    if not half > statistics.EQUAL:
        return np.nan
    after = next(n for n, value in enumerate(change) if value >= half)
    if after == 0:
        return float(shares[0])
    step = slice(after - 1, after + 1)
    return float(np.interp(half, change[step], shares[step]))


def halves(change: Table, place: str, by: list[str]) -> Table:
    """Find the place on the way, a number in the column `place`, at half of each final change: one
    row for each `by`, which name a layer of a replicate, with the same without each block. A
    change that ends at 0 has none."""
    rows = change.rows.sort_values(place, kind="stable")
    layers = [change.keep(layer) for _, layer in rows.groupby(by, sort=False)]
    found = concat(_half_of_layer(layer, place) for layer in layers)
    return found.where(found["value"].notna())


def _half_of_layer(layer: Table, place: str) -> Table:
    """Find the half of one layer of one replicate: one row."""
    places = list(layer[place])
    changes = layer.numbers
    is_known = changes.notna().all()
    found = changes.apply(lambda change: half_change(places, list(change))).where(is_known)
    if found[is_known].isna().any():  # without some block the layer does not change
        found.iloc[1:] = np.nan
    return layer.keep(layer.rows.tail(1)).with_numbers(found.to_frame().T)


def changes_surely(change: Table, final: Table, by: list[str]) -> np.ndarray:
    """Mark the rows of layers, named by columns `by`, whose `final` change has an interval without
    0, or none; nothing is half of another."""
    # On its own scale, as an interval in the range of a distance never has its end.
    means = final.within(ANY).averaged(by, by[:-1])
    unsure = means.loc[means["low"] <= 0, by]
    layers_of_rows = pd.MultiIndex.from_frame(change.rows[by])
    return ~layers_of_rows.isin(pd.MultiIndex.from_frame(unsure))
