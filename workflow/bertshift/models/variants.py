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
    """Apply the variants of a model's name to `model`, in their order; draws depend on `seed`.

    `lora` has alpha and dropout of adapters. Variants that concern the head or the optimiser
    (carry, bertadam) do not change the encoder.
    """
    for variant in variants:
        match variant.kind:
            case "random":
                randomise(model, seed_from(seed, "random"))
            case "reinit":
                scheme, draw_seed = _get_scheme(variant), seed_from(seed, "reinit")
                reinitialise_layers(model, int(variant["layer"]), scheme, draw_seed)
                if variant["pooler"]:
                    reinitialise_pooler(model, scheme, draw_seed)
            case "reinit_head":
                scheme, draw_seed = _get_scheme(variant), seed_from(seed, "reinit")
                layer, head = int(variant["layer"]), int(variant["head"])
                reinitialise_head(model, layer, head, scheme, draw_seed)
                if variant["output"]:
                    reinitialise_head_output(model, layer, head, scheme, draw_seed)
            case "freeze":
                freeze(model, variant["through"])
            case "keep":
                keep_layers(model, int(variant["layers"]))
            case "lora":
                rank, draw_seed = int(variant["rank"]), seed_from(seed, "lora")
                add_adapters(model, rank, seed=draw_seed, **(lora or {}))


def _get_scheme(variant: Variant) -> str:
    return variant["scheme"].upper() or "A"
