"""The replicates of a model, which of two models are compared, and rows of runs that differ in one
thing."""

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

from bertshift.errors import UserError
from bertshift.naming import Model, Run, in_order, parse_model, parse_variant, shape_of


def runs_of(model: Model, config: Mapping) -> list[Run]:
    """List every replicate of a model: pretraining runs x fine-tuning seeds, counted from 1.

    A model fine-tuned from random weights is the same in every pretraining run: its replicates are
    the seeds, in run 1. A model with noise has `noise.draws` replicates for each replicate of the
    model that it imitates.
    """
    inits = 1 if model.starts_anew else inits_of(config["bases"][model.base])
    draws = config["noise"]["draws"] if model.variant("noise") else 1
    seeds = range(1, seeds_of(model, config) * draws + 1) if model.tasks else [0]
    return [Run(model, init, seed, draws) for init in range(1, inits + 1) for seed in seeds]


def sweep_runs_of(model: Model, config: Mapping) -> list[Run]:
    """List the model's replicates for a row of runs that differ in one thing, as far as `sweeps`
    allows."""
    limits = config["sweeps"] | config["sweeps"].get("per_base", {}).get(model.base, {})
    inits = limits.get("pretraining_runs") or math.inf
    seeds = limits.get("seeds") or math.inf
    return [run for run in runs_of(model, config) if run.init <= inits and run.seed <= seeds]


def inits_of(base: Mapping) -> int:
    return base["pretrain"]["runs"] if "pretrain" in base else len(base["checkpoints"])


def seeds_of(model: Model, config: Mapping) -> int:
    """Count the seeds that each task of the model has: a run starts from the run of the earlier
    task with the same seed."""
    of_base = config["bases"][model.base]["seeds"]
    return min(config["tasks"][task].get("seeds") or of_base for task in model.tasks)


# The advice where a pretraining run, or any run, is missing.
MORE_CHECKPOINTS = "list more 'checkpoints' (or raise 'pretrain.runs')"
MORE_RUNS = f"{MORE_CHECKPOINTS}, or raise 'seeds'"


def pair_runs(model: Model, reference: Model, config: Mapping) -> list[tuple[Run, Run]]:
    """Pair the replicates of two models that are compared.

    A replicate is compared with its own parent, or with the replicate of the same pretraining run
    and seed. A fine-tuned model against itself gives every pair of its seeds within one
    pretraining run (Hao et al. 2020, Figures 4 and 5). Any other model against itself gives every
    pair of its pretraining runs. Models of different checkpoints pair by number, and so do
    checkpoints with the `parent` that they were trained from. A draw of noise is compared with
    what the run that it imitates would be compared with, and with that run itself. UserError if
    there is no pair.
    """
    runs, reference_runs = runs_of(model, config), runs_of(reference, config)
    if model == reference:
        return _pair_within(model, runs)
    same_draws = bool(model.variant("noise")) == bool(reference.variant("noise"))

    def number(run: Run) -> tuple[int, int]:
        return run.init, run.seed if same_draws else run.imitated.seed

    by_number, by_init = defaultdict(list), defaultdict(list)
    for run in reference_runs:
        by_number[number(run)].append(run)
        by_init[run.init].append(run)
    pairs = []
    for run in runs:
        # A pretrained reference has seed 0; a pretrained run pairs with every seed.
        partners = by_number[number(run)] or by_number[run.init, 0]
        if not partners and run.seed == 0:
            partners = by_init[run.init]
        pairs += [(run, partner) for partner in partners]
    if not pairs:
        raise UserError(f"'{model}' and '{reference}' share no replicate; {MORE_RUNS}.")
    return pairs


def _pair_within(model: Model, runs: list[Run]) -> list[tuple[Run, Run]]:
    """Pair a model's replicates with each other: seeds of one pretraining run, or pretraining
    runs."""
    pairs = list(combinations(runs, 2))
    if model.tasks:
        pairs = [(run, partner) for run, partner in pairs if run.init == partner.init]
        problem = (
            f"one seed only; raise 'bases.{model.base}.seeds', or 'seeds' of tasks.{model.task},"
        )
    else:
        problem = f"one pretraining run only; {MORE_CHECKPOINTS} of bases.{model.base}"
    if not pairs:
        raise UserError(f"'{model}' has {problem} to compare it with itself.")
    return pairs


def check_trained(model: Model) -> None:
    """Raise UserError for a model that is made by noise: it has no head, score or training."""
    if model.variant("noise"):
        raise UserError(
            f"'{model}' is made by noise, so it has no head, no score and no training; write"
            f" '{model.imitated}'."
        )


EMBEDDINGS_ONLY, NOTHING_FROZEN = -2, -1


def sweep_of(run: Run, kind: str, config: Mapping) -> list[tuple[int, Run]]:
    """List (position on the axis, run) for the row that varies `run`, a plain run.

    `freeze` (Merchant et al. 2020, Figure 3): the embeddings alone (EMBEDDINGS_ONLY), nothing
    (NOTHING_FROZEN), then layers 0 to x, counted from 0 as on the paper's axis; `keep` (Figure 4):
    the number of layers kept. `reinit` (BERT Goes to College, Figure 3): the first re-initialised
    layer, L + 1 for none; `reinitL11` (Figures 5 and 6): one head of layer
    11. A letter at their end is the scheme: `p` adds the pooler, `o` the head's columns of the
    output projection. `seeds`: the plain model with further seeds, as many as
    `sweeps.baseline_seeds`, shared among the rows of its pretraining run. UserError for a layer
    that does not exist.
    """
    model = run.model
    check_trained(model)
    if model.variant("at"):
        raise UserError(
            f"'{model}' is a snapshot, and the runs of a row train to the end; write"
            f" '{model.trained}'."
        )
    shape = shape_of(config["bases"][model.base])
    layers, heads = shape["layers"], shape["heads"]

    def add_variant(text: str) -> Run:
        variants = tuple(in_order([*model.variants, parse_variant(text)]))
        name = str(replace(model, variants=variants))
        return replace(run, model=parse_model(name, config))

    if kind == "keep":
        row = [(number, add_variant(f"keep{number}")) for number in range(layers)]
        return [*row, (layers, run)]
    if kind == "freeze":
        row = [(EMBEDDINGS_ONLY, add_variant("freezeE")), (NOTHING_FROZEN, run)]
        return row + [(layer, add_variant(f"freeze{layer}")) for layer in range(layers)]
    if kind == "seeds":
        rows = max(replicate.seed for replicate in sweep_runs_of(model, config))
        last_seed = max(rows, config["sweeps"]["baseline_seeds"])
        seeds = range(run.seed, last_seed + 1, rows)
        return [(seed, replace(run, seed=seed)) for seed in seeds]
    head_layer, scheme = re.fullmatch(r"reinit(L\d+)?([a-z]*)", kind).groups()
    if head_layer:
        return [
            (head, add_variant(f"reinit{head_layer}H{head}{scheme}"))
            for head in range(1, heads + 1)
        ]
    row = [(layer, add_variant(f"reinit{layer}{scheme}")) for layer in range(1, layers + 1)]
    return [*row, (layers + 1, run)]
