"""Made-up tables of re-initialised layers and heads that say what BERT Goes to College says."""

from itertools import product

import numpy as np
import pandas as pd
from made_tables import PLACE, published

from bertshift.ablation.reinitialisation import head_table

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


def rows_of(task, model, init, seed, value, loss, **more):
    """A run's rows of results/sweeps; a `value` of None is the majority class's."""
    scores = MAJORITY[task] if value is None else dict.fromkeys(METRICS[task], value)
    return [
        {"model": model, "task": task, "init": init, "seed": seed, "metric": metric, "headline": metric == METRICS[task][0],
         "value": scores[metric], "majority": MAJORITY[task][metric], "failed": value is None, "train": 300, "dev": 300,
         **PLACE, "data": DATA.format(task), "epochs": 3.0, "loss": loss, **more}
        for metric in METRICS[task]
    ]  # fmt: skip


def layers_sweep(task, layers=12, inits=2, seeds=1, noise=0.004, scheme="", name="{}"):
    """Schemes b and d lose half of what A keeps."""
    random, rows = np.random.default_rng(list(f"{task}{scheme}".encode())), []
    for init, seed, k in product(range(1, inits + 1), range(1, seeds + 1), range(1, layers + 2)):
        value = STORY[task]((k - 1) / layers)
        if value is not None:
            low = MAJORITY[task][METRICS[task][0]]
            value = (
                low
                + (value - low) * (0.5 if scheme and k <= layers else 1)
                + random.normal(0, noise)
            )
        model = name.format(task if k > layers else f"{task}.reinit{k}{scheme}") + "@cased"
        rows += rows_of(task, model, init, seed, value, 0.7 - 0.02 * k, position=k, layers=layers)
    return pd.DataFrame(rows)


def losses(task, layers=12, inits=2, seeds=1):
    rows = []
    for init, seed, k in product(range(1, inits + 1), range(1, seeds + 1), range(1, layers + 2)):
        for step in range(10, 101, 10):
            value = (
                0.7 * np.exp(-step * k / (60 * layers)) + 0.01 * ((step // 10) % 2) + 0.01 * init
            )
            rows.append({"step": step, "value": value, "smoothed": value + 0.02, "task": task, "init": init, "seed": seed,
                         "model": f"{task}.reinit{k}@cased" if k <= layers else f"{task}@cased", "metric": "loss", **PLACE,
                         "data": DATA.format(task), "position": k, "layers": layers})  # fmt: skip
    return pd.DataFrame(rows)


def heads(task, layers=12, heads=12, inits=2, seeds=1, noise=0.0, baselines=5, spread=0.01):
    """The paper's differences, layers 11 and 12 being the last two of any model; at other shapes
    the first heads'."""
    entry = PAPER["figure5" if task == "cola" else "figure6"]
    random = np.random.default_rng(list(task.encode()))
    middle, rows, plain = entry["baseline"], [], []
    own = dict(zip((1, 2, layers - 1, layers), entry["rows"].values()))
    for init in range(1, inits + 1):
        around = spread * np.linspace(-1, 1, baselines)
        for seed, shift in enumerate(around, 1):
            plain += rows_of(
                task,
                f"{task}@cased",
                init,
                seed,
                middle + shift,
                0.4,
                position=seed,
                layers=layers,
            )
        for seed, (layer, deltas), head in product(
            range(1, seeds + 1), own.items(), range(1, heads + 1)
        ):
            value = middle + deltas[head - 1] + random.normal(0, noise)
            rows += rows_of(task, f"{task}.reinitL{layer}H{head}@cased", init, seed, value, 0.5, position=head,
                            layers=layers, layer=layer)  # fmt: skip
    return head_table(pd.DataFrame(rows), pd.DataFrame(plain))


def of_college(layers=4, number=4, **replicates):
    """{item: {path: table}}"""
    sweeps = {
        f"results/sweeps/{task}@cased.reinit.tsv": layers_sweep(task, layers, **replicates)
        for task in STORY
    }
    schemes = {
        f"results/sweeps/{task}@cased.reinit{scheme}.tsv": layers_sweep(task, layers, scheme=scheme, **replicates)
        for task in ("cola", "mrpc") for scheme in ("", "b", "d")
    }  # fmt: skip
    cola, stsb = (
        {f"results/reinit_heads/{task}@cased.tsv": heads(task, layers, number, **replicates)}
        for task in ("cola", "stsb")
    )
    mrpc = "results/sweeps/mrpc@cased.reinit.tsv"
    curves = {k: v for k, v in replicates.items() if k != "noise"}
    return {
        "figure3": sweeps,
        "table_mrpc": {mrpc: sweeps[mrpc]},
        "figure4": {
            f"results/sweeps/{task}@cased.reinit.losses.tsv": losses(task, layers, **curves)
            for task in STORY
        },
        "schemes": schemes,
        **{f"figure{n}": cola if n % 2 else stsb for n in range(5, 11)},
    }
