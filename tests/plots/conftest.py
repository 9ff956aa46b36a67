"""Made-up metric tables in the shape of real ones; numbers chosen so that figures look like figures."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

FOLDER = Path(__file__).parents[2] / "config" / "published"
PLACE = {
    "scale": "demo",
    "checkpoint": "4x128 BERT pretrained here on world",
}
ORDER = ["metric", "model", "reference", "stimuli", "init", "seed", "ref_init", "ref_seed", "variant", "layer",
         "ref_layer", "head", "value", "sd", "n", "scale", "checkpoint", "data"]  # fmt: skip


def table(metric, model, reference, curves, inits=2, seeds=2, heads=0, noise=0.01, n=5000, **extra):
    """`curves`: {(stimuli, variant): [value of layer first..L]}; RSA starts at layer 0, the rest at 1."""
    random = np.random.default_rng(len(metric) + len(model))
    rows = []
    first = 0 if metric == "rsa" else 1
    for init in range(1, inits + 1):
        for seed in range(1, seeds + 1):
            for (stimuli, variant), curve in curves.items():
                for layer, value in enumerate(curve, first):
                    cells = np.clip(value + random.normal(0, noise, heads + 1), 0, 1)
                    if heads:
                        cells[0] = cells[1:].mean()
                    for head, cell in enumerate(cells):
                        rows.append({"metric": metric, "model": model, "reference": reference, "stimuli": stimuli,
                                     "init": init, "seed": seed, "ref_init": init, "ref_seed": 0, "variant": variant,
                                     "layer": layer, "ref_layer": layer, "head": head, "value": cell, "sd": 0.1, "n": n,
                                     **PLACE, **extra})  # fmt: skip
    frame = pd.DataFrame(rows)
    source = "200/400 (a sample of 9815), world:glue/" + frame["stimuli"] + "/dev.tsv; trained on " + model
    frame["data"] = frame["stimuli"] + " dev " + source + " train 2000/2000 (a sample of 392702), world:glue"
    return frame[ORDER[:15] + list(extra) + ORDER[15:]]


def falling(layers, end, power=2.5, first=1):
    depth = np.arange(first, layers + 1) / layers
    return (1 - (1 - end) * depth**power).tolist()


def world(layers=4, heads=4, **replicates):
    """Inputs of every figure, {figure: {path: table}}, for a model of this shape."""

    def tables(metric, models, reference, make, **more):
        return {
            f"results/{metric}/{m}_vs_{reference}.tsv": table(
                metric, m, reference, make(m, i), **replicates, **more
            )
            for i, m in enumerate(models)
        }

    tasks = ["mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli"]
    large = ["mnli@large", "rte@large", "sst2@large", "mrpc@large"]

    def cosine(model, i):
        return {
            (model, "crop"): falling(layers, 0.4 + 0.04 * i),
            (model, "padded"): falling(layers, 0.5 + 0.04 * i),
        }

    def js(model, i):
        return {(model, v): [k * x**4 for x in np.arange(1, layers + 1) / layers * (0.8 - 0.08 * i)]
                for v, k in (("nats", 1), ("bits", 1 / np.log(2)))}  # fmt: skip

    def svcca(model, i):
        distances = [0.05 + (0.5 - 0.05 * i) * x**2 for x in np.arange(1, layers + 1) / layers]
        return {(model, "svcca99"): distances, (model, "svcca99_null"): [0.82 - 0.01 * i] * layers}

    def rsa(model, i):
        ends = {
            "wiki": 0.8 - 0.1 * i,
            "wiki_pair": 0.75 - 0.1 * i,
            "mnli": 0.5 + 0.1 * i,
            "squad": 0.7 - 0.3 * i,
        }
        return {
            (s, v): falling(layers, end, first=0)
            for s, end in ends.items()
            for v in ("content", "all_tokens")
        }

    similar = tables("rsa", ["mnli", "squad"], "base", rsa)
    ranks = {"k_model": 100, "k_reference": 90}
    return {
        "kovaleva2019/figure5": tables("cosine", tasks, "base", cosine, heads=heads, noise=0.06),
        "hao2020/figure1": tables("js", large, "large", js, heads=heads, noise=0.004),
        "hao2020/figure2": tables("svcca", large, "large", svcca, n=2400, **ranks),
        "merchant2020/figure2": similar,
        "merchant2020/figure5": similar,
    }


@pytest.fixture(scope="session")
def made():
    return world


@pytest.fixture(scope="session")
def published():
    return {
        path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.yaml"))
    }
