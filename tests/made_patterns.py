"""Made-up tables of results/patterns in the shape of real ones, with the shares that the paper has."""

import numpy as np
import pandas as pd
from made_tables import PLACE, generator, published, runs_of

from bertshift.patterns.features import CLASSES
from bertshift.patterns.shares import COLUMNS, MAP_COLUMNS

PAPER = published("kovaleva2019")["figure2"]
TASKS = list(PAPER["rows"])
TOKENS = ["[CLS]", "he", "slept", "[SEP]", "he", "was", "tired", "[SEP]"]
SPECIAL = "1 4 8"
F1 = {"f1_macro_cross_validated": 0.7, "f1_weighted_cross_validated": 0.8, "f1_macro_resubstituted": 0.9,
      "f1_weighted_resubstituted": 0.95}  # fmt: skip


def shares(model, inits=2, seeds=1, noise=0.5, by_person=0):
    random, rows = generator(model), []
    paper = dict(zip(PAPER["columns"], PAPER["rows"][model], strict=True))
    for (init, seed), variant in [
        (run, v) for run in runs_of(model, inits, seeds) for v in ("classified", "corrected", "proposed")
    ]:
        values = np.array([paper[pattern] for pattern in CLASSES]) + random.normal(0, noise, len(CLASSES))
        for pattern, value in zip(CLASSES, values / values.sum()):
            rows.append({"model": model, "task": model, "init": init, "seed": seed, "variant": variant, "pattern": pattern,
                         "value": value, "n": 40, "maps": 640})  # fmt: skip
    table = pd.DataFrame(rows).assign(metric="pattern_share")[COLUMNS]
    return table.assign(labels=400, labels_by_person=by_person, **F1, **PLACE, data=_data(model))


def maps(model, layers, heads, inits=2, seeds=1):
    random, rows = generator(model), []
    for number, (init, seed) in enumerate(runs_of(model, inits, seeds)):
        run = {"model": model, "task": model, "init": init, "seed": seed, "example": "dev-7"}
        rows += [run | _map(random, "most_confident", pattern, layers, heads) for pattern in CLASSES]
        if number == 0:
            rows += [
                run | _map(random, "one_input", "heterogeneous", layer, head)
                for layer in range(1, layers + 1)
                for head in range(1, heads + 1)
            ]
    return pd.DataFrame(rows).assign(metric="pattern_map")[MAP_COLUMNS].assign(**PLACE, data=_data(model))


def _map(random, variant, pattern, layer, head):
    weights = random.dirichlet(np.ones(len(TOKENS)), len(TOKENS)).ravel()
    return {"variant": variant, "pattern": pattern, "layer": layer, "head": head, "value": random.uniform(0.5, 1),
            "length": len(TOKENS), "tokens": " ".join(TOKENS), "special": SPECIAL,
            "weights": " ".join(f"{weight:.4f}" for weight in weights)}  # fmt: skip


def _data(model):
    return f"40 inputs of {model} dev 300 of 400, a sample of 9815 (generated)"


def of_kovaleva(layers=12, heads=12, **runs):
    """{item: {path: table}}"""
    examples = {task: maps(task, layers, heads, **runs) for task in TASKS}
    return {
        "figure1": {f"results/patterns/maps/{t}.tsv": examples[t] for t in TASKS if t != "sst2"},
        "figure2": {f"results/patterns/{t}.tsv": shares(t, **runs) for t in TASKS},
        "figure10": {f"results/patterns/maps/{t}.tsv": examples[t] for t in ("mrpc", "stsb", "sst2", "mnli")},
    }
