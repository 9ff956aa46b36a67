"""Checkpoints without the head that they were pretrained with, told without a library of tensors.

The names of a safetensors file stand at its beginning: eight bytes with the length of a JSON
object, then the object.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.models.families import FAMILIES
from bertshift.models.published import read_config
from bertshift.naming import Model, parse_model
from bertshift.replicates import runs_of

# Names of what predicts words, in any family; a decoder's may be its embeddings alone.
HEADS = re.compile(
    r"(^|\.)(predictions|lm_head|lm_predictions|generator_predictions|vocab_transform|head"
    r"|decoder)\."
)


def has_no_head(folder: Path) -> bool:
    """Test whether the weights in `folder` surely hold an encoder alone, without the head that it
    was pretrained with. False where that cannot be told: no weights yet, another file than
    safetensors, a decoder."""
    try:
        config = read_config(folder)
        with open(folder / "model.safetensors", "rb") as file:
            length, whole = int.from_bytes(file.read(8), "little"), os.fstat(file.fileno()).st_size
            # Another file may begin with any number.
            names = dict(json.loads(file.read(min(length, whole))))
    except (OSError, TypeError, ValueError, UserError):
        return False
    family = FAMILIES.get(config.get("model_type", "bert"))
    return family is not None and not family.causal and not any(map(HEADS.search, names))


def no_head(folder: Path, lacks: str = "") -> str:
    """Write the sentence that tells a user that `folder` has no head for words."""
    return (
        f"{folder} has no head for words{lacks}, so nothing tells what its fine-tuned models"
        " forgot; name a checkpoint that was published with its head, or leave its models out of"
        " figures.beyond.forgetting (null leaves out the figure)."
    )


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
