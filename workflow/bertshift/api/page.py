"""The page of two models alone: the workflow's page, without its figures and claims."""

import pandas as pd

from bertshift.api.change import NOISE, Change, with_ranges
from bertshift.api.drawing import PAGE, need
from bertshift.api.measures import MEASURES
from bertshift.measures import Metric
from bertshift.naming import pair_name


def page(change: Change) -> str:
    """Build one HTML file. UserError where a package that it needs is not installed."""
    need(PAGE)
    from bertshift.page import data
    from bertshift.page.pairs import pairs
    from bertshift.page.render import render

    model, reference = (_spelled(name) for name in (change.model, change.reference))
    compared = pair_name(model, reference)
    metrics = {
        name: Metric(
            shown={name: shown}, by_heads=name in MEASURES and MEASURES[name].record.by_heads
        )
        for name, shown in change.shown.items()
    }
    tables = {
        f"results/{measure}/{compared}.tsv": _as_table(rows)
        for measure, rows in with_ranges(change.own_rows).groupby("metric", sort=False)
    }
    [pair] = pairs(tables, metrics).values()
    if change.draws:
        for name, line in pair["measures"].items():
            line["noise"] = {"layers": _noise_layers(change.by_layer(name))}
    pair["made"] = {
        "scale": [],
        "checkpoint": list(change.about["checkpoints"]),
        "data": [f"{change.about['texts']} texts"],
        "left_out": [f"{measure}: {why}" for measure, why in change.left_out.items()],
        "tables": [],
    }
    found = data.page([], pd.DataFrame(), {}, {compared: pair}, {})
    found |= {
        "title": f"{change.model} and {change.reference}",
        "checkpoints": pair["made"]["checkpoint"],
    }
    return render(found | {"labels": {model: change.model, reference: change.reference}})


def _noise_layers(rows: pd.DataFrame) -> list[list]:
    """List [layer, mean, smallest, largest draw, no replicates] of models made by noise."""
    from bertshift.page.charts import shown

    return [
        [int(layer), *map(shown, row), []]
        for layer, row in zip(rows.index, rows[NOISE].to_numpy(), strict=True)
    ]


def _spelled(name: str) -> str:
    """Spell a name so that it can stand in a path and between `_vs_`."""
    return name.replace("_vs_", "-vs-").replace("/", "-")


def _as_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows as the page reads them: pairs of layers at one depth are one layer of the
    model."""
    return rows.assign(ref_layer=rows["layer"], scale="", checkpoint="", data="")
