"""Why weights do not fit a configuration, told by their names."""

import re
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from transformers import PreTrainedModel

LAYER = re.compile(r"^(.*?\.)(\d+)\.")
SHOWN = 2  # prefixes that a sentence names


def explain(
    path: Path, model: PreTrainedModel, missing: Collection[str], unexpected: Collection[str]
) -> str | None:
    """Name the cause in a sentence, with what to do; None where the names show none.

    path: the file of weights
    model: of this configuration
    missing: names of the model's weights that the file lacks
    unexpected: names of the file's weights that the model lacks, as they are spelt there
    """
    if not missing:
        return _explain_further_layers(path, model, unexpected)
    return (
        _explain_adapters(path, unexpected)
        or _explain_parts(path, missing, unexpected)
        or _explain_prefix(path, model, missing, unexpected)
        or _explain_layers(path, model, missing)
    )


def _explain_adapters(path: Path, unexpected: Collection[str]) -> str | None:
    """Recognise weights that PEFT put adapters beside."""
    names = [name for name in unexpected if ".base_layer." in name]
    if not names:
        return None
    return (
        f"{path} has {min(names)} and adapters beside it, as PEFT's models hold them; save what"
        " merge_and_unload gives, or the adapter alone by save_pretrained."
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
    prefixes = Counter(
        other.removesuffix(name)
        for name in missing
        for other in unexpected
        if other.endswith(f".{name}")
    )
    # transformers leaves some names out of what it calls unexpected.
    mostly = sorted(prefix for prefix, count in prefixes.items() if 2 * count > len(missing))
    if not mostly:
        return None
    named = " and ".join(map(repr, mostly[:SHOWN]))
    return (
        f"{path} has {named} before the names of its weights, where a {model.config.model_type}"
        f" model has '{model.base_model_prefix}.' or nothing; give this part alone, or correct"
        " model_type in its configuration."
    )


def _explain_layers(path: Path, model: PreTrainedModel, missing: Collection[str]) -> str | None:
    """Recognise layers that are missing as a whole."""
    weights = _weights_by_layer(model)
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


def _explain_further_layers(
    path: Path, model: PreTrainedModel, unexpected: Collection[str]
) -> str | None:
    """Recognise layers behind those that the configuration counts."""
    layers = _weights_by_layer(model)
    lists = {start for start, _ in layers}
    prefix = f"{model.base_model_prefix}."
    matches = [LAYER.match(name.removeprefix(prefix)) for name in unexpected]
    named = {(match[1], int(match[2])) for match in matches if match and match[1] in lists}
    further = named - layers.keys()
    if not further:
        return None
    return (
        f"{path} has weights of {len(layers | dict.fromkeys(further))} layers, and its"
        f" configuration counts {len(layers)}; correct the number there, or give the weights of"
        " these layers alone."
    )


def _weights_by_layer(model: PreTrainedModel) -> dict[tuple[str, int], set[str]]:
    """Return the names of each layer's weights, by the name of the list of layers and the
    number in it."""
    weights: dict[tuple[str, int], set[str]] = {}
    for name, _ in model.named_parameters():
        if match := LAYER.match(name):
            weights.setdefault((match[1], int(match[2])), set()).add(name)
    return weights
