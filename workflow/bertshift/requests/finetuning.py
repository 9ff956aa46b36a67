"""Fine-tuning, and the tables of its results: scores, losses, gains, step sizes; and the scores of
a frozen encoder."""

from collections.abc import Mapping

from bertshift.errors import UserError
from bertshift.naming import Model, Run, parse_model
from bertshift.recipes import task_settings
from bertshift.replicates import check_trained, pair_runs, runs_of
from bertshift.requests import Request
from bertshift.requests.data import task_data
from bertshift.requests.runs import (
    WEIGHTS,
    checkpoints_of,
    files,
    pairwise_inputs,
    provenance,
    rated_model,
    records,
    run_named,
    runs_and_parents,
    scored_model,
    training_scores,
    unique,
)
from bertshift.seeds import seed_from


def finetune(config: Mapping, model: str, init: str, seed: str) -> Request:
    run = run_named(config, model, init, seed)
    if not run.model.tasks:
        raise UserError(f"'{run.model}' is not fine-tuned and has no seed; ask for init{init}.")
    check_trained(run.model)
    return Request(
        {"start": files([run.parent]), **task_data(run.model, config)},
        settings_of_run(run, config),
    )


def snapshots(config: Mapping, stem: str, checkpoint: str, init: str, seed: str) -> Request:
    """Ask for snapshots of the run of model `<stem><checkpoint>`; settings["shares"]: percent of
    its steps, in ascending order."""
    training = finetune(config, stem + checkpoint, init, seed)
    return training.plus(shares=sorted(config["snapshots"]))


def settings_of_run(run: Run, config: Mapping) -> dict:
    return {
        **task_settings(run.model, config),
        "variants": [variant.text for variant in run.model.variants],
        # Without the variants and earlier tasks: runs that are compared see the same batches and
        # draw the same head.
        "seed": finetune_seed(run.model, run.init, run.seed),
    }


def finetune_seed(model: Model, init: int, seed: int) -> int:
    earlier = model.tasks[:-1].count(model.task)
    again = [earlier] if earlier else []  # the head of a second stage is not the first one's
    return seed_from("finetune", model.task, model.base, init, seed, *again)


def scores(config: Mapping, model: str) -> Request:
    model, runs = scored_model(model, config)
    return Request(
        {
            "scores": files(runs, ["scores.json"]),
            "predictions": files(runs, ["predictions.tsv"]),
            "sidecar": task_data(model, config)["sidecar"],
            "sources": records(runs),
        },
        provenance(model, config),
    )


def losses(config: Mapping, model: str) -> Request:
    model, runs = scored_model(model, config)
    inputs = {
        "steps": files(runs, ["steps.tsv"]),
        "scores": files(runs, ["scores.json"]),
        "trainings": training_scores(config, model),
        "sources": records(runs),
    }
    return Request(inputs, provenance(model, config))


def steps(config: Mapping, model: str) -> Request:
    model, pairs = runs_and_parents(model, config)
    if model.variant("lora"):
        raise UserError(
            f"results/steps/{model}.tsv: only the adapters of '{model}' make steps; ask for"
            f" results/spectra/{model}_vs_{model.parent}.tsv, which compares the weights."
        )
    logs = files([run for run, _ in pairs], ["layers.tsv"])
    starts = files(unique(parent for _, parent in pairs), WEIGHTS)
    return pairwise_inputs(model.parent, model, pairs, config).plus(
        {"logs": logs, "starts": starts}
    )


def gains(config: Mapping, model: str, reference: str) -> Request:
    """Ask for the predictions of two models of one task, to be tested against each other example
    by example."""
    first, second = parse_model(model, config), parse_model(reference, config)
    kind = config["tasks"].get(first.task, {}).get("kind")
    if first.task != second.task or kind not in ["classification", "regression", "spans"]:
        raise UserError(
            f"results/gains/{model}_vs_{reference}.tsv: only two models of one task that"
            " classifies, rates or answers can be tested on its examples; write e.g."
            " 'wnli+rte_vs_rte'."
        )
    check_trained(first)
    check_trained(second)
    pairs = pair_runs(first, second, config)
    runs = [run for pair in pairs for run in pair]
    return Request(
        {
            "scores": files(runs, ["scores.json"]),
            "predictions": files(runs, ["predictions.tsv"]),
            "sidecar": task_data(first, config)["sidecar"],
            "trainings": training_scores(config, first, second),
            "sources": records(runs_of(first, config)),
        },
        {
            **provenance(first, config),
            "reference": reference,
            "pairs": [[[run.init, run.seed] for run in pair] for pair in pairs],
        },
    )


def frozen(config: Mapping, model: str) -> Request:
    model = rated_model("results/frozen", model, config)
    if model.variants:
        plain = Model(model.tasks, (), model.base)
        raise UserError(
            f"results/frozen/{model}.tsv: an encoder is taken as it is, without variants; write"
            f" '{plain}'."
        )
    runs = unique(run.parent for run in runs_of(model, config))
    heads = range(1, config["frozen"]["heads"] + 1)
    starts = {}
    for run in runs:
        seeds = [finetune_seed(model, run.init, head) for head in heads]
        starts[run.folder] = {"init": run.init, "seed": run.seed, "heads": seeds}
    return Request(
        {"starts": files(runs), **task_data(model, config)},
        {
            **provenance(model, config),
            "checkpoints": checkpoints_of(runs, config),
            "model": str(model.parent),
            "child": str(model),
            "task": task_settings(model, config)["task"],
            "max_train": config["frozen"]["max_train"],
            "starts": starts,
        },
    )
