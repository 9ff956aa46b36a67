"""The replicates of a model, which of two models are compared, and rows of runs that differ in one
thing."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

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
    inits, seeds = limits.get("pretraining_runs"), limits.get("seeds")
    return [
        run
        for run in runs_of(model, config)
        if run.init <= (inits or run.init) and run.seed <= (seeds or run.seed)
    ]


def inits_of(base: Mapping) -> int:
    return base["pretrain"]["runs"] if "pretrain" in base else len(base["checkpoints"])


def seeds_of(model: Model, config: Mapping) -> int:
    return config["tasks"][model.task].get("seeds") or config["bases"][model.base]["seeds"]


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
    what the run that it imitates would be compared with, with that run itself, and with the same
    draw of other noise. UserError if there is no pair.
    """
    runs, others = runs_of(model, config), runs_of(reference, config)
    if model == reference:
        if model.tasks:
            pairs = [(a, b) for a in runs for b in runs if a.init == b.init and a.seed < b.seed]
            short = (
                f"one seed only; raise 'bases.{model.base}.seeds', or 'seeds' of"
                f" tasks.{model.task},"
            )
        else:
            pairs = [(a, b) for a in runs for b in runs if a.init < b.init]
            short = f"one pretraining run only; {MORE_CHECKPOINTS} of bases.{model.base}"
        if not pairs:
            raise UserError(f"'{model}' has {short} to compare it with itself.")
        return pairs
    same_draws = bool(model.variant("noise")) == bool(reference.variant("noise"))

    def number(run: Run) -> tuple[int, int]:
        return run.init, run.seed if same_draws else run.imitated.seed

    partners = defaultdict(list)
    for other in others:
        partners[number(other)].append(other)
    pairs = []
    for run in runs:
        found = partners.get(number(run)) or partners.get((run.init, 0), [])
        if not (found or run.seed):
            found = [other for other in others if other.init == run.init]
        pairs += [(run, other) for other in found]
    if not pairs:
        raise UserError(f"'{model}' and '{reference}' share no replicate; {MORE_RUNS}.")
    return pairs


def check_trained(model: Model) -> None:
    """Raise UserError for a model that is made by noise, where a head, a score or a training is
    needed."""
    if model.variant("noise"):
        raise UserError(
            f"'{model}' is made by noise, so it has no head, no score and no training; write"
            f" '{model.imitated}'."
        )


EMBEDDINGS_ONLY, NOTHING_FROZEN = -2, -1


def sweep_of(run: Run, kind: str, config: Mapping) -> list[tuple[int, Run]]:
    """List (position on the axis, run) for the row that `run`, the plain one, is part of or
    compared with.

    `freeze` (Merchant et al. 2020, Figure 3): the embeddings alone (EMBEDDINGS_ONLY), nothing
    (NOTHING_FROZEN), then layers 0 to x, counted from 0 as on the paper's axis; `keep` (Figure 4):
    the number of layers kept. `reinit` (BERT Goes to College, Figure 3): the first re-initialised
    layer, L + 1 for none; `reinitL11` (Figures 5 and 6): one head of layer
    11. A letter at their end is the scheme: `p` adds the pooler, `o` the head's columns of the
    output projection. `seeds`: the plain model with further seeds, as many as
    `sweeps.baseline_seeds`, shared among the rows of its pretraining run. UserError for a layer
    that is not there.
    """
    model = run.model
    check_trained(model)
    if model.variant("at"):
        raise UserError(
            f"'{model}' is a snapshot, and the runs of a row train to the end; write"
            f" '{model.trained}'."
        )
    shape = shape_of(config["bases"][model.base])
    layers = shape["layers"]

    def changed(text: str) -> Run:
        variants = tuple(in_order((*model.variants, parse_variant(text))))
        return replace(run, model=parse_model(str(replace(model, variants=variants)), config))

    if kind == "keep":
        return [*((k, changed(f"keep{k}")) for k in range(layers)), (layers, run)]
    if kind == "freeze":
        ends = [(EMBEDDINGS_ONLY, changed("freezeE")), (NOTHING_FROZEN, run)]
        return [*ends, *((x, changed(f"freeze{x}")) for x in range(layers))]
    if kind == "seeds":
        rows = max(each.seed for each in sweep_runs_of(model, config))
        seeds = range(run.seed, max(rows, config["sweeps"]["baseline_seeds"]) + 1, rows)
        return [(seed, replace(run, seed=seed)) for seed in seeds]
    layer, how = re.fullmatch(r"reinit(L\d+)?([a-z]*)", kind).groups()
    if layer:
        return [(h, changed(f"reinit{layer}H{h}{how}")) for h in range(1, shape["heads"] + 1)]
    return [*((k, changed(f"reinit{k}{how}")) for k in range(1, layers + 1)), (layers + 1, run)]
