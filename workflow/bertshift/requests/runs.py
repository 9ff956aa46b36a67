"""The replicates of a model: their files, and what a table's rows say that they were made from."""

from collections.abc import Iterable, Mapping

from bertshift.errors import UserError
from bertshift.models.source import SOURCE
from bertshift.naming import MORE_RUNS, VARIANTS, Model, Run, parse_model, runs_of

WEIGHTS = ["config.json", "model.safetensors"]
MODEL_FILES = [*WEIGHTS, "tokenizer.json", "tokenizer_config.json", SOURCE]


def unique(items: Iterable) -> list:
    """Each item once, in order of appearance."""
    return list(dict.fromkeys(items))


def files(runs: Iterable[Run], names: Iterable[str] = MODEL_FILES) -> list[str]:
    """These files of each run's folder."""
    names = list(names)
    return [f"{run.folder}/{name}" for run in runs for name in names]


def run_named(config: Mapping, model: str, init: str, seed: str = "0") -> Run:
    """One replicate; UserError if the model has none of these numbers."""
    run = Run(parse_model(model, config), int(init), int(seed))
    if run not in runs_of(run.model, config):
        raise UserError(
            f"'{run.model}' has no replicate {run.name} at this scale; {MORE_RUNS}, of bases.{run.model.base}."
        )
    return run


def scored_model(name: str, config: Mapping) -> tuple[Model, list[Run]]:
    """The model of this name and its replicates; UserError for one that was not fine-tuned."""
    model = parse_model(name, config)
    if not model.tasks:
        raise UserError(f"'{model}' is not fine-tuned, so it has no score; name a task's model.")
    return model, runs_of(model, config)


def runs_and_parents(name: str, config: Mapping) -> tuple[Model, list[tuple[Run, Run]]]:
    """The model of this name and its runs, each with the run that it was fine-tuned from.

    UserError where that run's weights are not kept.
    """
    model, runs = scored_model(name, config)
    if drawn := [variant.text for variant in model.variants if VARIANTS[variant.kind].anew]:
        raise UserError(
            f"'{model}' was fine-tuned from weights drawn anew, which are not kept; name it without .{drawn[0]}."
        )
    return model, [(run, run.parent) for run in runs]


def in_pairs(pairs: Iterable[tuple[Run, Run]]) -> list[Run]:
    """Every run of either side, once."""
    return unique(run for pair in pairs for run in pair)


def outcomes(runs: Iterable[Run]) -> list[str]:
    """The scores.json of each run that ends in a fine-tuning."""
    return files([run for run in runs if run.model.tasks], ["scores.json"])


def names_of(runs: Iterable[Run]) -> list[list]:
    """(model, init, seed) of each run that ends in a fine-tuning, in the order of `outcomes`."""
    return [[str(run.model), run.init, run.seed] for run in runs if run.model.tasks]


def training_scores(config: Mapping, *models: Model) -> list[str]:
    """The scores.json of one run of every fine-tuning that led to any of the models."""
    runs = [runs_of(model, config)[0] for model in models]
    return outcomes(unique(stage for run in runs for stage in (run, *run.ancestors)))


def by_folder(runs: Iterable[Run]) -> dict[str, list[int]]:
    """(init, seed) of each run, by the folder of its weights."""
    return {run.folder: [run.init, run.seed] for run in runs}


def records(runs: Iterable[Run]) -> list[str]:
    """What says of each run's weights where they come from."""
    return files(unique(runs), [SOURCE])


def checkpoints_of(runs: Iterable[Run], config: Mapping) -> dict[str, dict]:
    """By pretraining run: the records of its replicates' weights, and the user's own label of the checkpoint."""
    found = {}
    for run in runs:
        entries = config["bases"][run.model.base].get("checkpoints")
        label = entries[run.init - 1].get("label") if entries else None
        entry = found.setdefault(str(run.init), {"label": label, "records": []})
        entry["records"] += files([run], [SOURCE])
    return found


def provenance(model: Model, config: Mapping) -> dict:
    """What a table's rows of one model say of it."""
    runs = runs_of(model, config)
    return {
        "model": str(model),
        "task": model.task,
        "runs": [[run.init, run.seed] for run in runs],
        "scale": config["scale"],
        "checkpoints": checkpoints_of(runs, config),
    }


def inputs_of_table(model: Model, config: Mapping) -> dict[str, list[str]]:
    """The files that say what the rows of one model were made from, and which runs failed to train."""
    runs = runs_of(model, config)
    scores = training_scores(config, model)
    return {"scores": scores, "outcomes": outcomes(runs), "sources": records(runs)}


def numbers_of(run: Run, reference: Run) -> dict[str, int]:
    """Which replicate a row is of, and which one that is compared with."""
    return {"init": run.init, "seed": run.seed, "ref_init": reference.init, "ref_seed": reference.seed}


def against(reference: Model, model: Model, pairs: list[tuple[Run, Run]], config: Mapping) -> dict:
    """Settings of a table that compares each replicate of `model` with an earlier run, of `reference`."""
    runs = [{"folder": run.folder, "parent": to.folder} | numbers_of(run, to) for run, to in pairs]
    said = provenance(model, config) | {"reference": str(reference), "runs": runs}
    return said | {"trained": names_of(in_pairs(pairs))}
