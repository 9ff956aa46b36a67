"""Dumps of attention maps and hidden states, and the maps of a few inputs that a page shows."""

from collections.abc import Mapping

from bertshift.errors import UserError
from bertshift.measures import SAMPLED_TOKENS
from bertshift.models.shapes import check_layers
from bertshift.naming import Run, parse_model
from bertshift.requests.runs import with_parents
from bertshift.running import codegraph
from bertshift.shipped import SCRIPTS

KINDS = {
    # Attention maps and hidden states.
    "attention": {"attention": True, "precision": "float32", "sample": None},
    # Hidden states of a sample of tokens (`samples.tokens`), for RSA and other
    # metrics: those of all tokens of eleven sets of stimuli would fill a disk.
    "sampled": {"attention": False, "precision": "float32", "sample": SAMPLED_TOKENS},
    # Hidden states as probes read them; never written to a file.
    "states16": {"attention": False, "precision": "float16", "sample": None},
}
# The kinds that are written to files.
WRITTEN = ["attention", "sampled"]

EXAMPLES = "results/examples/{model}.json"
# Tokens of an example. All tasks of Kovaleva et al. but MRPC, whose pairs are longer, have two
# inputs as short as this; at the scale `paper` two of each of 14 models take 3 to 4 MB.
SHORT = 20


def how_dumped(kind: str, config: Mapping) -> dict:
    """Return the settings of a dump of this kind. `sample`: the number of tokens, None for all."""
    samples = config["samples"]
    settings = {"max_length": samples["max_length"], **KINDS[kind]}
    if settings["sample"]:
        settings["sample"] = samples[settings["sample"]]
    return settings


def recipe(kind: str, config: Mapping) -> dict:
    """Describe how a dump is made. Each reader has this as a setting, as the deleted dump could
    not show a change."""
    return {"code": codegraph.digest([SCRIPTS / "activations.py"]), **how_dumped(kind, config)}


def sample(config: Mapping, kind: str) -> int | None:
    """Return how many tokens a dump of this kind keeps; None: all."""
    return how_dumped(kind, config)["sample"]


def after_and_before(config: Mapping, model: str) -> list[Run]:
    """List the run whose maps a page shows, a model's first replicate, and the run that it was
    fine-tuned from. Raise UserError for a model that has no heads before and after, and where no
    maps are shown."""
    path = EXAMPLES.format(model=model)
    if not config["samples"]["examples"]:
        raise UserError(
            f"{path}: samples.examples is 0; write how many inputs it shows, such as 2."
        )
    parsed = parse_model(model, config)
    if not parsed.tasks:
        raise UserError(
            f"{path}: '{model}' is not fine-tuned, so it has no before and after; name a task's"
            " model."
        )
    check_layers(parsed, config, path)
    return list(with_parents(config, model)[0])
