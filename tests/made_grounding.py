"""Made-up distances and differences in behaviour, of runs that are points on a line: RSA tells how far they are, CKA nothing."""

from itertools import combinations, product

import numpy as np
import pandas as pd
from made_tables import PLACE, generator

from bertshift.metrics.grounding import MEASURES

NOISE = {measure: 0.1 * number for number, measure in enumerate(MEASURES)} | {"cka": 100}


def of_beyond(layers, inits=1, seeds=1):
    names = {
        task: [f"{before}{task}{after}@cased" for before, after in (("", ""), ("mrpc+", ""), ("", ".freeze1"), ("", ".reinit4"))]
        for task in ("cola", "rte")
    }  # fmt: skip
    return {
        f"results/grounding/{task}@cased.tsv": _table(task, models, layers, inits, seeds)
        for task, models in names.items()
    }


def _table(task, models, layers, inits, seeds):
    random, rows = generator(task), []
    for init in range(1, inits + 1):
        runs = [(*run, random.random()) for run in product(models, range(1, seeds + 1))]
        for (model, seed, here), (reference, ref_seed, there) in combinations(runs, 2):
            apart = abs(here - there)
            behaviour = {"predictions": 0.2 * apart, "score": 0.1 * abs(apart + random.normal(0, 0.3)),
                         "outputs": 0.1 * apart**2, "n": 408}  # fmt: skip
            for measure, summary in product(MEASURES, ("last", "mean")):
                value = abs(apart + NOISE[measure] * random.normal())
                rows.append({"metric": "grounding", "model": model, "reference": reference, "stimuli": task, "init": init,
                             "seed": seed, "ref_init": init, "ref_seed": ref_seed, "failed": False, "ref_failed": False,
                             "variant": measure, "layer": layers, "ref_layer": layers, "head": 0, "value": value, "sd": np.nan,
                             "summary": summary, **behaviour, **PLACE, "data": f"{task} dev, a sample of 9815"})  # fmt: skip
    return pd.DataFrame(rows)
