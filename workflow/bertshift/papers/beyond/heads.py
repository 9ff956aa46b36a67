"""Models whose checkpoints came without the head that they were pretrained with."""

from collections.abc import Mapping
from pathlib import Path

from bertshift.models.headless import has_no_head
from bertshift.naming import Model, parse_model
from bertshift.replicates import runs_of


def headless(model: Model, config: Mapping) -> Path | None:
    """Find the folder of a checkpoint of the model that surely has no head, as far as files there
    tell, or None."""
    bases = config["bases"]
    for checkpoint in dict.fromkeys(run.checkpoint for run in runs_of(model, config)):
        entries = bases[checkpoint.model.base].get("checkpoints")
        own = entries[checkpoint.init - 1].get("path") if entries else None
        for folder in (own, checkpoint.folder):
            if folder and has_no_head(Path(folder).expanduser()):
                return Path(folder)
    return None


def lacking(model: str, config: Mapping) -> str:
    """Say in a phrase what a model's checkpoint lacks; empty if it has a head, or may have one."""
    folder = headless(parse_model(model, config), config)
    return f"{folder} has no head for words" if folder else ""
