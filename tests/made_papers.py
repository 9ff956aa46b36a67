"""Made-up tables for every figure, of models of one shape: {item: {path: table}} by paper."""

import re
from functools import cache
from itertools import product
from pathlib import Path

import made_ablations
import made_attention
import made_grounding
import made_hao
import made_lora
import made_patterns
import made_reinit
import made_relations
import made_scores
import made_transfer
import numpy as np
import pandas as pd
import pytest
from made_tables import FINETUNED, PLACE, SWEEPS, falling, of_merchant, table

from bertshift.config import load_config, read_yaml
from bertshift.naming import Name, draw_number, noise_variants
from bertshift.papers import catalogue
from bertshift.papers.hao2020 import similarity

ROOT = Path(__file__).parents[1]

TASKS = list(made_ablations.TASKS)


def each(metric, models, reference, make, **more):
    """Each model against the reference; `make(model, number)` gives its curves."""
    return {
        f"results/{metric}/{m}_vs_{reference}.tsv": table(metric, m, reference, make(m, i), **more)
        for i, m in enumerate(models)
    }


def kovaleva2019(layers, heads, **replicates):
    shape = {"layers": layers, "heads": heads} | replicates
    depth = made_hao.depth(layers)

    def cosine(variant, end):
        made = each(
            "cosine", TASKS, "base", lambda model, i: {(model, variant): falling(layers, end + 0.04 * i)},
            heads=heads, noise=0.06, **replicates,
        )  # fmt: skip
        return {
            path.replace("cosine", "cosine" + "_padded" * (variant == "padded")): one
            for path, one in made.items()
        }

    def steps(model):
        sizes = {"gradient": 0.05, "update": 0.001, "displacement": 0.03}
        curves = {(model, name): [size] * layers for name, size in sizes.items()}
        return table("steps", model, "base", curves, noise=1e-4, **replicates)

    def sources_of_change(model):
        parts = {"total": 1.0, "own": 0.3, "inherited": 0.7}
        return pd.concat(
            table(
                "own_or_inherited", model, "base",
                {(model, variant): whole * part * depth**2 for variant, part in parts.items()},
                heads=heads, measure=measure, **replicates,
            )
            for measure, whole in (("cosine_distance", 0.5), ("js", 0.2))
        )  # fmt: skip

    changed = cosine("crop", 0.4)
    return {
        "table1": made_scores.of_kovaleva(**replicates),
        "figure5": changed | cosine("padded", 0.5),
        "steps": {f"results/steps/{m}.tsv": steps(m) for m in TASKS} | changed,
        "own_or_inherited": {
            f"results/own_or_inherited/{m}_vs_base.tsv": sources_of_change(m) for m in TASKS
        },
        **dict.fromkeys(("figure6", "figure7", "linguistic"), made_attention.of_kovaleva(**shape)),
        "figure3": made_relations.of_kovaleva(**shape),
        **dict.fromkeys(("figure8", "figure9"), made_ablations.of_kovaleva(noise=0.002, **shape)),
        **made_patterns.of_kovaleva(**shape),
    }


def college2020(layers, heads, **replicates):
    return made_transfer.of_college(**replicates) | made_reinit.of_college(layers, heads, **replicates)


def hao2020(layers, heads, **replicates):
    depth = made_hao.depth(layers)

    def js(model, i):
        curve = ((0.8 - 0.08 * i) * depth) ** 4
        return {(model, "nats"): curve, (model, "bits"): curve / np.log(2)}

    def svcca(model, i):
        return {
            (model, "svcca99"): 0.05 + (0.5 - 0.05 * i) * depth**2,
            (model, "svcca99_null"): [0.82 - 0.01 * i] * layers,
        }

    def states(model, i):
        """Make distances that grow with depth as SVCCA's do, though [CLS] has moved from the first layer on."""
        return pd.concat(
            table(
                metric, model, "large",
                {
                    ("mnli", variant): (0.4 if tokens == "cls" else 0.05) + (0.4 - 0.05 * i) * depth**2,
                    ("mnli", f"{variant}_null"): [0.92] * layers,
                },
                tokens=tokens, **replicates,
            )
            for (variant, metric), tokens in product(similarity.METRICS.items(), similarity.TOKENS)
        )  # fmt: skip

    models = made_hao.LARGE
    return {
        "figure1": each("js", models, "large", js, heads=heads, noise=0.004, **replicates),
        "figure2": each("svcca", models, "large", svcca, n=2400, **made_hao.RANKS, **replicates),
        "similarity": {f"results/similarity/{m}_vs_large.tsv": states(m, i) for i, m in enumerate(models)},
        **made_hao.of_hao(layers, heads, **replicates),
    }


