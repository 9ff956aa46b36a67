"""Tables of Merchant et al. 2020 that tell the paper's own story: its Table 1, and curves that do
what its text says."""

import numpy as np
import pandas as pd
from made_papers import ROOT, stretched

from bertshift.config import read_yaml

PAPER = read_yaml(ROOT / "workflow/bertshift/papers/merchant2020/published.yaml")["table1"]
EDGES = PAPER["tasks"]
# Score of the complete model and of none of it; powers of the fraction frozen, and of the fraction
# removed.
SWEEPS = {"mnli": (0.83, 0.45, 24, 6), "squad": (0.88, 0.2, 12, 5), "dep": (0.91, 0.5, 2, 2)}


def told(item, inits=2, seeds=1):
    """{path: table} of figure `item` without noise, of so many runs, each with two probes."""
    made = {}
    for path, table in stretched(f"merchant2020/{item}", inits=inits).items():
        table = table[table["seed"] <= seeds]
        if "view" in table:  # no claim is about others
            table = table[table["view"] == "micro_all"]
        if "probe_seed" in table:
            table = pd.concat(table.assign(probe_seed=probe) for probe in (1, 2))
        made[path] = table.assign(value=_value(path, table)).reset_index(drop=True)
    return made


def _value(path, table):
    kind, model = (
        path.split("/")[1],
        path.rpartition("/")[2].partition("_vs_")[0].removesuffix(".tsv"),
    )
    if kind == "edge_probes":
        base = [edge_f1("base", *cell) for cell in zip(table["task"], table["variant"])]
        here = [edge_f1(model, *cell) for cell in zip(table["task"], table["variant"])]
        return np.subtract(here, base) if "_vs_" in path else here
    if kind == "structural_probes":
        return _arch(model, table["layer"], table["layer"].max()) - 0.08 * (
            table["measure"] != "spearman"
        )
    if kind == "sweeps":
        task, layers = model.partition(".")[0], table["layers"].iloc[0]
        full, least, *powers = SWEEPS[task]
        freeze = ".freeze" in path
        gone = (
            (table["position"] + 1).clip(0) / layers if freeze else 1 - table["position"] / layers
        )
        return full - (full - least) * gone ** powers[not freeze]
    number = table["task"].map(EDGES.index)
    bits = (
        9000
        * (1 + number / 4)
        * np.where((model == "dep") & (table["task"] == "dependencies"), 0.85, 1)
    )
    totals = {
        "codelength": bits,
        "uniform": 45000 + 0 * bits,
        "compression": 45000 / bits,
        "f1": 0.8 + 0 * bits,
    }
    return np.select([table["quantity"] == name for name in totals], totals.values())


def edge_f1(model, task, variant="mix"):
    """The paper's score of a cell, between 0 and 1; top layers lose another 1.5 points, and
    fine-tuned ones 2.5."""
    column = {"lexical": "lexical", "word_only": "lexical"}.get(
        variant, model.replace("base.random", "randomized")
    )
    less = {"word_only": 0.8, "top": 2.5 if model in ("mnli", "squad") else 1.5}.get(variant, 0)
    return (PAPER["base"][task] + PAPER["delta"].get(column, {}).get(task, 0) - less) / 100


def _arch(model, layer, layers):
    """Dep lifts the arch from a third of the depth on, the others lower its last layer."""
    lift, end = (0.06, 0) if model == "dep" else (0, -0.02 * (model != "base"))
    depth = layer / layers
    return (
        0.5
        + 0.35 * np.sin(np.pi * depth * 0.75)
        + lift * (depth - 0.3).clip(0)
        + end * (layer == layers)
    )
