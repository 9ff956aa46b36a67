"""What fine-tuned models forgot, by the heads of their checkpoints."""

from collections.abc import Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.models.headless import has_no_head, no_head
from bertshift.naming import Model, parse_model, runs_of
from bertshift.requests import Request
from bertshift.requests.data import described
from bertshift.requests.runs import against, files, unique

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
    if folder := _headless(one, config):
        raise UserError(no_head(folder))
    corpus = config["bases"][one.base].get("pretrain", {}).get("corpus")
    read = {"models": files([*runs, *checkpoints])} | described("stimuli", STIMULI)
    if corpus:
        read["corpus"] = config["corpora"][corpus]
    compared = against(checkpoints[0].model, one, [(run, run.checkpoint) for run in runs], config)
    asked = compared.plus(read, corpus=corpus, stimuli=STIMULI, max_length=config["samples"]["max_length"])
    # The head on every layer's output takes half as long as the encoder.
    times = 1.5 * (len(runs) + len(checkpoints))
    return asked.costing(lambda sizes: sizes.shape(model).passes(sizes.inputs([STIMULI]), times))


def without_headless(config: Mapping) -> tuple[Mapping, list[str]]:
    """The configuration whose figure beyond/forgetting has only models that may have a head, as far as files that are there
    tell, null if there are none; and a sentence for each checkpoint without one."""
    wanted = config["figures"].get("beyond", {}).get("forgetting")
    if not wanted:
        return config, []
    bare: dict[Path, list[str]] = {}
    for model in wanted["models"]:
        if folder := _headless(parse_model(model, config), config):
            bare.setdefault(folder, []).append(model)
    without = [model for models in bare.values() for model in models]
    kept = [model for model in wanted["models"] if model not in without]
    beyond = config["figures"]["beyond"] | {"forgetting": wanted | {"models": kept} if kept else None}
    said = [
        f"{folder} has no head for words, so the figure beyond/forgetting is "
        + (f"drawn without {', '.join(models)}." if kept else "left out.")
        for folder, models in bare.items()
    ]
    return {**config, "figures": {**config["figures"], "beyond": beyond}}, said


def _headless(model: Model, config: Mapping) -> Path | None:
    """The folder of a checkpoint of the model that surely has no head, if one is known."""
    bases = config["bases"]
    for checkpoint in unique(run.checkpoint for run in runs_of(model, config)):
        entries = bases[checkpoint.model.base].get("checkpoints")
        own = entries[checkpoint.init - 1].get("path") if entries else None
        for folder in (own, checkpoint.folder):
            if folder and has_no_head(Path(folder).expanduser()):
                return Path(folder)
    return None
