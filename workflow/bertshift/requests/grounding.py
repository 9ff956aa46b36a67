"""The runs of a task that are compared in distance and in behaviour: `results/grounding/<plain
model>.tsv`."""

from collections import Counter
from collections.abc import Mapping

from bertshift.errors import UserError
from bertshift.models.shapes import check_layers
from bertshift.naming import Model, Run, parse_model
from bertshift.replicates import check_trained, runs_of
from bertshift.requests.runs import rated_model, unique

FEWEST = 3  # runs; equal to rows.grounding's, whose libraries take too long to import here


def runs_of_group(config: Mapping, model: str) -> list[Run]:
    """List the runs of all models of a task that are compared, by pretraining run. Raise UserError
    if they are too few, or if a model has no layer."""
    plain, models = group(model, config)
    runs = [run for member in models for run in runs_of(member, config)]
    runs_by_init = Counter(run.init for run in runs)
    most = max(runs_by_init.values())
    if most < FEWEST:
        raise UserError(
            f"results/grounding/{plain}.tsv: a rank correlation over pairs needs {FEWEST} runs of"
            f" one pretraining run, and {', '.join(map(str, models))} has {most}; list more models"
            f" of {plain.task} under 'grounded', or raise bases.{plain.base}.seeds."
        )
    for member in models:
        check_layers(member, config, "grounded")
    return sorted(runs, key=lambda run: (run.init, models.index(run.model), run.seed))


def described_runs(config: Mapping, model: str) -> list[dict]:
    return [
        {"model": str(run.model), "folder": run.folder, "init": run.init, "seed": run.seed}
        for run in runs_of_group(config, model)
    ]


def group(name: str, config: Mapping) -> tuple[Model, list[Model]]:
    """Return the plain model of a task and checkpoint, and a list: this model and those of the
    same task and checkpoint in `grounded`.

    Raise UserError for a model that is not plain, or whose task has no output that can be compared
    example by example.
    """
    model = rated_model("results/grounding", name, config)
    plain = Model((model.task,), (), model.base)
    if model != plain:
        raise UserError(
            f"results/grounding/{model}.tsv: a table has all models of a task and is named by the"
            f" plain one; write '{plain}', and list '{model}' under 'grounded'."
        )
    models = [plain]
    for grounded in config["grounded"]:
        parsed = parse_model(grounded, config)
        if parsed.task == plain.task and parsed.base == plain.base:
            check_trained(parsed)
            models.append(parsed)
    return plain, unique(models)