def merchant2020(layers, heads=0, **replicates):
    """Nothing of this paper is by head."""

    def rsa(model, i):
        own = model if model in ("mnli", "squad") else "dep"
        ends = {
            "wiki": 0.8 - 0.1 * i, "wiki_pair": 0.75 - 0.1 * i, "mnli": 0.5 + 0.1 * i, "squad": 0.7 - 0.3 * i, "dep": 0.45,
            f"{own}_train": 0.48, {"mnli": "mnli_premise", "squad": "squad_question"}.get(own, "dep_other"): 0.6,
            f"wiki_like_{own}": 0.72 - 0.1 * i,
        }  # fmt: skip
        return {
            (s, v): falling(layers, end, first=0)
            for s, end in ends.items()
            for v in ("content", "all_tokens")
        }

    similar = each("rsa", FINETUNED, "base", rsa, **replicates)
    return {"figure2": similar, "figure5": similar, **of_merchant(layers, **replicates)}


def layer_cka(path, layers, **replicates):
    """Layers are the less alike the farther they are apart; fine-tuning makes the upper half more alike."""
    model, reference = path.removeprefix("results/layer_cka/").removesuffix(".tsv").split("_vs_")
    both = [(i, j) for i in range(layers + 1) for j in range(layers + 1)]
    parts = []
    for variant, gain in (("before", 0), ("after", 0.5), ("across", 0.2)):
        apart = np.array([abs(i - j) / layers * (1 - gain * (min(i, j) > layers / 2)) for i, j in both])
        if variant == "across":
            apart += [0.2 * min(i, j) / layers for i, j in both]
        made = table(
            "layer_cka",
            model,
            reference,
            {("mnli", variant): 1 - 0.8 * apart},
            tokens="content",
            **replicates,
        )
        # Its rows of layers 1, 2, ... stand for pairs of layers.
        parts.append(made.assign(**{key: np.array(both)[made["layer"] - 1, k] for k, key in enumerate(("layer", "ref_layer"))}))  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def forgetting(path, layers, **replicates):
    """RSA and, by another path, losses and weights: the more the last layer changes, the more is forgotten."""
    metric, _, names = path.removeprefix("results/").removesuffix(".tsv").partition("/")
    model, _, base = names.partition("_vs_")
    end = 0.2 + 0.01 * len(model)
    if metric == "rsa":
        return table(
            "rsa", model, base, {("wiki", "content"): falling(layers, 1 - end, first=0)}, **replicates
        )
    base = model.partition("@")[2] or "base"
    depth = np.arange(layers + 1) / layers
    curves = {"model": 0.9 - 0.5 * depth + end * depth**4, "parent": 0.9 - 0.5 * depth}
    last = {"unigram": 0.7, "forgotten": end}

    def rows(metric, variant, values):
        return table(metric, model, base, {("wiki", variant): list(values)}, n=1500, **replicates)

    parts = []
    for variant, values in curves.items():
        parts.append(rows("forgetting", variant, values).assign(layer=lambda made: made["layer"] - 1))
    parts += [rows("forgetting", variant, [value]).assign(layer=layers) for variant, value in last.items()]
    parts += [rows("weights_moved", "part", 0.01 + 0.1 * depth).assign(layer=lambda made: made["layer"] - 1)]
    parts += [rows("weights_moved", "whole", [end / 5]).assign(layer=layers)]
    return pd.concat(parts, ignore_index=True)


def beyond(layers, heads, **replicates):
    depth = np.arange(1, layers + 1) / layers

    def of(model, base, end):
        """The later layers change most."""
        curves = {
            "js": ({("mnli", "nats"): end * depth**3}, {"heads": heads, "noise": 0.004}),
            "rsa": ({("wiki", "content"): falling(layers, 1 - end, first=0)}, {}),
            "svcca": ({("mnli", "svcca99"): end * depth**2, ("mnli", "svcca99_null"): [0.8] * layers}, made_hao.RANKS),
        }  # fmt: skip
        return {
            f"results/{metric}/{model}_vs_{base}.tsv": table(
                metric, model, base, of_metric, **more, **replicates
            )
            for metric, (of_metric, more) in curves.items()
        }

    def over_training(model):
        """Later layers change later; before a tenth of the steps nothing is learnt, which is no failure."""
        made, runs = (
            {},
            made_transfer.replicates(replicates.get("inits", 2), replicates.get("seeds", 2), 0.005),
        )
        for share in (0, 1, 2, 5, 10, 25, 50, 100):
            name = model if share == 100 else f"{model}.at{share}"
            done = np.minimum(1, share / (20 + 60 * depth))
            made[f"results/scores/{name}.tsv"] = pd.DataFrame(
                {"model": name, "task": model, "init": init, "seed": seed, "metric": SWEEPS[model][0], "headline": True,
                 "value": 0.33 + 0.5 * min(1, share / 30) + off, "majority": 0.33, "failed": share < 10, **PLACE,
                 "data": f"{model} dev 408 of 408, a sample of 9815 (generated)"}
                for (init, seed), off in runs.items()
            )  # fmt: skip
            curves = {
                "rsa": ({("wiki", "content"): np.insert(1 - 0.3 * done * depth, 0, 1)}, {}),
                "svcca": ({(model, "svcca99"): 0.5 * done * depth, (model, "svcca99_null"): [0.8] * layers}, made_hao.RANKS),
                "js": ({(model, "nats"): 0.3 * done * depth}, {"heads": heads}),
            }  # fmt: skip
            for metric, (of_metric, more) in curves.items():
                made[f"results/{metric}/{name}_vs_base.tsv"] = table(
                    metric, name, "base", of_metric, noise=1e-4, failed=share < 10, **more, **replicates
                )
        return made | {f"results/losses/{model}.tsv": made_transfer.losses(model, "mrpc", runs)}

    bert = of("mnli", "base", 0.3)
    where = {
        path: layer_cka(path, layers, **replicates) for path in catalogue.needs("beyond/where", shipped())
    }
    return {
        "where": where,
        "forgetting": {
            path: forgetting(path, layers, **replicates)
            for path in catalogue.needs("beyond/forgetting", shipped())
        },
        "encoders": bert | of("mnli@roberta", "roberta", 0.4),
        "decoders": bert | of("mnli@gpt2", "gpt2", 0.5),
        "grounding": made_grounding.of_beyond(layers, **replicates),
        "lora": made_lora.of_beyond(layers, heads, **replicates) | bert,
        "when": {path: one for model in FINETUNED for path, one in over_training(model).items()},
    }


