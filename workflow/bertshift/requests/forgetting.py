"""How much fine-tuned models forgot, by the heads of their checkpoints."""

from collections.abc import Mapping

from bertshift.errors import UserError
from bertshift.models.headless import headless, no_head
from bertshift.naming import parse_model
from bertshift.replicates import runs_of
from bertshift.requests import Request
from bertshift.requests.data import described
from bertshift.requests.runs import files, pairwise_inputs, unique

STIMULI = "wiki"  # the text that RSA compares models on


def forgetting(config: Mapping, model: str) -> Request:
    """Ask for what a model forgot. Raise UserError for a model that was not fine-tuned from a
    checkpoint, and, as far as files that are there tell, for a checkpoint without a head."""
    one = parse_model(model, config)
    if not one.tasks or one.variant("random"):
        raise UserError(
            f"results/forgetting/{model}.tsv: '{model}' was not fine-tuned from a checkpoint, so"
            " there is nothing that it can have forgotten; name a task's model."
        )
    runs = runs_of(one, config)
    checkpoints = unique(run.checkpoint for run in runs)
    if folder := headless(one, config):
        raise UserError(no_head(folder))
    corpus = config["bases"][one.base].get("pretrain", {}).get("corpus")
    read = {"models": files([*runs, *checkpoints])} | described("stimuli", STIMULI)
    if corpus:
        read["corpus"] = config["corpora"][corpus]
    compared = pairwise_inputs(
        checkpoints[0].model, one, [(run, run.checkpoint) for run in runs], config
    )
    return compared.plus(
        read, corpus=corpus, stimuli=STIMULI, max_length=config["samples"]["max_length"]
    )
