"""Adapters that PEFT made, in a folder of their own or inside a loaded model: which base they
change, and their merging."""

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from bertshift.errors import UserError
from bertshift.files import read_object
from bertshift.models.loading import read_weights
from bertshift.models.published import ADAPTER, ADAPTER_WEIGHTS

BELOW = (  # what PEFT writes in front of the names of the adapted model's weights
    "base_model.model."
)
WORDS = 7


def has_adapters(model: object) -> bool:
    """Tell whether a loaded model is PEFT's own, or one of transformers with adapters inside."""
    return isinstance(model, nn.Module) and bool(getattr(model, "peft_config", None))


def base_of(adapter: Path | nn.Module) -> str:
    """Name the model that an adapter in a folder, or inside a loaded model, changes: a folder or a
    hub's name. UserError where the adapter does not say it."""
    if isinstance(adapter, nn.Module):
        [config, *_] = adapter.peft_config.values()
        base, revision = config.base_model_name_or_path, config.revision
        base = base or getattr(adapter, "name_or_path", "")
    else:
        said = read_object(adapter / ADAPTER)
        base, revision = said.get("base_model_name_or_path"), said.get("revision")
    if not base:
        where = "the loaded adapter" if isinstance(adapter, nn.Module) else adapter / ADAPTER
        raise UserError(
            f"{where} names no base_model_name_or_path; write the model that the adapter changes"
            " there."
        )
    return f"{base}@{revision}" if revision and not Path(base).expanduser().is_dir() else base


def merged_copy(model: nn.Module, name: str) -> PreTrainedModel:
    """Copy a loaded model with adapters, and merge the active ones. UserError, which calls the
    model `name`, where they cannot be merged."""
    for config in model.peft_config.values():
        _check_kind(config.peft_type, name)
    model = copy.deepcopy(model).eval()
    plain = model if isinstance(model, PreTrainedModel) else model.get_base_model()
    _merge(plain, getattr(plain, plain.base_model_prefix, plain), name)
    return plain


def merge_folder(encoder: PreTrainedModel, folder: Path) -> None:
    """Merge the adapter in `folder` into `encoder`, the bare model of its base. What the folder
    has for heads is left out.

    UserError for an adapter that cannot be merged, or does not fit its base.
    """
    _need_peft(str(folder))
    from peft import PeftConfig, PeftModel
    from peft.mapping import PEFT_TYPE_TO_PREFIX_MAPPING
    from peft.utils import set_peft_model_state_dict

    said = read_object(folder / ADAPTER)
    _check_kind(said.get("peft_type"), str(folder))
    whole, weights = _below_head(encoder, _read_adapter(folder))
    with _fitting(folder), torch.random.fork_rng(devices=[]):
        config = PeftConfig.from_peft_type(**PeftConfig.check_kwargs(**said))
        adapted = PeftModel(whole, config).eval()
        report = set_peft_model_state_dict(adapted, weights)
        prefix = PEFT_TYPE_TO_PREFIX_MAPPING.get(config.peft_type, "")
        missing = [name for name in report.missing_keys if prefix in name and ".default" in name]
        if wrong := [*report.unexpected_keys, *missing]:
            raise ValueError(f"no place or no weight for {wrong[0]}")
    _merge(whole, encoder, str(folder))


def merge_adapters(model: nn.Module) -> None:
    """Merge every active adapter into the weights beside it, and take all adapters away, as PEFT's
    `merge_and_unload` does: `model` is then one without adapters."""
    from peft.tuners.tuners_utils import BaseTunerLayer
    from peft.utils.other import AuxiliaryTrainingWrapper

    outer: dict[str, nn.Module] = {}
    for name, module in model.named_modules():
        inside = name.startswith(tuple(f"{other}." for other in outer))
        if isinstance(module, (BaseTunerLayer, AuxiliaryTrainingWrapper)) and not inside:
            outer[name] = module
        if hasattr(module, "peft_config"):
            del module.peft_config
    for name, module in outer.items():
        parent, _, own = name.rpartition(".")
        setattr(model.get_submodule(parent), own, _unloaded(module))


