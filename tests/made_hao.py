"""Tables of Figures 3 to 7 of Hao et al. 2020 in the shape of real ones, telling the paper's own story."""

from itertools import combinations

import numpy as np
import pandas as pd
from made_tables import generator, table

LARGE = ["mnli@large", "rte@large", "sst2@large", "mrpc@large"]
PAIRS = [("rte@large", "mnli@large"), ("mrpc@large", "rte@large"), ("mrpc@large", "sst2@large")]
RANKS = {"k_model": 100, "k_reference": 90}


def depth(layers):
    return np.arange(1, layers + 1) / layers


def js(stimuli, layers, end):
    curve = end * depth(layers) ** 4
    return {(stimuli, "nats"): curve, (stimuli, "bits"): curve / np.log(2)}


def svcca(stimuli, layers, end):
    return {(stimuli, "svcca99"): 0.02 + end * depth(layers) ** 2, (stimuli, "svcca99_null"): [0.8] * layers}


def compared(metric, model, reference, end, layers, inits, seeds, heads):
    """Between seeds: every pair; between tasks: seed with seed."""
    stimuli = "+".join(sorted({name.partition("@")[0] for name in (model, reference)}))
    made, more = (js, {"heads": heads}) if metric == "js" else (svcca, {"n": 2400, **RANKS})
    numbers = range(1, seeds + 1)
    pairs = list(combinations(numbers, 2)) if model == reference else [(seed, seed) for seed in numbers]
    rows = table(
        metric, model, reference, made(stimuli, layers, end), inits, len(pairs), noise=0.0003, **more
    )
    rows["seed"], rows["ref_seed"] = zip(*(pairs[number - 1] for number in rows["seed"]))
    if metric == "svcca":
        embeddings = rows[rows["layer"] == 1].assign(layer=0, ref_layer=0)
        moved = embeddings["variant"] == "svcca99"
        rows = pd.concat(
            [embeddings.assign(value=embeddings["value"].mask(moved, 0.01)), rows], ignore_index=True
        )
    return rows.assign(failed=False, ref_failed=False)


def restored(model, layers, inits, seeds, noise=0.003):
    task, random, parts = model.partition("@")[0], generator(model), []
    readings = {
        (task, name): low + 0.3 * depth(layers) ** 3 for name, low in (("svcca99", 0.01), ("cca_full", 0.02))
    }
    readings |= {(task, f"{name}_null"): [0.8] * layers for name in ("svcca99", "cca_full")}
    moved = table("restored", model, "large", readings, inits, seeds, n=2400)
    parts.append(moved.assign(headline=moved["variant"] == "svcca99", **RANKS))
    for score, level in (("accuracy", 0.8), ("f1", 0.85)):
        curve = {(task, score): level - 0.2 * depth(layers)[::-1] ** 3}
        rows = table("restored_score", model, "large", curve, inits, seeds, noise=noise, n=200)
        whole = rows[rows["layer"] == 1].assign(layer=0, ref_layer=0, value=level + random.normal(0, noise))
        parts.append(pd.concat([whole, rows]).assign(headline=score == "accuracy"))
    return pd.concat(parts, ignore_index=True).assign(failed=False, ref_failed=False)


def of_hao(layers=24, heads=4, inits=2, seeds=2):
    """{item: {path: table}}"""

    def between(metric, pairs, ends):
        return {
            f"results/{metric}/{model}_vs_{other}.tsv": compared(
                metric, model, other, end, layers, inits, seeds, heads
            )
            for (model, other), end in zip(pairs, ends, strict=True)
        }

    own = [(model, model) for model in LARGE]
    floors = {metric: between(metric, own, [0.1, 0.12, 0.14, 0.16]) for metric in ("js", "svcca")}
    tasks = {metric: between(metric, PAIRS, [0.15, 0.19, 0.23]) for metric in ("js", "svcca")}
    return {
        "figure3": {
            f"results/restored/{model}.tsv": restored(model, layers, inits, seeds) for model in LARGE
        },
        "figure4": floors["js"],
        "figure5": floors["svcca"],
        "figure6": tasks["js"] | floors["js"],
        "figure7": tasks["svcca"] | floors["svcca"],
    }
