"""Dumps of attention maps and hidden states, and the maps of a few inputs that a page shows."""

from collections.abc import Iterable, Mapping

from bertshift.errors import UserError
from bertshift.measures import SAMPLED_TOKENS
from bertshift.naming import Run, parse_model
from bertshift.replicates import runs_of
from bertshift.requests import Request
from bertshift.requests.data import rows
from bertshift.requests.runs import files, runs_and_parents
from bertshift.requests.shapes import check_layers
from bertshift.running import codegraph

SCRIPT = codegraph.LIBRARY / "scripts/activations.py"
# All metrics on the same inputs share a dump, as its extraction costs more than they do. Where one
# of these metrics must be computed again, the deleted dump is made again too, and all of them run
# again. `stimuli` lists one or several input sets, joined by hyphens: one job reads a model once
# for all of them.
DUMP = "results/activations/{kind}/{model}/{stimuli}"
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


def dump(kind: str, model: str, stimuli: Iterable[str]) -> str:
    return DUMP.format(kind=kind, model=model, stimuli="-".join(stimuli))


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
    return {"code": codegraph.digest([SCRIPT]), **how_dumped(kind, config)}


def activations(config: Mapping, kind: str, model: str, stimuli: str) -> Request:
    runs = runs_of(parse_model(model, config), config)
    return Request(
        {"models": files(runs), "stimuli": list(map(rows, stimuli.split("-")))},
        {"runs": {run.name: run.folder for run in runs}, **how_dumped(kind, config)},
    )


def examples(config: Mapping, model: str) -> Request:
    """Ask for the maps of a few inputs before and after fine-tuning, of the model's first
    replicate."""
    number = config["samples"]["examples"]
    if not number:
        raise UserError(
            f"{EXAMPLES.format(model=model)}: samples.examples is 0; write how many inputs it"
            " shows, such as 2."
        )
    run, parent = after_and_before(config, model)
    return Request(
        {"models": files([run, parent]), "stimuli": rows(run.model.task)},
        {
            "model": str(run.model),
            "parent": str(parent.model),
            "run": run.name,
            "before": parent.folder,
            "after": run.folder,
            "number": number,
            "longest": min(SHORT, config["samples"]["max_length"]),
        },
    )


def after_and_before(config: Mapping, name: str) -> tuple[Run, Run]:
    """Return a model's first replicate and the run that it was fine-tuned from. Raise UserError
    for a model that has no heads before and after."""
    model, path = parse_model(name, config), EXAMPLES.format(model=name)
    if not model.tasks:
        raise UserError(
            f"{path}: '{model}' is not fine-tuned, so it has no before and after; name a task's"
            " model."
        )
    check_layers(model, config, path)
    _, pairs = runs_and_parents(name, config)
    return pairs[0]
