"""The runs of a task that are compared in distance and in behaviour: `results/grounding/<plain
model>.tsv`."""

from collections import Counter
from collections.abc import Mapping

from bertshift.errors import UserError
from bertshift.measures import METRICS
from bertshift.naming import Model, Run, parse_model
from bertshift.recipes import task_settings
from bertshift.replicates import check_trained, runs_of
from bertshift.requests import Request
from bertshift.requests.data import description, rows, task_data
from bertshift.requests.runs import (
    checkpoints_of,
    files,
    names_of,
    outcomes,
    rated_model,
    training_scores,
    unique,
)
from bertshift.requests.shapes import check_layers

FEWEST = 3  # runs; equal to rows.grounding's, whose libraries take too long to import here


def grounding(config: Mapping, model: str) -> Request:
    """Ask for a comparison of every two runs of one pretraining run, of all models in `group`."""
    plain, models = group(model, config)
    runs = _runs_of_group(plain, models, config)
    samples, stimulus = config["samples"], plain.task
    return Request(
        {
            "models": files(runs),
            **task_data(plain, config),
            "inputs": rows(stimulus),
            "descriptions": [description(stimulus)],
            "scores": training_scores(config, *models),
            "outcomes": outcomes(runs),
        },
        {
            "runs": [
                {"model": str(run.model), "folder": run.folder, "init": run.init, "seed": run.seed}
                for run in runs
            ],
            "trained": names_of(runs),
            "task": task_settings(plain, config)["task"],
            "stimuli": [stimulus],
            "tokens": {metric: samples[METRICS[metric].tokens] for metric in ("rsa", "svcca")},
            "max_length": samples["max_length"],
            "scale": config["scale"],
            "checkpoints": checkpoints_of(runs_of(plain, config), config),
        },
    )


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


def _runs_of_group(plain: Model, models: list[Model], config: Mapping) -> list[Run]:
    """List the runs of all models, by pretraining run. Raise UserError if they are too few, or if
    a model has no layer."""
    runs = [run for model in models for run in runs_of(model, config)]
    runs_by_init = Counter(run.init for run in runs)
    most = max(runs_by_init.values())
    if most < FEWEST:
        raise UserError(
            f"results/grounding/{plain}.tsv: a rank correlation over pairs needs {FEWEST} runs of"
            f" one pretraining run, and {', '.join(map(str, models))} has {most}; list more models"
            f" of {plain.task} under 'grounded', or raise bases.{plain.base}.seeds."
        )
    for model in models:
        check_layers(model, config, "grounded")
    return sorted(runs, key=lambda run: (run.init, models.index(run.model), run.seed))
