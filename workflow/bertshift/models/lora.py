"""Low-rank adapters beside the projections of attention: Hu et al. 2021, "LoRA: Low-Rank
Adaptation of Large Language Models".

A projection W [out, in] becomes W + alpha / rank B A, with A [rank, in] and B [out, rank] (section
4.1). W is frozen. One projection for query, key and value together gets one adapter, whose A
serves all three.
"""

import math

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from bertshift.errors import UserError
from bertshift.models.family import family_of, groups
from bertshift.seeds import seed_from


def projections_of(model: PreTrainedModel) -> dict[str, nn.Module]:
    """Find each projection of attention that computes queries, keys, values or a layer's output,
    by its name in the model.

    UserError where the row of the model's family lacks them.
    """
    family = family_of(model)
    if family.fused:
        paths = [family.fused, family.out]
    else:
        paths = [family.query, family.key, family.value, family.out]
    if not all(paths):
        raise UserError(
            f"LoRA is not possible: where the projections of a {model.config.model_type} model are"
            " is not known; name a model of another family, or fine-tune all weights, without"
            " .lora in the name."
        )
    layers = range(len(model.get_submodule(family.layers)))
    names = [f"{family.layers}.{layer}.{path}" for layer in layers for path in paths]
    return {name: model.get_submodule(name) for name in names}


def add_adapters(
    model: PreTrainedModel, rank: int, alpha: float, dropout: float, seed: int
) -> None:
    """Add an adapter to every projection of attention, and freeze everything else in `model` but
    its pooler.

    A is drawn as in the authors' code, U(-1 / sqrt(in), 1 / sqrt(in)), from `seed`; B is 0, so
    the model's output is unchanged at first. `dropout` applies to the input of A. UserError for a
    rank above the width of a projection, and as `projections_of`.
    """
    projections = projections_of(model)
    narrowest = min(min(module.weight.shape) for module in projections.values())
    if not 1 <= rank <= narrowest:
        raise UserError(
            f"lora{rank} is not possible: the narrowest projection has width {narrowest}; write a"
            f" rank from 1 to {narrowest}."
        )
    from peft import LoraConfig, inject_adapter_in_model  # takes seconds, and few jobs need it

    is_transposed = any(isinstance(module, Conv1D) for module in projections.values())
    config = LoraConfig(
        r=rank,
        lora_alpha=alpha,
        lora_dropout=dropout,
        target_modules=list(projections),
        fan_in_fan_out=is_transposed,
    )
    with torch.random.fork_rng(devices=[]):
        inject_adapter_in_model(config, model)
    for name, weight in model.named_parameters():
        if ".lora_A." in name:
            generator = torch.Generator().manual_seed(seed_from(seed, name))
            nn.init.kaiming_uniform_(weight, a=math.sqrt(5), generator=generator)
    for weight in groups(model).get("pooler", []):
        weight.requires_grad_(True)
