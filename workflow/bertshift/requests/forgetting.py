"""What fine-tuned models forgot, by the heads of their checkpoints."""

from collections.abc import Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.models.headless import has_no_head, no_head
from bertshift.naming import Run, parse_model, runs_of
from bertshift.requests import Request
from bertshift.requests.data import described
from bertshift.requests.runs import against, files, inputs_of_table, unique

STIMULI = "wiki"  # the text that RSA compares models on


def forgetting(config: Mapping, model: str) -> Request:
    """UserError for a model that knew nothing before, and, as far as files that are there tell, for a checkpoint without
    a head."""
    one = parse_model(model, config)
    if not one.tasks or one.variant("random"):
        raise UserError(
            f"results/forgetting/{model}.tsv: '{model}' was not fine-tuned from a checkpoint, so there is nothing that it can "
            "have forgotten; name a task's model."
        )
    runs = runs_of(one, config)
    checkpoints = unique(run.checkpoint for run in runs)
    for checkpoint in checkpoints:
        _check_head(checkpoint, config)
    corpus = config["bases"][one.base].get("pretrain", {}).get("corpus")
    return Request(
        {
            **inputs_of_table(one, config),
            "models": files([*runs, *checkpoints]),
            **described("stimuli", STIMULI),
            **({"corpus": config["corpora"][corpus]} if corpus else {}),
        },
        {
            **against(checkpoints[0].model, one, [(run, run.checkpoint) for run in runs], config),
            "corpus": corpus,
            "stimuli": STIMULI,
            "max_length": config["samples"]["max_length"],
        },
    )


def _check_head(checkpoint: Run, config: Mapping) -> None:
    entries = config["bases"][checkpoint.model.base].get("checkpoints")
    own = entries[checkpoint.init - 1].get("path") if entries else None
    for folder in (own, checkpoint.folder):
        if folder and has_no_head(Path(folder).expanduser()):
            raise UserError(no_head(Path(folder)))
