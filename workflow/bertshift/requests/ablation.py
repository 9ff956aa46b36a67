"""Parts of a fine-tuned model disabled, or given back the weights that they had before."""

from collections.abc import Mapping

from bertshift.recipes import task_settings
from bertshift.requests import Request
from bertshift.requests.data import described, task_data
from bertshift.requests.runs import (
    by_folder,
    files,
    in_pairs,
    pairwise_inputs,
    provenance,
    runs_and_parents,
    scored_model,
)
from bertshift.requests.shapes import check_layers


def ablation(config: Mapping, model: str) -> Request:
    model, runs = scored_model(model, config)
    return Request(
        {
            "models": files(runs),
            "scores": files(runs, ["scores.json"]),
            **task_data(model, config),
        },
        {
            **provenance(model, config),
            "task": task_settings(model, config)["task"],
            "ablation": config["ablation"],
            "runs": by_folder(runs),
        },
    )


def restored(config: Mapping, model: str) -> Request:
    model, pairs = runs_and_parents(model, config)
    check_layers(model, config, f"results/restored/{model}.tsv")
    samples = config["samples"]
    inputs = {
        "models": files(in_pairs(pairs)),
        **task_data(model, config),
        **described("stimuli", model.task),
    }
    return pairwise_inputs(model.parent, model, pairs, config).plus(
        inputs,
        task=task_settings(model, config)["task"],
        stimuli=model.task,
        tokens=samples["svcca_tokens"],
        max_length=samples["max_length"],
        max_dev=config["ablation"]["max_dev"],
    )
