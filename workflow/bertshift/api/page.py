"""Pages of models alone, of their weights and of a training: the workflow's page, without its
figures and claims."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertshift.api.drawing import PAGE, need
from bertshift.api.measured import NOISE, Measurements
from bertshift.api.measures import CHOICES
from bertshift.measures import Measure
from bertshift.metrics.text_change import NOISE as BY_NOISE
from bertshift.metrics.text_change import SEEDS, layers_of
from bertshift.naming import pair_name

if TYPE_CHECKING:
    from bertshift.api.course import Course
    from bertshift.api.weights import Weights

ENDS, DIGITS = 10, 3  # texts at either end, and digits of their changes
BESIDE = (BY_NOISE, SEEDS, "answer")


def of_change(change: Measurements, report: Sequence[str]) -> str:
    """Build the page of two models, one HTML file, which begins with the sentences of a report.
    UserError where a package that it needs is not installed."""
    need(PAGE)
    from bertshift.page.pairs import pairs

    model, reference = _spell(change.model), _spell(change.reference)
    name = pair_name(model, reference)
    known = {}
    for measure, shown in change.shown.items():
        by_heads = measure in CHOICES and CHOICES[measure].record.by_heads
        known[measure] = Measure(measure, shown={measure: shown}, by_heads=by_heads)
    tables = {}
    # Pairs of layers at the same depth are one layer of the model.
    layer = change.measured["layer"]
    table = change.measured.assign(ref_layer=layer, scale="", checkpoint="", data="")
    for measure, of_measure in table.rows.groupby("metric", sort=False):
        tables[f"results/{measure}/{name}.tsv"] = table.keep(of_measure)
    [pair] = pairs(tables, known).values()
    if change.draws:
        for measure, line in pair["measures"].items():
            line["nulls"] = {"noise": _list_noise_layers(change.by_layer(measure))}
            line["more"] = {"noise": change.beyond_noise(measure)}
    for measure, line in pair["measures"].items():
        line["parts"] = _list_parts(change.by_layer(measure))
    pair["texts"] = _mark_texts(change)
    checkpoints = list(change.about["checkpoints"])
    pair["made"] = {
        "scale": [],
        "checkpoint": checkpoints,
        "data": [f"{change.about['texts']} texts"],
        "left_out": [f"{measure}: {reason}" for measure, reason in change.left_out.items()],
        "tables": [],
    }
    given = change.about["given"]
    return _render(
        given,
        report,
        checkpoints,
        pairs={name: pair},
        labels=dict(zip((model, reference), given, strict=True)),
    )


def of_weights(found: "Weights") -> str:
    """Build the page of two models' weights, as `of_change`."""
    need(PAGE)
    names = [found.model, found.reference]
    columns = ["tensor", "layer", "kind", "norm", "change", "size", "rank90", "ranks", "cosine"]
    table = found.table.dropna(axis="columns", how="all")
    table = table[[column for column in columns if column in table]]
    cells = found.by_layer.stack(future_stack=True).dropna()
    weights = {
        "columns": list(table),
        "tensors": _list_rows(table),
        "cells": [[*map(_as_cell, place), _as_cell(norm)] for place, norm in cells.items()],
        "third": found.third,
    }
    checkpoints = list(filter(None, [*names, found.third]))
    return _render(names, found.report, checkpoints, weights=weights)


def of_course(course: "Course") -> str:
    """Build the page of a training, as `of_change`."""
    need(PAGE)
    names = [course.model, course.reference]
    halves = course.halves.set_index("measure")
    table = course.table.set_index("measure")
    measures = [
        {
            "title": shown.title,
            "alike": shown.is_similarity,
            "rows": _list_rows(table.loc[[measure]]),
            "halves": _list_rows(halves.loc[halves.index == measure]),
        }
        for measure, shown in course.shown.items()
    ]
    return _render(names, course.report, names, course={"measures": measures})


def _list_rows(table: pd.DataFrame) -> list[list]:
    return [list(map(_as_cell, row)) for row in table.itertuples(index=False)]


def _as_cell(value) -> str | float | None:
    """Write a cell of a table for the page: whole numbers as they are, others rounded; None where
    there is none, and where it is infinite, which JSON has not."""
    from bertshift.page.charts import shown

    if isinstance(value, (str, Integral)):
        return value if isinstance(value, str) else int(value)
    return None if pd.isna(value) or np.isinf(value) else shown(value)


def _render(
    names: Sequence[str],
    report: Sequence[str],
    checkpoints: Sequence[str],
    pairs: Mapping = MappingProxyType({}),
    **more,
) -> str:
    """Render a page of these models, with a report and `more` contents."""
    from bertshift.page import data
    from bertshift.page.render import render

    contents = data.page([], pd.DataFrame(), {}, pairs, {})
    contents |= {"title": " and ".join(names), "report": list(report), "checkpoints": checkpoints}
    return render(contents | more)


def _mark_texts(change: Measurements) -> dict | None:
    """Describe the texts that change most and those that change least in the last layer, or all of
    few; None where there are none."""
    table = change.texts
    if table.empty:
        return None
    ends = [table]
    if len(table) > 2 * ENDS:
        ends = [table[:ENDS], table[: -ENDS - 1 : -1]]
    return {
        "layers": [int(name.removeprefix("layer_")) for name in layers_of(table)],
        "count": len(table),
        "ends": [[_mark_text(change, row) for row in end.to_dict("records")] for end in ends],
    }


def _mark_text(change: Measurements, row: Mapping) -> dict:
    """Describe a row of `texts`: its changes by layer, what stands `beside` them, and [segment,
    word, changes by layer] of its words."""
    words = change.words_in(row["position"])
    layers = layers_of(words)
    return {
        "position": int(row["position"]),
        "changes": _round([row[layer] for layer in layers]),
        "beside": {key: _round([row[key]])[0] for key in BESIDE if key in row},
        "words": [
            [int(segment), written, _round(changes)]
            for segment, written, *changes in words.itertuples(index=False)
        ],
    }


def _round(changes: Sequence[float]) -> list[float | None]:
    from bertshift.page.charts import shown

    return [shown(change, DIGITS) for change in changes]


def _list_parts(rows: pd.DataFrame) -> dict[str, list[list]]:
    """List [layer, value, no interval, no replicates] of what is made in each layer and of what
    arrives there, for measures that have these."""
    from bertshift.page.charts import shown

    return {
        part: [[int(layer), shown(value), None, None, []] for layer, value in values.items()]
        for part in ("made", "arrived")
        if len(values := rows[part].dropna())
    }


def _list_noise_layers(rows: pd.DataFrame) -> list[list]:
    """List [layer, mean, smallest, largest draw, no replicates] of models made by noise."""
    from bertshift.page.charts import shown

    return [
        [int(layer), *map(shown, row), []]
        for layer, row in zip(rows.index, rows[NOISE].to_numpy(), strict=True)
    ]


def _spell(name: str) -> str:
    """Spell a name so that it can be a part of a path and of a pair's name."""
    return name.replace("_vs_", "-vs-").replace("/", "-").replace(".", "-")
