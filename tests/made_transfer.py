"""Made-up tables of results/scores, gains and losses that say what Figure 2 of BERT Goes to College 2020 says."""

from itertools import product

import numpy as np
import pandas as pd
from made_tables import PLACE, published

from bertshift.rows.losses import loss_table

PAPER = published("college2020")["figure2"]
TASKS = PAPER["columns"]
SIZES = {"cola": 1043, "mrpc": 408, "rte": 277, "wnli": 71}
STEPS = 60


def data(task):
    return f"{task} dev {SIZES[task]} of {SIZES[task]}, a sample of 9815 (generated); trained on {task} train 900 of 3600"


def printed(final, first):
    return PAPER["rows"][final][TASKS.index(first)]


def replicates(inits, seeds, noise):
    """(init, seed), how far that run is from the mean: the same for a model and its chains, so that gains are exact."""
    random = np.random.default_rng(0)
    return {run: noise * random.normal() for run in product(range(1, inits + 1), range(1, seeds + 1))}


def scores(task, runs):
    score = PAPER["metrics"][task]
    return pd.DataFrame(
        {"model": f"{task}@cased", "task": task, "init": init, "seed": seed, "metric": name, "headline": name != score,
         "value": value + off, "majority": 0.6, "train": 900, "dev": SIZES[task], **PLACE, "data": data(task)}
        for (init, seed), off in runs.items() for name, value in ((score, printed(task, task)), ("other", 0.9))
    )  # fmt: skip


def gains(final, first, runs, carry=""):
    score, direct = PAPER["metrics"][final], printed(final, final)
    delta = printed(final, first) - direct
    return pd.DataFrame(
        {"metric": "gain", "model": f"{first}+{final}{carry}@cased", "reference": f"{final}@cased", "task": final,
         "init": init, "seed": seed, "ref_init": init, "ref_seed": seed, "score": name, "headline": name != score,
         "value": before + off + change, "before": before + off, "delta": change, "p": 1e-3 if abs(change) > 0.04 else 0.4,
         "changed": 20, "gained": 9, "lost": 7, "n": SIZES[final], "majority": 0.6, **PLACE, "data": data(final)}
        for (init, seed), off in runs.items()
        for name, before, change in ((score, direct, delta), ("other", 0.9, 0.01))
    )  # fmt: skip


def losses(model, task, runs):
    falling = 0.7 * np.exp(-np.arange(STEPS) / 12)
    steps = [pd.DataFrame({"step": range(1, STEPS + 1), "loss": 0.2 + off + falling, "learning_rate": 1e-5})
             for off in runs.values()]  # fmt: skip
    made_from = {"model": model, "task": task, "runs": list(runs), "scale": PLACE["scale"]}
    checkpoints = {str(init): {"label": PLACE["checkpoint"]} for init, _ in runs}
    learned = {"metric": "accuracy", "scores": {"accuracy": 0.9}, "majority": {"accuracy": 0.5}}
    return loss_table(steps, [learned] * len(steps), made_from | {"checkpoints": checkpoints}, data(task))


def of_college(inits=2, seeds=2, noise=0.005, heads=("fresh", "carry")):
    """Inputs of both figures, {item: {path: table}}."""
    runs = replicates(inits, seeds, noise)
    carried = [".carry" * (head == "carry") for head in heads]
    chains = [
        (final, first, carry) for final in TASKS for first in TASKS for carry in carried if first != final
    ]
    names = {f"{task}@cased": task for task in TASKS}
    names |= {f"{first}+{final}{carry}@cased": final for final, first, carry in chains}
    return {
        "figure1": {f"results/losses/{name}.tsv": losses(name, task, runs) for name, task in names.items()},
        "figure2": {f"results/scores/{task}@cased.tsv": scores(task, runs) for task in TASKS}
        | {
            f"results/gains/{first}+{final}{carry}@cased_vs_{final}@cased.tsv": gains(
                final, first, runs, carry
            )
            for final, first, carry in chains
        },
    }
