"""All that is known of how two models differ, by layer: each measure with its null and with two
seeds of one model."""

from collections.abc import Mapping
from pathlib import PurePath

import pandas as pd

from bertshift.figures import numbers
from bertshift.measures import METRICS, Metric, Shown
from bertshift.naming import Name, is_of_noise, is_pair, named_in, pair_name
from bertshift.page.charts import in_words, shown
from bertshift.rows import statistics


def pairs(
    tables: Mapping[str, pd.DataFrame], metrics: Mapping[str, Metric] = METRICS
) -> dict[str, dict]:
    """Collect {`<model>_vs_<model>`: what is known of both} from tables by path; metrics: by the
    tables' folder.

    Models made by noise are not in a pair of their own: those whose noise is as large as the
    change of a pair's model are `noise` of its measures. A pair has its `measures`, the `scores`
    and `trees` (structural probes) of both models, its `probes` (edge probes), and what its tables
    were `made` from. Pairs of a model with itself are the floor of the others.
    """
    by_folder: dict[str, dict[str, pd.DataFrame]] = {}
    for path, table in tables.items():
        _, folder, file = PurePath(path).parts
        by_folder.setdefault(folder, {})[file.removesuffix(".tsv")] = table
    names = dict.fromkeys(
        name for folder in by_folder.values() for name in folder if is_pair(name)
    )
    compared = [name for name in names if len({*named_in(name)}) == 2 and not is_of_noise(name)]
    return {name: _pair(*named_in(name), by_folder, metrics) for name in compared}


def _pair(
    model: str,
    reference: str,
    tables: Mapping[str, Mapping[str, pd.DataFrame]],
    metrics: Mapping[str, Metric],
) -> dict:
    measures, name = {}, pair_name(model, reference)
    for folder, metric in metrics.items():
        of = tables.get(folder, {})
        for key, line in metric.shown.items() if name in of else ():
            if found := _measure(line, metric, name, of):
                measures[key] = found
    return {
        "measures": measures,
        "scores": {
            one: _scores(tables["scores"][one])
            for one in (model, reference)
            if one in tables.get("scores", {})
        },
        "trees": _trees(
            {one: tables.get("structural_probes", {}).get(one) for one in (model, reference)}
        ),
        "probes": _probes(tables.get("edge_probes", {}).get(name)),
        "made": _made({folder: of[name] for folder, of in tables.items() if name in of}, name),
    }


def _measure(
    line: Shown, metric: Metric, name: str, tables: Mapping[str, pd.DataFrame]
) -> dict | None:
    """Collect what the page draws of a line from the metric's tables by name; None where there are
    no such rows."""
    table, found = tables[name], _layers(tables[name], line.rows)
    if found is None:
        return None
    found |= {"title": line.title, "alike": line.is_similarity}
    if line.null:
        found["null"] = _layers(table, line.rows | {"variant": line.null})
    drawn = tables.get(pair_name(*_with_noise(*named_in(name))))
    if drawn is not None and (noise := _layers(drawn, line.rows)):
        found["noise"] = {"layers": [_range(*row) for row in noise["layers"]]}
    floors = {one: tables.get(pair_name(one, one)) for one in named_in(name)}
    found["floors"] = {
        one: _layers(floor, line.rows) for one, floor in floors.items() if floor is not None
    }
    if metric.by_heads:
        found["heads"] = _heads(table, line.rows)
    return found


def _with_noise(model: str, reference: str) -> tuple[str, str]:
    return str(Name.of(model).plus("noise")), reference


def _range(layer: int, mean: float, low: float, high: float, each: list[float]) -> list:
    """Put the least and the largest replicate in the place of the interval."""
    return [layer, mean, min(each), max(each), []]


def _of(table: pd.DataFrame, wanted: Mapping[str, str]) -> pd.DataFrame:
    """Select rows with these values, of one kind of inputs (Wikipedia's, or else the first) and of
    equal layers."""
    for key, value in wanted.items():
        if key in table:
            table = table[table[key] == value]
    if table["stimuli"].nunique() > 1:
        inputs = "wiki" if (table["stimuli"] == "wiki").any() else table["stimuli"].iloc[0]
        table = table[table["stimuli"] == inputs]
    return table[table["layer"] == table["ref_layer"]]


def _layers(table: pd.DataFrame, wanted: Mapping[str, str]) -> dict | None:
    """Average a table's rows by layer for the page, without runs that failed to train, unless all
    did."""
    rows = _of(table, wanted)
    rows = rows[rows["head"] == 0]
    if rows.empty:
        return None
    inputs = rows["stimuli"].iloc[0]
    rows = numbers.trained(rows, ["model"])
    means = statistics.summarise(rows, ["layer"])
    return {
        "inputs": "" if inputs == "none" else in_words(inputs),
        "unit": means["unit"].iloc[0],
        "interval": means["interval"].iloc[0],
        "layers": _by_layer(rows, means),
    }


def _by_layer(rows: pd.DataFrame, means: pd.DataFrame) -> list[list]:
    """List [layer, mean, low, high, values of all replicates] of rows, whose `means` are known."""
    each = statistics.with_replicates(rows).groupby(["layer", "replicate"])["value"].mean()
    return [
        [
            int(row.layer),
            *map(shown, (row.value, row.low, row.high)),
            list(map(shown, each[row.layer])),
        ]
        for row in means.sort_values("layer").itertuples()
    ]


def _heads(table: pd.DataFrame, wanted: Mapping[str, str]) -> list[list[float | None]]:
    """Return [layers][heads] of the first pretraining run that learned its task, or else of the
    first."""
    rows = _of(table, wanted)
    rows = numbers.trained(numbers.first_run(rows[rows["head"] > 0], "model"), ["model"])
    cells = rows.pivot_table(index="layer", columns="head", values="value")
    return [[shown(value, 3) for value in line] for line in cells.to_numpy()]


def _scores(table: pd.DataFrame) -> dict:
    rows = table[table["headline"].astype(bool)]
    return {
        "score": in_words(rows["metric"].iloc[0]),
        "runs": [[int(row.init), int(row.seed), shown(row.value)] for row in rows.itertuples()],
        "majority": shown(rows["majority"].iloc[0]),
    }


def _trees(tables: Mapping[str, pd.DataFrame | None]) -> dict[str, dict]:
    """Collect structural probes, {kind: {model: as `_by_layer`}}; empty unless both models have
    them."""
    found: dict[str, dict] = {}
    if any(table is None for table in tables.values()):
        return found
    for model, table in tables.items():
        rows = table[(table["measure"] == "spearman") & (table["split"] == "dev")]
        for kind, of_kind in rows.groupby("kind", sort=False):
            means = statistics.summarise(of_kind, ["layer"])
            found.setdefault(str(kind), {})[model] = _by_layer(of_kind, means)
    return found


def _probes(table: pd.DataFrame | None) -> list[list]:
    """List [task, difference of F1 in points, low, high] of edge probes on a mix of all layers."""
    if table is None:
        return []
    rows = statistics.in_points(
        table[(table["variant"] == "mix") & (table["view"] == "micro_all")]
    )
    return [
        [row.task, shown(row.value, 3), shown(row.low, 3), shown(row.high, 3)]
        for row in statistics.summarise(rows, ["task"]).itertuples()
    ]


def _made(tables: Mapping[str, pd.DataFrame], name: str) -> dict[str, list[str]]:
    facts = {
        key: sorted({str(one) for table in tables.values() for one in table[key]})
        for key in ("scale", "checkpoint", "data")
    }
    return facts | {"tables": [f"results/{folder}/{name}.tsv" for folder in tables]}
