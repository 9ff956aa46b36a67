"""The runs of a model, and the provenance of a table's rows."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.models.source import SOURCE, local_source, names_apart
from bertshift.naming import VARIANTS, Model, Run, parse_comparison, parse_model
from bertshift.replicates import MORE_RUNS, check_trained, pair_runs, runs_of

WEIGHTS = ["config.json", "model.safetensors"]
MODEL_FILES = [*WEIGHTS, "tokenizer.json", "tokenizer_config.json", SOURCE]

Pair = tuple[Run, Run]


def unique(items: Iterable) -> list:
    """List each item once, in order of appearance."""
    return list(dict.fromkeys(items))


def replicates(config: Mapping, model: str) -> list[Run]:
    return runs_of(parse_model(model, config), config)


def run_named(config: Mapping, model: str, init: str, seed: str = "0") -> Run:
    """Return the replicate with these numbers. Raise UserError if the model has none."""
    parsed = parse_model(model, config)
    name = Run(parsed, int(init), int(seed)).name
    for run in runs_of(parsed, config):
        if run.name == name:
            return run
    raise UserError(
        f"'{model}' has no replicate {name} at this scale; {MORE_RUNS}, of bases.{parsed.base}."
    )


def of_task(config: Mapping, model: str) -> list[Run]:
    """List a model's replicates. Raise UserError for a model that has no task."""
    runs = replicates(config, model)
    if not runs[0].model.tasks:
        raise UserError(f"'{model}' is not fine-tuned, so it has no score; name a task's model.")
    return runs


def scored(config: Mapping, model: str) -> list[Run]:
    """List a model's replicates. Raise UserError for a model that was not fine-tuned, and for one
    that is made by noise."""
    runs = of_task(config, model)
    check_trained(runs[0].model)
    return runs


def with_parents(config: Mapping, model: str) -> list[Pair]:
    """Pair each replicate of a model with the run that it was fine-tuned from.

    Raise UserError where the weights that fine-tuning began with are not kept.
    """
    runs = scored(config, model)
    for variant in runs[0].model.variants:
        if VARIANTS[variant.kind].reinitialised:
            raise UserError(
                f"'{model}' was fine-tuned from weights drawn anew, which are not kept; name it"
                f" without .{variant.text}."
            )
    return [(run, run.parent) for run in runs]


def compared(config: Mapping, model: str, reference: str) -> list[Pair]:
    """Pair the replicates of two models."""
    return pair_runs(*parse_comparison(model, reference, config), config)


# What follows is of the configuration and of what another function here selects.


def both_sides(config: Mapping, pairs: Iterable[Pair]) -> list[Run]:
    """List every run of either side, once."""
    return unique(run for pair in pairs for run in pair)


def each_side(config: Mapping, pairs: Iterable[Pair]) -> list[Run]:
    """List both runs of each pair, a run as often as it is in one."""
    return [run for pair in pairs for run in pair]


def numbers_of_pairs(config: Mapping, pairs: Iterable[Pair]) -> list[list[list[int]]]:
    return [numbers(config, pair) for pair in pairs]


def models(config: Mapping, pairs: Iterable[Pair]) -> list[Run]:
    return [run for run, _ in pairs]


def references(config: Mapping, pairs: Iterable[Pair]) -> list[Run]:
    return unique(reference for _, reference in pairs)


def outcomes(config: Mapping, runs: Iterable[Run]) -> list[Run]:
    """Select the runs that end in a fine-tuning, whose scores.json say whether they learnt; in the
    place of noise, the run that it imitates."""
    return [run.imitated for run in runs if run.model.tasks]


def trained(config: Mapping, runs: Iterable[Run]) -> list[list]:
    """List (model, init, seed) of each run that ends in a fine-tuning, in the order of
    `outcomes`."""
    return [[str(run.model), run.init, run.seed] for run in runs if run.model.tasks]


def trainings(config: Mapping, runs: Iterable[Run]) -> list[Run]:
    """List one run of every fine-tuning that led to any of the runs' models."""
    stages = []
    for model in unique(run.model for run in runs):
        run = runs_of(model, config)[0]
        stages += [run, *run.ancestors]
    return [run.imitated for run in unique(stages) if run.model.tasks]


def numbers(config: Mapping, runs: Iterable[Run]) -> list[list[int]]:
    return [[run.init, run.seed] for run in runs]


def numbers_by_name(config: Mapping, runs: Iterable[Run]) -> dict[str, list[int]]:
    return {run.name: [run.init, run.seed] for run in runs}


def numbers_by_folder(config: Mapping, runs: Iterable[Run]) -> dict[str, list[int]]:
    return {run.folder: [run.init, run.seed] for run in runs}


def folders(config: Mapping, runs: Iterable[Run]) -> dict[str, str]:
    return {run.name: run.folder for run in runs}


def replicate_and_reference(run: Run, reference: Run) -> dict[str, int]:
    """Return the numbers of a row's replicate, and of its reference."""
    return {
        "init": run.init,
        "seed": run.seed,
        "ref_init": reference.init,
        "ref_seed": reference.seed,
    }


def children(config: Mapping, pairs: Iterable[Pair]) -> list[dict]:
    """Describe each pair of a run and an earlier one, that it comes from."""
    return [
        {
            "folder": run.folder,
            "parent": earlier.folder,
            **replicate_and_reference(run, earlier),
        }
        for run, earlier in pairs
    ]


def checkpoints(config: Mapping, runs: Iterable[Run]) -> dict[str, dict]:
    """List by pretraining run the records of its replicates' weights, and the user's own label of
    the checkpoint."""
    by_init = {}
    for run in runs:
        entry = {"label": _label_checkpoint(run, config), "records": []}
        by_init.setdefault(str(run.init), entry)["records"].append(f"{run.folder}/{SOURCE}")
    return by_init


def _label_checkpoint(run: Run, config: Mapping) -> str | None:
    """Return the user's own name of a run's checkpoint, or one that distinguishes its folder from
    others of the same name; else None."""
    if "checkpoints" not in config["bases"][run.model.base]:
        return None
    entry = config["bases"][run.model.base]["checkpoints"][run.init - 1]
    if "label" in entry or "path" not in entry:
        return entry.get("label")
    entries = [
        checkpoint
        for base in config["bases"].values()
        for checkpoint in base.get("checkpoints", ())
    ]
    folders = [Path(checkpoint["path"]) for checkpoint in entries if "path" in checkpoint]
    folder = Path(entry["path"])
    name = names_apart(folders)[folder]
    return None if name == folder.name else local_source(name)["name"]


def task_of(config: Mapping, model: str) -> str | None:
    return parse_model(model, config).task


def rated_model(path: str, name: str, config: Mapping) -> Model:
    """Return the model of this name, whose table is below `path`.
    Raise UserError if its task gives a text no output to compare."""
    model = parse_model(name, config)
    kind = config["tasks"][model.task]["kind"] if model.tasks else None
    if kind not in ("classification", "regression"):
        raise UserError(
            f"{path}/{model}.tsv: '{model}' is not fine-tuned to classify or to rate a text; write"
            " e.g. 'mrpc'."
        )
    return model
