"""Made-up tables in the shape of real ones, with numbers that tell the papers' own story."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from bertshift.rows.origin import ORIGIN

PAPERS = Path(__file__).parents[1] / "workflow/bertshift/papers"
PLACE = {"scale": "demo", "checkpoint": "4x128 BERT pretrained here on world", "family": "bert"}
ORDER = ["metric", "model", "reference", "stimuli", "init", "seed", "ref_init", "ref_seed", "variant", "layer",
         "ref_layer", "head", "value", "sd", "n", *ORIGIN]  # fmt: skip


def published(paper):
    return yaml.safe_load((PAPERS / paper / "published.yaml").read_text(encoding="utf-8"))


def table(metric, model, reference, curves, inits=2, seeds=2, heads=0, noise=0.01, n=5000, **extra):
    """`curves`: {(stimuli, variant): [value of layer first..L]}; RSA starts at layer 0, the rest at 1."""
    first = 0 if metric == "rsa" else 1
    last = first + len(next(iter(curves.values())))
    index = pd.MultiIndex.from_product(
        [range(1, inits + 1), range(1, seeds + 1), curves, range(first, last), range(heads + 1)],
        names=["init", "seed", "curve", "layer", "head"],
    )
    random = np.random.default_rng(len(metric) + len(model))
    levels = np.array(list(curves.values()))[..., None]
    cells = np.clip(levels + random.normal(0, noise, [len(level) for level in index.levels]), 0, 1)
    if heads:
        cells[..., 0] = cells[..., 1:].mean(-1)
    frame = index.to_frame(index=False)
    frame[["stimuli", "variant"]] = frame["curve"].to_list()
    frame = frame.assign(
        metric=metric, model=model, reference=reference, ref_init=frame["init"], ref_seed=0, ref_layer=frame["layer"],
        value=cells.ravel(), sd=0.1, n=n, **PLACE, **extra,
    )  # fmt: skip
    source = "200/400 (a sample of 9815), world:glue/" + frame["stimuli"] + "/dev.tsv; trained on " + model
    frame["data"] = frame["stimuli"] + " dev " + source + " train 2000/2000 (a sample of 392702), world:glue"
    return frame[ORDER[:15] + list(extra) + ORDER[15:]]


def falling(layers, end, power=2.5, first=1):
    depth = np.arange(first, layers + 1) / layers
    return (1 - (1 - end) * depth**power).tolist()


FINETUNED = ["mnli", "squad", "dep"]
PAPER = published("merchant2020")["table1"]
EDGES = PAPER["tasks"]
VIEWS = ["micro_all", "clean", "argmax_accuracy"]


def made_of(rows, metric):
    """Rows of dictionaries as a table whose captions can be checked like those of layer metrics."""
    frame = pd.DataFrame({"metric": metric} | row | PLACE for row in rows)
    return frame.assign(data=frame.get("task", "made") + " test 300 of 300, a sample of 9815 (generated)")


def runs_of(model, inits, seeds):
    """(init, seed): the pretrained and the randomized model have no fine-tuning seed."""
    return [
        (init, seed)
        for init in range(1, inits + 1)
        for seed in ([0] if model.startswith("base") else range(1, seeds + 1))
    ]


def edge_f1(model, task, variant="mix"):
    """The paper's score of a cell, between 0 and 1; top layers lose another 1.5 points, and fine-tuned ones 2.5."""
    column = {"lexical": "lexical", "word_only": "lexical"}.get(
        variant, model.replace("base.random", "randomized")
    )
    less = {"word_only": 0.8, "top": 2.5 if model in ("mnli", "squad") else 1.5}.get(variant, 0)
    return (PAPER["base"][task] + PAPER["delta"].get(column, {}).get(task, 0) - less) / 100


def generator(name):
    return np.random.default_rng(list(name.encode()))


def edge_probes(model, inits=2, seeds=1, noise=0.003):
    random, rows = generator(model), []
    variants = ["mix", "top"] + ["lexical", "word_only"] * (model == "base")
    for (init, seed), probe_seed, variant, task, view in product(
        runs_of(model, inits, seeds), (1, 2), variants, EDGES, VIEWS
    ):
        value, control = (
            edge_f1(model, task, variant) + random.normal(0, noise),
            0.3 + random.normal(0, noise),
        )
        rows.append({"model": model, "task": task, "variant": variant, "view": view, "init": init, "seed": seed,
                     "probe_seed": probe_seed, "value": value, "control": control, "selectivity": value - control,
                     "n": 900, "train": 1500, "dropped": 0})  # fmt: skip
    return made_of(rows, "edge_probe")


def edge_deltas(model, inits=2, seeds=1, noise=0.002):
    random, rows = generator(model), []
    for (init, seed), variant, task, view in product(
        runs_of(model, inits, seeds), ("mix", "top"), EDGES, VIEWS
    ):
        value = edge_f1(model, task, variant) - edge_f1("base", task, variant) + random.normal(0, noise)
        p = 0.002 if abs(value) > 0.01 else 0.01 if abs(value) > 0.006 else 0.4
        rows.append({"model": model, "reference": "base", "task": task, "variant": variant, "view": view, "init": init,
                     "seed": seed, "value": value, "low": value - 0.006, "high": value + 0.006, "p": p, "n": 300})  # fmt: skip
    return made_of(rows, "edge_probe_delta")


