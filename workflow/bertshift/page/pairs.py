"""The differences between two models, by layer: each measure with its null and with two seeds of
one model."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import PurePath

import pandas as pd

from bertshift.figures import numbers
from bertshift.measures import MEASURES, Measure, Shown
from bertshift.naming import NULLS, Model, is_of_null, is_pair, named_in, pair_name
from bertshift.page.charts import in_words, shown
from bertshift.rows import nulls, statistics
from bertshift.rows.table import Table

# Tables by folder of results/ and name without ending.
Tables = Mapping[str, Mapping[str, Table]]


def pairs(tables: Mapping[str, Table], known: Mapping[str, Measure] = MEASURES) -> dict[str, dict]:
    """Collect {`<model>_vs_<model>`: data of the pair} from tables by path; known: the
    measures by the tables' folders.

    Nulls make no pair: their rows are the `nulls` of the measures of their model's pair, and
    `more` lists the layers that changed more than each of them. A pair has its `measures`, the
    `scores` and `trees` (structural probes) of both models, its `probes` (edge probes), and the
    origin of its tables (`made`). Pairs of a model with itself are the floor of the others.
    """
    by_folder: Tables = defaultdict(dict)
    for path, table in tables.items():
        _, folder, file = PurePath(path).parts
        by_folder[folder][file.removesuffix(".tsv")] = table
    pages = {}
    for name in dict.fromkeys(name for folder in by_folder.values() for name in folder):
        if is_pair(name) and not is_of_null(name):
            model, reference = named_in(name)
            if model != reference:
                pages[name] = _describe_pair(name, model, reference, by_folder, known)
    return pages


def _describe_pair(
    name: str, model: str, reference: str, tables: Tables, known: Mapping[str, Measure]
) -> dict:
    pair_tables = {folder: named[name] for folder, named in tables.items() if name in named}
    measures = {}
    for folder, measure in known.items():
        if folder not in pair_tables:
            continue
        for key, line in measure.shown.items():
            described = _describe_measure(line, measure.by_heads, name, tables[folder])
            if described:
                measures[key] = described
    scores = tables.get("scores", {})
    trees = tables.get("structural_probes", {})
    return {
        "measures": measures,
        "scores": {
            side: _describe_scores(scores[side]) for side in (model, reference) if side in scores
        },
        "trees": _describe_trees({side: trees.get(side) for side in (model, reference)}),
        "probes": _describe_probes(pair_tables.get("edge_probes")),
        "made": _describe_origin(pair_tables, name),
    }


def _describe_measure(
    line: Shown, by_heads: bool, name: str, tables: Mapping[str, Table]
) -> dict | None:
    """Collect what the page draws of a line from its measure's tables by name; None if the pair's
    table has no such rows."""
    table = tables[name]
    measure = _average_layers(table, line.rows)
    if measure is None:
        return None
    measure |= {"title": line.title, "alike": line.is_similarity}
    if line.null:
        measure["null"] = _average_layers(table, line.rows | {"variant": line.null})
    model, reference = named_in(name)
    measure["nulls"] = {}
    measure["more"] = {}
    for null in NULLS:
        null_name = pair_name(str(Model.of(model).plus(null)), reference)
        if null_name not in tables:
            continue
        null_table = tables[null_name]
        means = _average_layers(null_table, line.rows)
        if means:
            measure["nulls"][null] = list(map(_replace_interval, means["layers"]))
            stand_ins = nulls.standing_in({name: table, null_name: null_table}, null)
            measure["more"][null] = _list_layers_beyond(table, stand_ins[null_name], line)
    measure["floors"] = {}
    for side in (model, reference):
        floor_name = pair_name(side, side)
        if floor_name in tables:
            measure["floors"][side] = _average_layers(tables[floor_name], line.rows)
    if by_heads:
        measure["heads"] = _tabulate_heads(table, line.rows)
    return measure


def _list_layers_beyond(table: Table, null: Table, line: Shown) -> list[int]:
    """List the layers that changed more than a null: the whole interval of the difference, paired
    by runs, lies above 0. Draws of noise of one run are averaged. Differences by rounding do not
    count, and none without an interval."""
    run = ["layer", *statistics.RUN]
    null_values = _select_trained(null, line.rows).averages(run)
    differences = _select_trained(table, line.rows).mean_of(run).minus(null_values, run)
    if line.is_similarity:
        differences = differences.mapped(lambda difference: -difference)
    differences = differences.where(differences["value"].notna())
    if not len(differences):
        return []
    means = differences.averaged(["layer"])
    is_more = means["low"] > statistics.EQUAL
    return sorted(map(int, means.loc[is_more, "layer"]))


def _replace_interval(row: list) -> list:
    """Replace a layer's interval with its smallest and largest replicate."""
    layer, mean, _, _, replicates = row
    return [layer, mean, min(replicates), max(replicates), []]


