"""The page of two models alone: the workflow's page, without its figures and claims."""

import pandas as pd

from bertshift.api.change import NOISE, Change
from bertshift.api.drawing import PAGE, need
from bertshift.api.measures import MEASURES
from bertshift.naming import pair_name
from bertshift.rows import ranges


def page(change: Change) -> str:
    """Build one HTML file. UserError where a package that it needs is not installed."""
    need(PAGE)
    from bertshift.page import data
    from bertshift.page.pairs import pairs
    from bertshift.page.render import render

    model, reference = (_spelled(name) for name in (change.model, change.reference))
    compared = pair_name(model, reference)
    tables = {
        f"results/{MEASURES[str(measure)].folder}/{compared}.tsv": _as_table(rows)
        for measure, rows in change.own_rows.groupby("metric", sort=False)
    }
    [pair] = pairs(tables).values()
    for name, measure in MEASURES.items():
        if not (line := pair["measures"].get(measure.line)):
            continue
        if measure.similarity:  # the page has distances
            line["title"] = measure.title.replace(", ", ", 1 - ", 1)
        if change.draws:
            line["noise"] = {"layers": _noise_layers(change.by_layer(name), measure.similarity)}
    pair["made"] = {
        "scale": [], "checkpoint": list(change.about["checkpoints"]), "data": [f"{change.about['texts']} texts"],
        "tables": [],
    }  # fmt: skip
    found = data.page([], pd.DataFrame(), {}, {compared: pair}, {})
    found |= {"title": f"{change.model} and {change.reference}", "checkpoints": pair["made"]["checkpoint"]}
    return render(found | {"labels": {model: change.model, reference: change.reference}})


def _noise_layers(rows: pd.DataFrame, as_distances: bool) -> list[list]:
    """List [layer, mean, smallest, largest draw, no replicates] of models made by noise."""
    from bertshift.page.charts import shown

    values = rows[NOISE]
    if as_distances:
        values = (1 - values).set_axis(["noise", "noise_high", "noise_low"], axis=1)[NOISE]
    return [
        [int(layer), *map(shown, row), []] for layer, row in zip(rows.index, values.to_numpy(), strict=True)
    ]


def _spelled(name: str) -> str:
    """Spell a name so that it can stand in a path and between `_vs_`."""
    return name.replace("_vs_", "-vs-").replace("/", "-")


def _as_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows as the page reads them: pairs of layers at one depth are one layer of the model."""
    return ranges.within_measures(rows).assign(ref_layer=rows["layer"], scale="", checkpoint="", data="")
