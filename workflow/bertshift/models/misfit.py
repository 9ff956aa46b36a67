"""Why weights do not fit a configuration, told by their names."""

import re
from collections.abc import Collection
from pathlib import Path

from transformers import PreTrainedModel

LAYER = re.compile(r"^(.*?\.)(\d+)\.")
SHOWN = 2  # prefixes that a sentence names


def explain(
    path: Path, model: PreTrainedModel, missing: Collection[str], unexpected: Collection[str]
) -> str | None:
    """Name the cause in a sentence, with what to do; None where the names show none.

    model: of this configuration; missing: names of its weights that `path` lacks; unexpected: the
    other way round, as they are spelt there.
    """
    if not missing:
        return None
    return (
        _explain_parts(path, missing, unexpected)
        or _explain_prefix(path, model, missing, unexpected)
        or _explain_layers(path, model, missing)
    )


def _explain_parts(
    path: Path, missing: Collection[str], unexpected: Collection[str]
) -> str | None:
    """Recognise weights that torch computes from others in each pass."""
    for name in sorted(missing):
        parent, _, leaf = name.rpartition(".")
        starts = (f"{name}_", f"{parent}.parametrizations.{leaf}.")
        parts = [other for other in unexpected if any(start in other for start in starts)]
        if parts:
            return (
                f"{path} has {min(parts)} in the place of {name}, as pruning and norms of weights"
                " leave it; make it one weight by torch.nn.utils.prune.remove, remove_weight_norm"
                " or parametrize.remove_parametrizations."
            )
    return None


def _explain_prefix(
    path: Path, model: PreTrainedModel, missing: Collection[str], unexpected: Collection[str]
) -> str | None:
    """Recognise weights that lie below a module of the user's own."""
    first = min(missing)
    ends = [name for name in unexpected if name.endswith(f".{first}")]
    prefixes = sorted(name.removesuffix(first) for name in ends)
    whole = [prefix for prefix in prefixes if all(prefix + name in unexpected for name in missing)]
    if not whole:
        return None
    named = " and ".join(map(repr, whole[:SHOWN]))
    return (
        f"{path} has {named} before the names of its weights, where a {model.config.model_type}"
        f" model has '{model.base_model_prefix}.' or nothing; give this part alone, or correct"
        " model_type in its configuration."
    )


def _explain_layers(path: Path, model: PreTrainedModel, missing: Collection[str]) -> str | None:
    """Recognise layers that are missing as a whole."""
    weights: dict[tuple[str, int], set[str]] = {}
    for name, _ in model.named_parameters():
        if match := LAYER.match(name):
            weights.setdefault((match[1], int(match[2])), set()).add(name)
    absent = [number for (_, number), names in weights.items() if names <= {*missing}]
    named = {match[0] for name in missing if (match := LAYER.match(name))}
    if not absent or len(named) > len(absent):
        return None
    numbers = ", ".join(str(number + 1) for number in sorted(absent))
    layers = f"layer {numbers}" if len(absent) == 1 else f"layers {numbers}"
    return (
        f"{path} has no weights of its own for {layers} of the {len(weights)} that its"
        " configuration counts, as where layers were cut off, exchanged, or used in two places;"
        " write the number of layers there, and give each one its own (copy.deepcopy)."
    )
