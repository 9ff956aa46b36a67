"""The page of two models alone: the workflow's page, without its figures and claims."""

from collections.abc import Sequence

import pandas as pd

from bertshift.api.drawing import PAGE, need
from bertshift.api.measured import NOISE, Measurements
from bertshift.api.measures import CHOICES
from bertshift.measures import Measure
from bertshift.naming import pair_name


def page(change: Measurements, report: Sequence[str]) -> str:
    """Build one HTML file, which begins with the sentences of a report. UserError where a package
    that it needs is not installed."""
    need(PAGE)
    from bertshift.page import data
    from bertshift.page.pairs import pairs
    from bertshift.page.render import render

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
    checkpoints = list(change.about["checkpoints"])
    pair["made"] = {
        "scale": [],
        "checkpoint": checkpoints,
        "data": [f"{change.about['texts']} texts"],
        "left_out": [f"{measure}: {reason}" for measure, reason in change.left_out.items()],
        "tables": [],
    }
    contents = data.page([], pd.DataFrame(), {}, {name: pair}, {})
    given = change.about["given"]
    contents["title"] = " and ".join(given)
    contents["report"] = list(report)
    contents["checkpoints"] = checkpoints
    contents["labels"] = dict(zip((model, reference), given, strict=True))
    return render(contents)


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
