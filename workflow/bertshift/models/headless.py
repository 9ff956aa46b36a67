"""Recognising checkpoints without the head of their pretraining, without a library of tensors."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.models.families import FAMILIES
from bertshift.models.published import read_config
from bertshift.models.seal import read_header
from bertshift.naming import Model, parse_model
from bertshift.replicates import runs_of

# Names of the parts that predict words, in any family. A decoder may predict by its embeddings
# alone.
HEADS = re.compile(
    r"(^|\.)(predictions|lm_head|lm_predictions|generator_predictions|vocab_transform|head"
    r"|decoder)\."
)


def has_no_head(folder: Path) -> bool:
    """Test whether the weights in `folder` surely hold an encoder alone, without the head of its
    pretraining. False where the files do not show it: no weights yet, another file than
    safetensors, a decoder."""
    try:
        config = read_config(folder)
        with open(folder / "model.safetensors", "rb") as file:
            names = dict(json.loads(read_header(file)))
    except (OSError, TypeError, ValueError, UserError):
        return False
    family = FAMILIES.get(config.get("model_type", "bert"))
    if family is None or family.causal:
        return False
    return not any(HEADS.search(name) for name in names)


def no_head(folder: Path, lacks: str = "") -> str:
    """Write the error for a `folder` without a head for words."""
    return (
        f"{folder} has no head for words{lacks}, so nothing tells what its fine-tuned models"
        " forgot; name a checkpoint that was published with its head, or leave its models out of"
        " figures.beyond.forgetting (null leaves out the figure)."
    )


def headless(model: Model, config: Mapping) -> Path | None:
    """Find the folder of a checkpoint of the model that surely has no head, judging by its files,
    or None."""
    bases = config["bases"]
    for checkpoint in dict.fromkeys(run.checkpoint for run in runs_of(model, config)):
        entries = bases[checkpoint.model.base].get("checkpoints")
        user_path = entries[checkpoint.init - 1].get("path") if entries else None
        for folder in (user_path, checkpoint.folder):
            if folder and has_no_head(Path(folder).expanduser()):
                return Path(folder)
    return None


def lacking(model: str, config: Mapping) -> str:
    """Describe in a phrase that a model's checkpoint lacks a head; empty if it may have one."""
    folder = headless(parse_model(model, config), config)
    return f"{folder} has no head for words" if folder else ""