MADE = (kovaleva2019, college2020, hao2020, merchant2020, beyond)


@cache
def shipped(scale="demo"):
    """The configuration as shipped."""
    return load_config(read_yaml(ROOT / "config/experiments.yaml") | {"scale": scale}, ROOT)


def tables_of(paper, layers=4, heads=4, **replicates):
    """{path: table} for all figures of a paper, of models of this shape; whoever asks may change them."""
    return {path: table.copy() for path, table in _once(paper, layers, heads, **replicates).items()}


@cache
def _once(paper, layers, heads, **replicates):
    [make] = [make for make in MADE if make.__name__ == paper]
    made = {
        path: table for inputs in make(layers, heads, **replicates).values() for path, table in inputs.items()
    }
    return made | noise_beside(made)


NOISE = re.compile(r"results/(?:cosine|js|layer_cka|own_or_inherited|rsa|similarity|svcca)/.+_vs_.+\.tsv")
DRAWS = 2


def noise_beside(tables):
    """{path: table} of noise of each size beside the models that the shipped configuration names, from their tables."""
    sizes = sorted({size for scale in ("demo", "paper") for size in shipped(scale)["noise"]["times"]})
    return {
        path.replace(model, noisy): noise_of(table, noisy, size)
        for path, table in tables.items()
        if NOISE.fullmatch(path)
        and str(Name.of(model := table["model"].iloc[0]).without("at")) in shipped()["noise"]["of"]
        if f"{model}_vs_{model}" not in path and table["reference"].iloc[0] not in shipped()["tasks"]
        for size, variant in zip(sizes, noise_variants(sizes))
        for noisy in [str(Name.of(model).plus(variant))]
    }


def noise_of(table, noisy, size):
    """Change grows with the size of noise and less with depth than the model's: it has the root of that, a tenth for noise
    of the change's own size. What is no change, of unrelated states or before fine-tuning, stays."""
    draws = pd.concat(
        table.assign(seed=draw_number(table["seed"], draw, DRAWS)) for draw in range(1, DRAWS + 1)
    )
    alike = draws["metric"].isin(["cosine", "layer_cka", "rsa"])
    change = (1 - draws["value"]).where(alike, draws["value"])
    size = size * (1 + 0.05 * (draws["seed"] + draws["init"]))
    noise = np.minimum(1, 0.1 * size * np.sqrt(change.clip(0)))
    kept = draws["variant"].str.endswith("_null") | (draws["variant"] == "before")
    return draws.assign(model=noisy, value=draws["value"].where(kept, (1 - noise).where(alike, noise)))


class ByFigure(dict):
    """What tests have of each figure whose tables are made; they skip another one, for which a single test fails."""

    def __missing__(self, name):
        pytest.skip(f"tests/made_papers.py makes no tables for {name}")


def unmade(name, tables, settings):
    """The paths that figure `name` reads and that `tables` of its paper do not have."""
    return [path for path in catalogue.needs(name, settings) if path not in tables]


def world(layers=4, heads=4, **replicates):
    """{figure: {path: table}}: what every figure of the shipped configuration reads, of models of this shape."""
    made = {paper: tables_of(paper, layers, heads, **replicates) for paper in catalogue.PAPERS}
    of = {name: made[name.split("/")[0]] for name in catalogue.FIGURES}
    return ByFigure(
        (name, {path: tables[path] for path in catalogue.needs(name, shipped())})
        for name, tables in of.items() if not unmade(name, tables, shipped())
    )  # fmt: skip
