"""Made-up tables of results/ablation in the shape of real ones."""

import numpy as np
import pandas as pd
from made_tables import PLACE, runs_of

from bertshift.rows.origin import ORIGIN

TASKS = {
    "mrpc": "f1",
    "stsb": "pearson",
    "sst2": "accuracy",
    "qqp": "f1",
    "rte": "accuracy",
    "qnli": "accuracy",
    "mnli": "accuracy",
}
BASE = {
    "mrpc": 0.8827,
    "stsb": 0.8898,
    "sst2": 0.9197,
    "qqp": 0.8812,
    "rte": 0.5852,
    "qnli": 0.9141,
    "mnli": 0.8386,
}
COLUMNS = ["metric", "model", "task", "init", "seed", "variant", "layer", "head", "sample", "score", "headline", "value",
           "delta", "p", "q", "sd", "n", *ORIGIN]  # fmt: skip


def ablation(task, layers=12, heads=12, inits=2, seeds=1, noise=0.0, matrix=None, whole=None, q=1.0):
    """Each head's gain is `matrix` [layers, heads] and each layer's `whole` [layers], else made; `q` of every test."""
    random = np.random.default_rng(list(task.encode()))
    if matrix is None:
        matrix = random.normal(-0.001, 0.003, (layers, heads))
        matrix[0, 1] = -0.02
    if whole is None:
        whole = random.normal(-0.01, 0.01, layers)
    q = np.broadcast_to(q, np.shape(matrix))
    replicates = [
        pd.DataFrame(rows_of(task, matrix, whole, q, lambda: random.normal(0, noise))).assign(
            init=init, seed=seed
        )
        for init, seed in runs_of(task, inits, seeds)
    ]
    data = f"{task} dev 500 of 500, a sample of 9815 (generated); trained on {task} train 3600 of 3600 (generated)"
    return pd.concat(replicates).assign(model=task, task=task, n=500, **PLACE, data=data)[COLUMNS]


def confirmed(table, heads, delta, q=1.0):
    """`table` as of a sample, and rows of these heads (layer, head) on the complete set, with this gain."""
    place = pd.Series(list(zip(table["layer"], table["head"], strict=True)), index=table.index)
    again = table[
        place.isin([(0, 0), *heads])
        & table["variant"].isin(["none", "uniform"])
        & (table["metric"] == "ablation")
    ]
    change = np.where(again["layer"] > 0, delta, 0)
    again = again.assign(
        delta=change, value=BASE[table["task"].iloc[0]] + 0.01 + change, q=q, p=q / 10, n=9815
    )
    return pd.concat([table.assign(sample="sample"), again])


def rows_of(task, matrix, whole, q, noise):
    def row(variant, layer, head, delta, q=np.nan, headline=True, metric="ablation", sd=np.nan):
        return {"metric": metric, "variant": variant, "layer": layer, "head": head, "headline": headline,
                "score": TASKS[task] if headline else "other", "value": BASE[task] + delta, "delta": delta, "p": q / 10,
                "q": q, "sd": sd, "sample": "complete"}  # fmt: skip

    for headline in (True, False):
        yield row("none", 0, 0, 0.0, headline=headline)
        for variant in ("uniform", "zero", "mean"):
            for layer, gain in enumerate(whole, 1):
                yield row(variant, layer, 0, gain + noise(), 1.0, headline)
            for (layer, head), gain in np.ndenumerate(matrix):
                yield row(variant, layer + 1, head + 1, gain + noise(), q[layer, head], headline)
    layer, head = np.unravel_index(np.argmax(matrix), np.shape(matrix))
    for variant in ("uniform", "zero", "mean"):
        yield row(variant, layer + 1, head + 1, np.max(matrix) / 2, metric="ablation_split_half", sd=0.01)


def of_kovaleva(layers=12, heads=12, **more):
    return {f"results/ablation/{task}.tsv": ablation(task, layers, heads, **more) for task in TASKS}
