"""Parts of a fine-tuned model disabled, or given back the weights that they had before."""

from collections.abc import Mapping

from bertshift.config import task_settings
from bertshift.requests import Request
from bertshift.requests.data import description, rows
from bertshift.requests.finetuning import task_data
from bertshift.requests.runs import (
    against_parents,
    files,
    in_pairs,
    inputs_of_table,
    outcomes,
    provenance,
    runs_and_parents,
    scored_model,
)


def ablation(config: Mapping, model: str) -> Request:
    model, runs = scored_model(model, config)
    return Request(
        {"models": files(runs), "scores": files(runs, ["scores.json"]), **task_data(model, config)},
        {
            **provenance(model, config),
            "task": task_settings(model, config)["task"],
            "runs": {run.folder: [run.init, run.seed] for run in runs},
            "ablation": config["ablation"],
        },
    )


def restored(config: Mapping, model: str) -> Request:
    model, pairs = runs_and_parents(model, config)
    runs = in_pairs(pairs)
    samples = config["samples"]
    return Request(
        {
            **inputs_of_table(model, config),
            **task_data(model, config),
            "models": files(runs),
            "outcomes": outcomes(runs),
            "stimuli": rows(model.task),
            "description": description(model.task),
        },
        {
            **against_parents(model, pairs, config),
            "task": task_settings(model, config)["task"],
            "stimuli": model.task,
            "tokens": samples["svcca_tokens"],
            "max_length": samples["max_length"],
            "max_dev": config["ablation"]["max_dev"],
        },
    )
