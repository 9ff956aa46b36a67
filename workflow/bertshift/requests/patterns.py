"""Attention maps sorted into classes: the sheet that a person labels, the classifier, and the
shares of each class."""

from collections.abc import Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.naming import Model, parse_model, shape_of
from bertshift.replicates import runs_of
from bertshift.requests import Request
from bertshift.requests.data import described, description, rows
from bertshift.requests.runs import by_folder, files, model_of_task, provenance, table_inputs
from bertshift.requests.shapes import check_layers, layers_of


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


def pattern_sheet(config: Mapping) -> Request:
    models = labelled_models(config)
    entries = {}
    for model in models:
        check_layers(model, config, "figures.kovaleva2019.figure2")
        entries[str(model)] = {
            **provenance(model, config),
            "layers": layers_of(model, config),
            "heads": shape_of(config["bases"][model.base])["heads"],
            "runs": by_folder(runs_of(model, config)),
        }
    return Request(
        {
            "models": files(run for model in models for run in runs_of(model, config)),
            "stimuli": [rows(model.task) for model in models],
            "descriptions": [description(model.task) for model in models],
        },
        {
            "models": entries,
            "maps": config["patterns"]["maps"],
            "max_length": config["samples"]["max_length"],
            "scale": config["scale"],
        },
    )


def pattern_classifier(config: Mapping) -> Request:
    path = config["patterns"]["labels"]
    if path and not Path(path).is_file():
        raise UserError(
            f"patterns.labels: {path} does not exist; copy results/patterns/sheet/maps.tsv there"
            " and correct the labels."
        )
    return Request(
        {"sheet": "results/patterns/sheet", "labels": [path] if path else []},
        config["patterns"]["classifier"],
    )


def patterns(config: Mapping, model: str) -> Request:
    model, runs = model_of_task(model, config)
    check_layers(model, config, f"results/patterns/{model}.tsv")
    inputs = {
        "models": files(runs),
        **described("stimuli", model.task),
        "classifier": "results/patterns/classifier/classifier.safetensors",
        "predictions": "results/patterns/classifier/predictions.tsv",
    }
    return table_inputs(model, config).plus(
        inputs,
        task=model.task,
        runs=by_folder(runs),
        max_examples=config["patterns"]["max_examples"],
        max_length=config["samples"]["max_length"],
    )
