"""How much fine-tuned models forgot, by the heads of their checkpoints."""

from collections.abc import Mapping

from bertshift.errors import UserError
from bertshift.models.headless import headless, no_head
from bertshift.naming import parse_model
from bertshift.replicates import runs_of
from bertshift.requests.runs import Pair

STIMULI = "wiki"  # the text that RSA compares models on


def with_checkpoints(config: Mapping, model: str) -> list[Pair]:
    """Pair each replicate with the checkpoint whose head it is given. Raise UserError for a model
    that was not fine-tuned from a checkpoint, and for a checkpoint without a head, if its files
    are there already."""
    parsed = parse_model(model, config)
    if not parsed.tasks or parsed.variant("random"):
        raise UserError(
            f"results/forgetting/{model}.tsv: '{model}' was not fine-tuned from a checkpoint, so"
            " there is nothing that it can have forgotten; name a task's model."
        )
    if folder := headless(parsed, config):
        raise UserError(no_head(folder))
    return [(run, run.checkpoint) for run in runs_of(parsed, config)]


def corpus(config: Mapping, model: str) -> str | None:
    """Name the corpus that the checkpoint was pretrained on, where that was here."""
    base = parse_model(model, config).base
    return config["bases"][base].get("pretrain", {}).get("corpus")


def file_of_corpus(config: Mapping, model: str) -> str | list[str]:
    """Name the file of this corpus; an empty list where there is none."""
    name = corpus(config, model)
    return config["corpora"][name] if name else []


def reference(config: Mapping, model: str) -> str:
    return parse_model(model, config).base
