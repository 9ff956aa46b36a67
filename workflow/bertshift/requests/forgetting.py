"""How much fine-tuned models forgot, by the heads of their checkpoints."""

from collections.abc import Mapping

from bertshift.errors import UserError
from bertshift.models.headless import headless, no_head
from bertshift.naming import parse_model
from bertshift.replicates import runs_of
from bertshift.requests import Request
from bertshift.requests.data import described
from bertshift.requests.runs import files, in_pairs, pairwise_inputs

STIMULI = "wiki"  # the text that RSA compares models on


def forgetting(config: Mapping, model: str) -> Request:
    """Ask for what a model forgot. Raise UserError for a model that was not fine-tuned from a
    checkpoint, and for a checkpoint without a head, if its files are there already."""
    parsed = parse_model(model, config)
    if not parsed.tasks or parsed.variant("random"):
        raise UserError(
            f"results/forgetting/{model}.tsv: '{model}' was not fine-tuned from a checkpoint, so"
            " there is nothing that it can have forgotten; name a task's model."
        )
    if folder := headless(parsed, config):
        raise UserError(no_head(folder))
    pairs = [(run, run.checkpoint) for run in runs_of(parsed, config)]
    inputs = {"models": files(in_pairs(pairs)), **described("stimuli", STIMULI)}
    corpus = config["bases"][parsed.base].get("pretrain", {}).get("corpus")
    if corpus:
        inputs["corpus"] = config["corpora"][corpus]
    checkpoint = pairs[0][1].model
    return pairwise_inputs(checkpoint, parsed, pairs, config).plus(
        inputs, corpus=corpus, stimuli=STIMULI, max_length=config["samples"]["max_length"]
    )
