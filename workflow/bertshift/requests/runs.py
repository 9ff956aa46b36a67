"""The replicates of a model: their files, and the provenance of a table's rows."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.models.source import SOURCE, local_source, names_apart
from bertshift.naming import VARIANTS, Model, Run, parse_model
from bertshift.replicates import MORE_RUNS, check_trained, runs_of
from bertshift.requests import Request

WEIGHTS = ["config.json", "model.safetensors"]
MODEL_FILES = [*WEIGHTS, "tokenizer.json", "tokenizer_config.json", SOURCE]


def unique(items: Iterable) -> list:
    """List each item once, in order of appearance."""
    return list(dict.fromkeys(items))


def files(runs: Iterable[Run], names: Iterable[str] = MODEL_FILES) -> list[str]:
    """Name these files of each run's folder."""
    names = list(names)
    return [f"{run.folder}/{name}" for run in runs for name in names]


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


def scored_model(name: str, config: Mapping) -> tuple[Model, list[Run]]:
    """Return the model of this name and its replicates. Raise UserError for a model that was not
    fine-tuned, and for one that is made by noise."""
    model, runs = model_of_task(name, config)
    check_trained(model)
    return model, runs


def model_of_task(name: str, config: Mapping) -> tuple[Model, list[Run]]:
    """Return the model of this name and its replicates. Raise UserError for a model that has no
    task."""
    model = parse_model(name, config)
    if not model.tasks:
        raise UserError(f"'{model}' is not fine-tuned, so it has no score; name a task's model.")
    return model, runs_of(model, config)


def runs_and_parents(name: str, config: Mapping) -> tuple[Model, list[tuple[Run, Run]]]:
    """Return the model of this name and its runs, each with the run that it was fine-tuned from.

    Raise UserError where the weights that fine-tuning began with are not kept.
    """
    model, runs = scored_model(name, config)
    for variant in model.variants:
        if VARIANTS[variant.kind].reinitialised:
            raise UserError(
                f"'{model}' was fine-tuned from weights drawn anew, which are not kept; name it"
                f" without .{variant.text}."
            )
    return model, [(run, run.parent) for run in runs]


def in_pairs(pairs: Iterable[tuple[Run, Run]]) -> list[Run]:
    """List every run of either side, once."""
    return unique(run for pair in pairs for run in pair)


def outcomes(runs: Iterable[Run]) -> list[str]:
    """Name the scores.json of each run that ends in a fine-tuning; for noise, that of the imitated
    run."""
    return files([run.imitated for run in runs if run.model.tasks], ["scores.json"])


def names_of(runs: Iterable[Run]) -> list[list]:
    """List (model, init, seed) of each run that ends in a fine-tuning, in the order of
    `outcomes`."""
    return [[str(run.model), run.init, run.seed] for run in runs if run.model.tasks]


def training_scores(config: Mapping, *models: Model) -> list[str]:
    """Name the scores.json of one run of every fine-tuning that led to any of the models."""
    stages = []
    for model in models:
        run = runs_of(model, config)[0]
        stages += [run, *run.ancestors]
    return outcomes(unique(stages))


def by_folder(runs: Iterable[Run]) -> dict[str, list[int]]:
    """Return (init, seed) of each run, by the folder of its weights."""
    return {run.folder: [run.init, run.seed] for run in runs}


def records(runs: Iterable[Run]) -> list[str]:
    """Name the files with the origin of each run's weights."""
    return files(unique(runs), [SOURCE])


def checkpoints_of(runs: Iterable[Run], config: Mapping) -> dict[str, dict]:
    """List by pretraining run the records of its replicates' weights, and the user's own label of
    the checkpoint."""
    checkpoints = {}
    for run in runs:
        init = str(run.init)
        if init not in checkpoints:
            checkpoints[init] = {"label": _label_checkpoint(run, config), "records": []}
        checkpoints[init]["records"] += files([run], [SOURCE])
    return checkpoints


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


def provenance(model: Model, config: Mapping) -> dict:
    """Collect what the rows of a model's table say about the model."""
    runs = runs_of(model, config)
    return {
        "model": str(model),
        "task": model.task,
        "runs": [[run.init, run.seed] for run in runs],
        "scale": config["scale"],
        "checkpoints": checkpoints_of(runs, config),
    }


def table_inputs(model: Model, config: Mapping) -> Request:
    """Ask for the files that every table of one model needs: the origins of its runs, and the runs
    that failed to train."""
    runs = runs_of(model, config)
    return Request(
        {
            "scores": training_scores(config, model),
            "outcomes": outcomes(runs),
            "sources": records(runs),
        },
        {
            "model": str(model),
            "scale": config["scale"],
            "checkpoints": checkpoints_of(runs, config),
            "trained": names_of(runs),
        },
    )


def numbers_of(run: Run, reference: Run) -> dict[str, int]:
    """Return the numbers of a row's replicate, and of its reference."""
    return {
        "init": run.init,
        "seed": run.seed,
        "ref_init": reference.init,
        "ref_seed": reference.seed,
    }


def pairwise_inputs(
    reference: Model, model: Model, pairs: list[tuple[Run, Run]], config: Mapping
) -> Request:
    """Ask for the files of `table_inputs`, for a table that compares each replicate of `model`
    with an earlier run, of `reference`."""
    runs = in_pairs(pairs)
    entries = [
        {"folder": run.folder, "parent": earlier.folder, **numbers_of(run, earlier)}
        for run, earlier in pairs
    ]
    return table_inputs(model, config).plus(
        {"outcomes": outcomes(runs)},
        task=model.task,
        reference=str(reference),
        runs=entries,
        trained=names_of(runs),
    )


def replicates_of(runs: Iterable[Run]) -> dict[str, list[int]]:
    """Return (init, seed) of each run, by its name."""
    return {run.name: [run.init, run.seed] for run in runs}


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
