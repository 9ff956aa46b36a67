"""Fine-tuning, and the tables of its results: losses, gains, step sizes; and the scores of a
frozen encoder."""

from collections.abc import Mapping

from bertshift.errors import UserError
from bertshift.naming import Model, Run, parse_model
from bertshift.recipes import task_settings
from bertshift.replicates import check_trained, pair_runs, runs_of
from bertshift.requests.runs import Pair, rated_model, run_named, unique, with_parents
from bertshift.seeds import seed_from


def trained_run(config: Mapping, model: str, init: str, seed: str) -> Run:
    """Return the run that a job trains. Raise UserError for a run that no training makes."""
    run = run_named(config, model, init, seed)
    if not run.model.tasks:
        raise UserError(f"'{run.model}' is not fine-tuned and has no seed; ask for init{init}.")
    check_trained(run.model)
    return run


def task(config: Mapping, run: Run) -> dict:
    return task_settings(run.model, config)["task"]


def training(config: Mapping, run: Run) -> dict:
    return task_settings(run.model, config)["training"]


def variants(config: Mapping, run: Run) -> list[str]:
    return [variant.text for variant in run.model.variants]


def random_seed(config: Mapping, run: Run) -> int:
    # Without the variants and earlier tasks: runs that are compared see the same batches and
    # draw the same head.
    return finetune_seed(run.model, run.init, run.seed)


def settings_of_run(run: Run, config: Mapping) -> dict:
    return {
        **task_settings(run.model, config),
        "variants": variants(config, run),
        "seed": random_seed(config, run),
    }


def finetune_seed(model: Model, init: int, seed: int) -> int:
    earlier = model.tasks[:-1].count(model.task)
    again = [earlier] if earlier else []  # the head of a second stage is not the first one's
    return seed_from("finetune", model.task, model.base, init, seed, *again)


def settings_of_task(config: Mapping, model: str) -> dict:
    """Return the data and the head of the model's last fine-tuning."""
    return task_settings(parse_model(model, config), config)["task"]


def stepping(config: Mapping, model: str) -> list[Pair]:
    """Pair the runs whose steps are logged with the runs that they started from. Raise UserError
    for adapters."""
    pairs = with_parents(config, model)
    run, parent = pairs[0]
    if run.model.variant("lora"):
        raise UserError(
            f"results/steps/{model}.tsv: only the adapters of '{model}' make steps; ask for"
            f" results/spectra/{model}_vs_{parent.model}.tsv, which compares the weights."
        )
    return pairs


def parent(config: Mapping, model: str) -> str:
    return str(parse_model(model, config).parent)


def gaining(config: Mapping, model: str, reference: str) -> list[Pair]:
    """Pair the runs of two models of one task, whose predictions are tested against each other
    example by example. Raise UserError for other models."""
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
    return pair_runs(first, second, config)


def frozen(config: Mapping, model: str) -> list[Run]:
    """List the encoders that the model's runs started from. Raise UserError for a model with
    variants."""
    parsed = rated_model("results/frozen", model, config)
    if parsed.variants:
        plain = Model(parsed.tasks, (), parsed.base)
        raise UserError(
            f"results/frozen/{model}.tsv: an encoder is taken as it is, without variants; write"
            f" '{plain}'."
        )
    return unique(run.parent for run in runs_of(parsed, config))


def seeds_of_heads(config: Mapping, model: str) -> dict[str, dict]:
    """Return by folder the numbers of each encoder, and the seeds of the heads that are put on
    it."""
    parsed = parse_model(model, config)
    heads = range(1, config["frozen"]["heads"] + 1)
    starts = {}
    for run in frozen(config, model):
        seeds = [finetune_seed(parsed, run.init, head) for head in heads]
        starts[run.folder] = {"init": run.init, "seed": run.seed, "heads": seeds}
    return starts
