"""From the variants in a model's name to its weights before fine-tuning."""

from collections.abc import Iterable, Mapping

from transformers import PreTrainedModel

from bertshift.models.freeze import freeze
from bertshift.models.lora import add_adapters
from bertshift.models.reinitialise import (
    randomise,
    reinitialise_head,
    reinitialise_head_output,
    reinitialise_layers,
    reinitialise_pooler,
)
from bertshift.models.truncate import keep_layers
from bertshift.naming import Variant
from bertshift.seeds import seed_from


def apply_variants(
    model: PreTrainedModel,
    variants: Iterable[Variant],
    seed: int,
    lora: Mapping[str, float] | None = None,
) -> None:
    """Change `model` as the variants of its name say, in their order; draws depend on `seed`.

    `lora`: alpha and dropout of adapters. Variants that concern the head or the optimiser (carry,
    bertadam) leave the encoder alone.
    """
    for variant in variants:
        match variant.kind:
            case "random":
                randomise(model, seed_from(seed, "random"))
            case "reinit":
                how = _scheme(variant), seed_from(seed, "reinit")
                reinitialise_layers(model, int(variant["layer"]), *how)
                if variant["pooler"]:
                    reinitialise_pooler(model, *how)
            case "reinit_head":
                how = _scheme(variant), seed_from(seed, "reinit")
                layer, head = int(variant["layer"]), int(variant["head"])
                reinitialise_head(model, layer, head, *how)
                if variant["output"]:
                    reinitialise_head_output(model, layer, head, *how)
            case "freeze":
                freeze(model, variant["through"])
            case "keep":
                keep_layers(model, int(variant["layers"]))
            case "lora":
                add_adapters(
                    model, int(variant["rank"]), seed=seed_from(seed, "lora"), **(lora or {})
                )


def _scheme(variant: Variant) -> str:
    return variant["scheme"].upper() or "A"
