"""Changes of known place and size, planted in checkpoints."""

from collections.abc import Mapping

from bertshift.naming import Model, Run
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
