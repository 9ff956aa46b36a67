"""Attention maps sorted into classes: the sheet that a person labels, the classifier, and the
shares of each class."""

from collections.abc import Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.models.shapes import check_layers, layers_of
from bertshift.naming import Model, Run, parse_model, shape_of
from bertshift.replicates import runs_of
from bertshift.requests.runs import checkpoints, numbers_by_folder, of_task


def labelled_models(config: Mapping) -> list[Model]:
    """List the models whose maps are labelled: those of Kovaleva et al. 2019, Figure 2."""
    figure = config["figures"].get("kovaleva2019", {}).get("figure2")
    if not figure or not figure.get("models"):
        raise UserError(
            "results/patterns: maps to be labelled come from the models of"
            " figures.kovaleva2019.figure2, which lists none."
        )
    models = [parse_model(name, config) for name in figure["models"]]
    for model in models:
        if not model.tasks:
            raise UserError(
                f"figures.kovaleva2019.figure2: {model} is not fine-tuned and has no inputs of its"
                " own; name a task's model."
            )
    return models


def runs_of_sheet(config: Mapping) -> list[Run]:
    return [run for model in labelled_models(config) for run in runs_of(model, config)]


def tasks_of_sheet(config: Mapping) -> list[str]:
    return [model.task for model in labelled_models(config)]


def models_of_sheet(config: Mapping) -> dict[str, dict]:
    """Return by model its runs and their provenance, and its shape. Raise UserError for one
    without layers."""
    entries = {}
    for model in labelled_models(config):
        check_layers(model, config, "figures.kovaleva2019.figure2")
        runs = runs_of(model, config)
        entries[str(model)] = {
            "model": str(model),
            "task": model.task,
            "scale": config["scale"],
            "checkpoints": checkpoints(config, runs),
            "layers": layers_of(model, config),
            "heads": shape_of(config["bases"][model.base])["heads"],
            "runs": numbers_by_folder(config, runs),
        }
    return entries


def labels(config: Mapping) -> list[str]:
    """Name the file with a person's labels, if there is one."""
    path = config["patterns"]["labels"]
    if path and not Path(path).is_file():
        raise UserError(
            f"patterns.labels: {path} does not exist; copy results/patterns/sheet/maps.tsv there"
            " and correct the labels."
        )
    return [path] if path else []


def sorted_runs(config: Mapping, model: str) -> list[Run]:
    """List the runs whose maps are sorted. Raise UserError for a model without a task or without
    layers."""
    runs = of_task(config, model)
    check_layers(runs[0].model, config, f"results/patterns/{model}.tsv")
    return runs
