"""Made-up tables of full fine-tuning and LoRA: the change is spread over full rank, or ends at the adapters' rank."""

from itertools import product

import made_scores
import numpy as np
import pandas as pd
from made_tables import ORDER, PLACE, edge_deltas, falling, table

from bertshift.models.weights import MATRICES

FULL, LORA, RANK = "mnli", "mnli.lora8", 8
MODELS = (FULL, LORA)
WIDTH = 128


def singular(model):
    """[WIDTH] as shares of the old norm."""
    values = 0.03 * np.arange(1, WIDTH + 1) ** -0.7
    return np.where(np.arange(WIDTH) < RANK, 3 * values, 1e-9) if model == LORA else values


def spectra(model, layers=4, inits=2, seeds=2):
    random, rows = np.random.default_rng(len(model)), []
    runs = product(range(1, inits + 1), range(1, seeds + 1), range(1, layers + 1), MATRICES)
    for init, seed, layer, matrix in runs:
        place = {"init": init, "seed": seed, "layer": layer, "matrix": matrix}
        values = singular(model) * (0.5 + layer / layers) * (1 + 0.1 * random.normal())
        norm = np.linalg.norm(values)
        numbers = {
            "norm": norm, "rank1": values[0] ** 2 / norm**2, "rank8": (values[:8] ** 2).sum() / norm**2,
            "effective_rank": 8.0 if model == LORA else 70.0, "intruders": int(4 * (model == LORA) * layer / layers),
        }  # fmt: skip
        rows += [place | {"variant": name, "rank": 0, "value": value} for name, value in numbers.items()]
        rows += [
            place | {"variant": "singular", "rank": k, "value": value}
            for k, value in enumerate(values[:64], 1)
        ]
    frame = pd.DataFrame(rows).assign(
        metric="spectra", model=model, reference="base", stimuli="none", ref_seed=0, head=0, sd=np.nan, n=WIDTH,
        data="mnli train 2000 of 3600, a sample of 9815 (generated)", **PLACE,
    )  # fmt: skip
    frame = frame.assign(ref_init=frame["init"], ref_layer=frame["layer"])
    return frame[ORDER[:15] + ["matrix", "rank"] + ORDER[15:]]


def scores(model, inits=2, seeds=2):
    runs = list(product(range(1, inits + 1), range(1, seeds + 1)))
    return made_scores.scores("mnli", "finetuned", runs, noise=0.002).assign(model=model)


def of_beyond(layers, heads, **replicates):
    """{path: table} without edge probes."""
    made = {}
    for model, end in ((FULL, 0.3), (LORA, 0.4)):
        depth = np.arange(1, layers + 1) / layers
        curves = {("mnli", "nats"): end * depth**3}
        similar = {("wiki", "content"): falling(layers, 1 - end, first=0)}
        made |= {
            f"results/rsa/{model}_vs_base.tsv": table("rsa", model, "base", similar, **replicates),
            f"results/js/{model}_vs_base.tsv": table(
                "js", model, "base", curves, heads=heads, noise=0.004, **replicates
            ),
            f"results/spectra/{model}_vs_base.tsv": spectra(model, layers, **replicates),
            f"results/scores/{model}.tsv": scores(model, **replicates),
        }
    return made


def deltas(**replicates):
    return {
        f"results/edge_probes/{model}_vs_base.tsv": edge_deltas("mnli", **replicates).assign(model=model)
        for model in MODELS
    }