def _unloaded(module: nn.Module) -> nn.Module:
    merge = not module.disable_adapters
    if not merge and hasattr(module, "original_module"):
        return module.original_module
    if hasattr(module, "unload_and_optionally_merge_module"):
        return module.unload_and_optionally_merge_module(
            merge, safe_merge=True, adapter_names=None
        )
    if merge:
        module.merge(safe_merge=True)
    return module.get_base_layer()


@torch.no_grad()
def _merge(model: nn.Module, encoder: PreTrainedModel, name: str) -> None:
    """Merge the adapters of `model`, of which `encoder` is the part below the head. UserError
    where the encoder then computes something else."""
    words = torch.arange(1, WORDS + 1, device=encoder.device)[None] % encoder.config.vocab_size
    try:
        before = encoder(input_ids=words).last_hidden_state
        merge_adapters(model)
    except Exception as error:  # each kind of adapter has its own
        raise _cannot_be_merged(name, str(error)) from error
    after = encoder(input_ids=words).last_hidden_state
    rounding = torch.finfo(after.dtype).eps ** 0.5
    if not (after - before).abs().max() <= rounding * before.abs().max():
        raise _cannot_be_merged(name, "merged, the model computes something else")


def _cannot_be_merged(name: str, why: str) -> UserError:
    return UserError(
        f"{name}: this adapter cannot be merged into its base ({why}); name a model without it."
    )


def _need_peft(name: str) -> None:
    if not find_spec("peft"):
        raise UserError(
            f"{name} is an adapter, which needs the package peft; install it, or give the merged"
            " model."
        )


def _check_kind(kind: str | None, name: str) -> None:
    """Raise UserError for adapters that are no change of weights, such as prompts."""
    from peft import PeftType
    from peft.mapping import PEFT_TYPE_TO_TUNER_MAPPING
    from peft.tuners.tuners_utils import BaseTuner

    tuner = PEFT_TYPE_TO_TUNER_MAPPING.get(PeftType(kind)) if kind in [*PeftType] else None
    if tuner is None or not issubclass(tuner, BaseTuner):
        raise _cannot_be_merged(name, f"its peft_type is {getattr(kind, 'value', kind)}")


def _read_adapter(folder: Path) -> dict[str, Tensor]:
    for name in ADAPTER_WEIGHTS:
        if (folder / name).is_file():
            return read_weights(folder / name)
    raise UserError(
        f"{folder / ADAPTER_WEIGHTS[0]} is missing; an adapter's folder needs it beside {ADAPTER}."
    )


class _Head(nn.Module):
    """A module in which the encoder stands as it does below a head."""

    is_gradient_checkpointing = False

    def __init__(self, encoder: PreTrainedModel):
        super().__init__()
        setattr(self, encoder.base_model_prefix, encoder)
        self.config = encoder.config
        self.get_input_embeddings = encoder.get_input_embeddings
        self.get_output_embeddings = lambda: None


def _below_head(
    encoder: PreTrainedModel, weights: Mapping[str, Tensor]
) -> tuple[nn.Module, dict[str, Tensor]]:
    """Find what PEFT shall adapt so that all names fit, the encoder or a head above it, and the
    weights for it."""
    below = f"{BELOW}{encoder.base_model_prefix}."
    if not any(name.startswith(below) for name in weights):
        return encoder, dict(weights)
    inside = {
        name: value
        for name, value in weights.items()
        if name.startswith(below) or not name.startswith(BELOW)
    }
    return _Head(encoder), inside


@contextmanager
def _fitting(folder: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # each kind of adapter has its own
        reason = " ".join(str(error).split())
        raise UserError(
            f"{folder}: the adapter does not fit its base ({reason}); name the base that it was"
            " trained on."
        ) from error
