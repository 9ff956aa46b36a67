"""Dumps of attention maps and hidden states."""

from collections.abc import Iterable, Mapping

from bertshift.naming import Run, parse_model, runs_of
from bertshift.planning.work import Job
from bertshift.requests import Request
from bertshift.requests.data import rows
from bertshift.requests.runs import files
from bertshift.running import codegraph

SCRIPT = codegraph.PACKAGE.parent / "scripts/activations.py"
# The name says what a dump holds. All metrics on the same inputs share a dump, as its extraction costs more than they do.
# Where one of these metrics must be computed again, the deleted dump is made again too, and all of them run again.
# `stimuli` lists one or several input sets, joined by hyphens: one job reads a model once for all of them.
DUMP = "results/activations/{kind}/{model}/{stimuli}"
KINDS = {
    # Attention maps and hidden states.
    "attention": {"attention": True, "precision": "float32", "sample": None},
    # Hidden states of a sample of tokens: those of all tokens of eleven sets of stimuli would fill a disk.
    "sampled": {"attention": False, "precision": "float32", "sample": "tokens"},
    # Hidden states as probes read them; never a file of its own.
    "states16": {"attention": False, "precision": "float16", "sample": None},
}
# Those that are files.
WRITTEN = ["attention", "sampled"]


def dump(kind: str, model: str, stimuli: Iterable[str]) -> str:
    return DUMP.format(kind=kind, model=model, stimuli="-".join(stimuli))


def how_dumped(kind: str, config: Mapping) -> dict:
    how, samples = KINDS[kind], config["samples"]
    sample = {"metric": "rsa", "count": samples[how["sample"]]} if how["sample"] else None
    return {"max_length": samples["max_length"], **how, "sample": sample}


def recipe(kind: str, config: Mapping) -> dict:
    """How a dump is made. Each reader has this among its settings: the dump itself is deleted, and could not show a change."""
    return {"code": codegraph.digest([SCRIPT]), **how_dumped(kind, config)}


def settings_of_dump(kind: str, runs: Iterable[Run], config: Mapping) -> dict:
    return {"runs": {run.name: run.folder for run in runs}, **how_dumped(kind, config)}


def activations(config: Mapping, kind: str, model: str, stimuli: str) -> Request:
    runs = runs_of(parse_model(model, config), config)
    return Request(
        {"models": files(runs), "stimuli": list(map(rows, stimuli.split("-")))},
        settings_of_dump(kind, runs, config),
    )


def dumped(config: Mapping, kind: str, model: str, stimuli: str, replicates: int | None = None) -> Job:
    """A dump of so many replicates, or of all, as the plan knows it."""
    runs = runs_of(parse_model(model, config), config)[:replicates]
    return Job(0, "activations", {"model": model, "stimuli": stimuli}, settings_of_dump(kind, runs, config))