def structural_probes(model, layers=12, inits=2, seeds=1, noise=0.005):
    """An arch over layers; Dep lifts it from a third of the depth on, the others lower its last layer."""
    random, rows = generator(model), []
    lift, end = (0.06, 0) if model == "dep" else (0, -0.02 * (model != "base"))
    kinds = [("depth", "root_accuracy"), ("distance", "uuas")]
    for (init, seed), (kind, other), layer, split in product(
        runs_of(model, inits, seeds), kinds, range(layers + 1), ("dev", "test")
    ):
        depth = layer / layers
        arch = (
            0.5 + 0.35 * np.sin(np.pi * depth * 0.75) + lift * max(depth - 0.3, 0) + end * (layer == layers)
        )
        for measure, shift in (("spearman", 0), (other, -0.08)):
            rows.append({"model": model, "kind": kind, "layer": layer, "split": split, "rank": 128, "measure": measure,
                         "init": init, "seed": seed, "probe_seed": 1, "value": arch + shift + random.normal(0, noise),
                         "n": 46})  # fmt: skip
    return made_of(rows, "structural_probe")


# Score of the complete model and of none of it; powers of the fraction frozen, and of the fraction removed.
SWEEPS = {
    "mnli": ("accuracy", 0.83, 0.45, 24, 6),
    "squad": ("f1", 0.88, 0.2, 12, 5),
    "dep": ("las_ud", 0.91, 0.5, 2, 2),
}


def sweep(task, kind, layers=12, inits=2, seeds=1, noise=0.004):
    random, rows = generator(task), []
    metric, full, least, *powers = SWEEPS[task]
    freeze = kind == "freeze"
    positions = [-2, *range(-1, layers)] if freeze else range(layers + 1)
    for (init, seed), position in product(runs_of(task, inits, seeds), positions):
        gone = max(position + 1, 0) / layers if freeze else 1 - position / layers
        value = full - (full - least) * gone ** powers[not freeze] + random.normal(0, noise)
        plain = position == (-1 if freeze else layers)
        for name, headline in ((metric, True), ("other", False)):
            rows.append({"model": task if plain else f"{task}.{kind}{position}", "task": task, "init": init, "seed": seed,
                         "metric": name, "headline": headline, "value": value, "majority": 0.3, "failed": False,
                         "train": 3600, "dev": 500, "position": position, "layers": layers})  # fmt: skip
    return made_of(rows, metric)


def mdl(model, inits=2, seeds=1, noise=0.02):
    random, rows = generator(model), []
    for (init, seed), probe_seed, (number, task) in product(
        runs_of(model, inits, seeds), (1, 2), enumerate(EDGES)
    ):
        run = {"model": model, "task": task, "init": init, "seed": seed, "probe_seed": probe_seed, "n": 9000}
        bits = 9000 * (1 + number / 4) * (0.85 if (model, task) == ("dep", "dependencies") else 1)
        bits *= 1 + random.normal(0, noise)
        totals = {"codelength": bits, "uniform": 45000.0, "compression": 45000 / bits}
        rows += [run | {"quantity": quantity, "portion": 1.0, "examples": 1500, "value": value}
                 for quantity, value in totals.items()]  # fmt: skip
        for portion in (0.032, 0.0625, 0.125, 0.25, 0.5, 1.0):
            f1 = edge_f1("base", task) * (1 - 0.4 * (1 - portion) ** 12) + random.normal(0, noise / 4)
            rows.append(
                run | {"quantity": "f1", "portion": portion, "examples": int(1500 * portion), "value": f1}
            )
    return made_of(rows, "mdl")


def of_merchant(layers=12, **runs):
    """Tables of the figures of Merchant et al. 2020 that are not curves of RSA, {item: {path: table}}."""
    models = ["base", *FINETUNED]
    probes = {
        f"results/edge_probes/{m}.tsv": edge_probes(m, **runs) for m in ("base", "base.random", *FINETUNED)
    }
    probes |= {f"results/edge_probes/{m}_vs_base.tsv": edge_deltas(m, **runs) for m in FINETUNED}
    return {
        "table1": probes,
        "figure1": {
            f"results/structural_probes/{m}.tsv": structural_probes(m, layers, **runs) for m in models
        },
        "figure3": {f"results/sweeps/{t}.freeze.tsv": sweep(t, "freeze", layers, **runs) for t in FINETUNED},
        "figure4": {f"results/sweeps/{t}.keep.tsv": sweep(t, "keep", layers, **runs) for t in FINETUNED},
        "appendix_a": probes,
        "appendix_b": {f"results/mdl/{m}.tsv": mdl(m, **runs) for m in models},
    }


def only_row(table, **where):
    """The one row whose columns have these values."""
    for column, value in where.items():
        table = table[table[column] == value]
    assert len(table) == 1
    return table.iloc[0]
