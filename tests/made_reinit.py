"""Made-up tables of re-initialised layers and heads that say what BERT Goes to College says."""

from itertools import product

import numpy as np
import pandas as pd
from made_tables import PLACE, published

from bertshift.ablation.reinitialisation import head_table
from bertshift.rows.table import Table

PAPER = published("college2020")
METRICS = {
    "rte": ["accuracy"], "squad2": ["f1", "exact_match"], "stsb": ["pearson", "spearman"], "cola": ["mcc", "accuracy"],
    "mrpc": ["f1", "accuracy"],
}  # fmt: skip
MAJORITY = {
    "rte": {"accuracy": 0.527}, "squad2": {"f1": 0.5, "exact_match": 0.5}, "stsb": {"pearson": 0.0, "spearman": 0.0},
    "cola": {"mcc": 0.0, "accuracy": 0.69}, "mrpc": PAPER["figure3"]["mrpc"]["majority"],
}  # fmt: skip
# By share of the layers that are kept, as the text tells of twelve.
STORY = {
    "rte": lambda kept: 0.53 if kept < 7 / 12 else 0.65 if kept < 1 else 0.635,
    "squad2": lambda kept: 0.5 + 0.2 * kept - 0.02 * (round(12 * kept) == 8),
    "stsb": lambda kept: 0.02 * kept if kept < 8 / 12 else 0.5 if kept < 9 / 12 else 0.25 + 0.1 * kept if kept < 1 else 0.87,
    "cola": lambda kept: 0.01 * kept if kept < 10 / 12 else 0.5 + 0.02 * kept,
    "mrpc": lambda kept: None if kept < 1 else 0.848,
}  # fmt: skip
DATA = "{0} train 300 of 3600 (generated); {0} dev 300 of 500, a sample of 9815 (generated)"


def rows_of(task, model, init, seed, value, **more):
    """A run's rows of results/sweeps; a `value` of None is the majority class's."""
    scores = MAJORITY[task] if value is None else dict.fromkeys(METRICS[task], value)
    return [
        {"model": model, "task": task, "init": init, "seed": seed, "metric": metric, "headline": metric == METRICS[task][0],
         "value": scores[metric], "majority": MAJORITY[task][metric], "failed": value is None, "train": 300, "dev": 300,
         **PLACE, "data": DATA.format(task), "epochs": 3.0, "loss": 0.5, **more}
        for metric in METRICS[task]
    ]  # fmt: skip


def layers_sweep(task, layers=12, inits=6):
    rows = []
    for init, k in product(range(1, inits + 1), range(1, layers + 2)):
        value = STORY[task]((k - 1) / layers)
        model = f"{task}@cased" if k > layers else f"{task}.reinit{k}@cased"
        rows += rows_of(task, model, init, 1, value, position=k, layers=layers)
    return pd.DataFrame(rows)


def heads(task, inits=6, seeds=1, baselines=5, spread=0.01):
    """The paper's differences."""
    entry = PAPER["figure5" if task == "cola" else "figure6"]
    middle, rows, plain = entry["baseline"], [], []
    own = dict(zip((1, 2, 11, 12), entry["rows"].values()))
    for init in range(1, inits + 1):
        around = spread * np.linspace(-1, 1, baselines)
        for seed, shift in enumerate(around, 1):
            value = middle + shift
            plain += rows_of(task, f"{task}@cased", init, seed, value, position=seed, layers=12)
        for seed, (layer, deltas) in product(range(1, seeds + 1), own.items()):
            for head, delta in enumerate(deltas, 1):
                model = f"{task}.reinitL{layer}H{head}@cased"
                where = {"position": head, "layers": 12, "layer": layer}
                rows += rows_of(task, model, init, seed, middle + delta, **where)
    return head_table(*(Table.of(pd.DataFrame(part)) for part in (rows, plain))).rows


def of_college(item, layers=12):
    """{path: table} of Figure 3 or one of Figures 5 to 10."""
    if item == "figure3":
        return {
            f"results/sweeps/{task}@cased.reinit.tsv": layers_sweep(task, layers) for task in STORY
        }
    task = "cola" if item in ("figure5", "figure7", "figure9") else "stsb"
    return {f"results/reinit_heads/{task}@cased.tsv": heads(task)}
