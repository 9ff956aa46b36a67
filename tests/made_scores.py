"""Made-up tables of results/scores and results/frozen that say what Table 1 of Kovaleva et al. 2019 says."""

import numpy as np
import pandas as pd
from made_tables import PLACE, published

PAPER = published("kovaleva2019")["table1"]
METRICS = {"f1_acc": ["f1", "accuracy"], "correlation": ["pearson", "spearman"], "accuracy": ["accuracy"]}
# Of saying the one class, and the other: (F1, accuracy). Elsewhere the shares of two or three classes.
ANSWERS = {
    "mrpc": [(0.0, 0.316), (0.812, 0.683)],
    "qqp": [(0.0, 0.632), (0.539, 0.368)],
    "sst2": [(0.491,), (0.509,)],
    "rte": [(0.527,), (0.473,)],
    "qnli": [(0.495,), (0.505,)],
    "mnli": [(0.318,), (0.328,), (0.354,)],
    "stsb": [(0.0, 0.0)],
}
HEADS = 4


def printed(task, column):
    """The paper's cell as {metric: score}; its correlation stands for both."""
    names = METRICS[PAPER["rows"][task]["metric"]]
    values = np.ravel(PAPER["rows"][task][column]) / 100
    return dict(zip(names, np.broadcast_to(values, len(names)).tolist()))


def majority(task):
    answer = max(ANSWERS[task], key=lambda scores: scores[-1])
    return dict(zip(METRICS[PAPER["rows"][task]["metric"]], answer))


def scores(task, column, runs, train=3600, noise=0.0):
    random = np.random.default_rng(list(task.encode()))
    name = task + {"random_init": ".random", "finetuned": ""}[column]
    headline = METRICS[PAPER["rows"][task]["metric"]][0]
    rows = [
        {"model": name, "task": task, "init": init, "seed": seed, "metric": metric, "headline": metric == headline,
         "value": value + noise * random.normal(), "majority": majority(task)[metric], "train": train, "dev": 500, **PLACE,
         "data": f"{task} train {train} of 3600 (generated); {task} dev 500 of 500, a sample of 9815 (generated)"}
        for init, seed in runs for metric, value in printed(task, column).items()
    ]  # fmt: skip
    return pd.DataFrame(rows)


def frozen(task, inits=2, noise=0.01):
    """Heads about the paper's number, the last of them a constant answer; probes a little above the majority class."""
    random = np.random.default_rng(list(task.encode()))
    names = METRICS[PAPER["rows"][task]["metric"]]
    rows = []

    def add(init, variant, draw, answer, values):
        rows.extend(
            {"metric": "frozen", "model": "base", "child": task, "task": task, "variant": variant, "draw": draw,
             "answer": answer, "score": name, "headline": name == names[0], "init": init, "seed": 0, "value": value,
             "l2": 0.1 if "probe" in variant else np.nan, "n": 500, **PLACE,
             "data": f"{task} dev 500 of 500, a sample of 9815 (generated); linear probes on {task} train 1000 of 3600"}
            for name, value in zip(names, values)
        )  # fmt: skip

    for init in range(1, inits + 1):
        for draw, answer in enumerate(ANSWERS[task], 1):
            add(init, "constant", draw, f"label {draw}", answer)
        for draw in range(1, HEADS):
            around = noise * random.normal() * np.array([1, -1])[draw % 2]
            add(init, "random_head", draw, "", [v + around for v in printed(task, "pretrained").values()])
        add(init, "random_head", HEADS, "label 1", ANSWERS[task][0])
        for variant in ("linear_probe_pooled", "linear_probe_mean"):
            add(init, variant, 0, "", [v + 0.05 + noise * random.normal() for v in majority(task).values()])
    return pd.DataFrame(rows)


def of_kovaleva(inits=2, seeds=1, noise=0.002, train=3600):
    """`train`: rows that models from random weights are trained on."""
    runs = [(init, seed) for init in range(1, inits + 1) for seed in range(1, seeds + 1)]
    tables = {}
    for task in PAPER["rows"]:
        tables[f"results/scores/{task}.tsv"] = scores(task, "finetuned", runs, noise=noise)
        tables[f"results/scores/{task}.random.tsv"] = scores(task, "random_init", runs[:seeds], train)
        tables[f"results/frozen/{task}.tsv"] = frozen(task, inits)
    return tables
