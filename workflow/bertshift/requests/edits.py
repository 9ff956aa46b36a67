"""Changes of known place and size, planted in checkpoints."""

from collections.abc import Mapping

from bertshift.errors import UserError
from bertshift.naming import Model, Run, parse_model, shape_of
from bertshift.replicates import runs_of
from bertshift.seeds import seed_from


def entry(config: Mapping, run: Run) -> dict:
    """Return the entry of `edits` that the run's name takes."""
    return config["edits"][run.model.variant("edit")["edit"]]


def background(config: Mapping, run: Run) -> list[Run]:
    """List the run whose change has the size of the noise beside an edit; none without noise."""
    task = entry(config, run).get("background")
    return [first_run(config, task, run)] if task else []


def first_run(config: Mapping, task: str, run: Run) -> Run:
    """Return the first run that was fine-tuned on a task from the checkpoint of `run`."""
    runs = runs_of(Model((task,), (), run.model.base), config)
    return next(other for other in runs if other.init == run.init)


def random_seed(config: Mapping, run: Run) -> int:
    return seed_from("edit", str(run.model), run.init)


def backgrounds(config: Mapping, model: str) -> list[Run]:
    """List, for each pretraining run of a checkpoint, the run whose change has the size of the
    noise on which changes are planted. Raise UserError for a model that is no checkpoint."""
    parsed = parse_model(model, config)
    if not parsed.is_checkpoint:
        raise UserError(
            f"results/planted/{model}.tsv: changes are planted in a checkpoint; write"
            f" '{parsed.base}'."
        )
    task = _named(config, "background")
    return [first_run(config, task, run) for run in runs_of(parsed, config)]


def starts(config: Mapping, model: str) -> list[dict]:
    """Describe each pretraining run of a checkpoint, and the run whose change noise imitates."""
    return [
        {"init": run.init, "start": run.checkpoint.folder, "changed": run.folder}
        for run in backgrounds(config, model)
    ]


def stimuli(config: Mapping, model: str) -> str:
    """Name the texts on which changes are looked for."""
    return _named(config, "stimuli")


def _named(config: Mapping, key: str) -> str:
    """Read a key of `planted`; UserError where it is missing."""
    if key not in config["planted"]:
        raise UserError(f"planted.{key} is missing; write a name, such as mnli.")
    return config["planted"][key]


def planted(config: Mapping, model: str) -> dict:
    """Return which changes are planted, and the shape of the checkpoint."""
    shape = shape_of(config["bases"][parse_model(model, config).base])
    keys = ("backgrounds", "draws", "sizes", "words")
    settings = {key: config["planted"][key] for key in keys}
    return settings | {key: shape[key] for key in ("layers", "heads")}