def _select(table: Table, values: Mapping[str, str]) -> Table:
    """Select rows with these values, of one kind of inputs (Wikipedia's, or else the first) and of
    equal layers."""
    for key, value in values.items():
        if key in table:
            table = table.where(table[key] == value)
    if table["stimuli"].nunique() > 1:
        inputs = "wiki" if (table["stimuli"] == "wiki").any() else table["stimuli"].iloc[0]
        table = table.where(table["stimuli"] == inputs)
    return table.where(table["layer"] == table["ref_layer"])


def _select_trained(table: Table, values: Mapping[str, str]) -> Table:
    """Select rows with these values of all heads together, without runs that failed to train,
    unless all did."""
    selected = _select(table, values)
    return numbers.trained(selected.where(selected["head"] == 0), ["model"])


def _average_layers(table: Table, values: Mapping[str, str]) -> dict | None:
    """Average a table's rows with these values by layer; None if there are none."""
    selected = _select_trained(table, values)
    if not len(selected):
        return None
    inputs = selected["stimuli"].iloc[0]
    means = selected.averaged(["layer"])
    return {
        "inputs": "" if inputs == "none" else in_words(inputs),
        "unit": means["unit"].iloc[0],
        "interval": means["interval"].iloc[0],
        "layers": _list_layers(selected.rows, means),
    }


def _list_layers(rows: pd.DataFrame, means: pd.DataFrame) -> list[list]:
    """List [layer, mean, low, high, values of all replicates] of rows with these `means`."""
    by_replicate = statistics.with_replicates(rows).groupby(["layer", "replicate"])
    replicates = by_replicate["value"].mean()
    layers = []
    for row in means.sort_values("layer").itertuples():
        values = list(map(shown, replicates[row.layer]))
        layers.append([int(row.layer), shown(row.value), shown(row.low), shown(row.high), values])
    return layers


def _tabulate_heads(table: Table, values: Mapping[str, str]) -> list[list[float | None]]:
    """Return [layers][heads] of the first pretraining run that learned its task, or else of the
    first."""
    heads = _select(table, values)
    heads = numbers.first_run(heads.where(heads["head"] > 0), "model")
    heads = numbers.trained(heads, ["model"])
    cells = heads.rows.pivot_table(index="layer", columns="head", values="value")
    return [[shown(value, 3) for value in layer] for layer in cells.to_numpy()]


def _describe_scores(table: Table) -> dict:
    rows = table.rows[table["headline"].astype(bool)]
    return {
        "score": in_words(rows["metric"].iloc[0]),
        "runs": [[int(row.init), int(row.seed), shown(row.value)] for row in rows.itertuples()],
        "majority": shown(rows["majority"].iloc[0]),
    }


def _describe_trees(tables: Mapping[str, Table | None]) -> dict[str, dict]:
    """Collect structural probes, {kind: {model: layers as in `_list_layers`}}; empty unless both
    models have them."""
    if any(table is None for table in tables.values()):
        return {}
    trees: dict[str, dict] = defaultdict(dict)
    for model, table in tables.items():
        rows = table.rows[(table["measure"] == "spearman") & (table["split"] == "dev")]
        for kind, kind_rows in rows.groupby("kind", sort=False):
            means = table.keep(kind_rows).averaged(["layer"])
            trees[str(kind)][model] = _list_layers(kind_rows, means)
    return dict(trees)


def _describe_probes(table: Table | None) -> list[list]:
    """List [task, difference of F1 in points, low, high] of edge probes on a mix of all layers."""
    if table is None:
        return []
    probes = table.where((table["variant"] == "mix") & (table["view"] == "micro_all"))
    means = probes.in_points().averaged(["task"])
    return [
        [row.task, shown(row.value, 3), shown(row.low, 3), shown(row.high, 3)]
        for row in means.itertuples()
    ]


def _describe_origin(tables: Mapping[str, Table], name: str) -> dict[str, list[str]]:
    origin = {
        key: sorted({str(value) for table in tables.values() for value in table[key]})
        for key in ("scale", "checkpoint", "data")
    }
    return origin | {"tables": [f"results/{folder}/{name}.tsv" for folder in tables]}
