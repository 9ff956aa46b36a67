"""PEFT's adapters, in a folder of their own or inside a loaded model: their base, and merging them
into it."""

import copy
import re
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

# Modules of PEFT's around a trained copy of a module.
COPIES = re.compile(r"\.(original_module|modules_to_save)(?=\.)")
PREFIX = "base_model.model."  # PEFT writes it before the names of the adapted model's weights
WORDS = 7


def has_adapters(model: object) -> bool:
    """Return whether a loaded model is of PEFT's class, or of transformers' with adapters
    inside."""
    return isinstance(model, nn.Module) and bool(getattr(model, "peft_config", None))


def base_of(adapter: Path | nn.Module) -> str:
    """Name the model that an adapter in a folder, or inside a loaded model, changes: a folder or a
    hub's name. UserError where the adapter does not name it."""
    if isinstance(adapter, nn.Module):
        where = "the loaded adapter"
        config = next(iter(adapter.peft_config.values()))
        base, revision = config.base_model_name_or_path, config.revision
        base = base or getattr(adapter, "name_or_path", "")
    else:
        where = adapter / ADAPTER
        config = read_object(where)
        base, revision = config.get("base_model_name_or_path"), config.get("revision")
    if not base:
        raise UserError(
            f"{where} names no base_model_name_or_path; write the model that the adapter changes"
            " there."
        )
    if revision and not Path(base).expanduser().is_dir():
        return f"{base}@{revision}"
    return base


def changes_head(folder: Path, base_prefix: str) -> bool:
    """Test whether the adapter in `folder` has weights outside of the base model, which is called
    `base_prefix` below its head."""
    inside = f"{PREFIX}{base_prefix}."
    names = (name for name in _read_adapter(folder) if name.startswith(PREFIX))
    return not all(name.startswith(inside) for name in names)


def merged_copy(model: nn.Module, name: str) -> PreTrainedModel:
    """Copy a loaded model with adapters, and merge the active ones. UserError, with the model's
    `name`, where they cannot be merged."""
    for config in model.peft_config.values():
        _check_kind(config.peft_type, name)
    merged = copy.deepcopy(model).eval()
    if not isinstance(merged, PreTrainedModel):
        merged = merged.get_base_model()
    encoder = getattr(merged, merged.base_model_prefix, merged)
    _merge_and_check(merged, encoder, name)
    return merged


def merge_folder(encoder: PreTrainedModel, folder: Path) -> None:
    """Merge the adapter in `folder` into `encoder`, the bare model of its base. The folder's
    weights of heads are left out. Where the adapter has a larger vocabulary, so has the encoder.

    UserError for an adapter that cannot be merged, or does not fit its base.
    """
    _check_peft_installed(str(folder))
    from peft import PeftConfig, PeftModel
    from peft.mapping import PEFT_TYPE_TO_PREFIX_MAPPING
    from peft.utils import set_peft_model_state_dict

    values = read_object(folder / ADAPTER)
    _check_kind(values.get("peft_type"), str(folder))
    adapter = _read_adapter(folder)
    _resize_vocabulary(encoder, adapter)
    model, weights = _place_below_head(encoder, adapter)
    with _checking_fit(folder), torch.random.fork_rng(devices=[]):
        config = PeftConfig.from_peft_type(**PeftConfig.check_kwargs(**values))
        adapted = PeftModel(model, config).eval()
        report = set_peft_model_state_dict(adapted, weights)
        prefix = PEFT_TYPE_TO_PREFIX_MAPPING.get(config.peft_type, "")
        missing = [name for name in report.missing_keys if prefix in name and ".default" in name]
        if faults := [*report.unexpected_keys, *missing]:
            raise ValueError(f"no place or no weight for {faults[0]}")
    _merge_and_check(model, encoder, str(folder))


def merge_adapters(model: nn.Module) -> None:
    """Merge every active adapter into the weights beside it, and remove all adapters, as PEFT's
    `merge_and_unload` does."""
    from peft.tuners.tuners_utils import BaseTunerLayer
    from peft.utils.other import AuxiliaryTrainingWrapper

    outer: dict[str, nn.Module] = {}
    for name, module in model.named_modules():
        is_inside = name.startswith(tuple(f"{wrapper}." for wrapper in outer))
        if isinstance(module, (BaseTunerLayer, AuxiliaryTrainingWrapper)) and not is_inside:
            outer[name] = module
        if hasattr(module, "peft_config"):
            del module.peft_config
    for name, module in outer.items():
        parent, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(parent), attribute, _unload_module(module))


def _unload_module(module: nn.Module) -> nn.Module:
    """Return the module below PEFT's wrapper, with its adapters merged where they are enabled."""
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
def _merge_and_check(model: nn.Module, encoder: PreTrainedModel, name: str) -> None:
    """Merge the adapters of `model`, whose part below the head is `encoder`. UserError where the
    encoder then computes something else."""
    words = torch.arange(1, WORDS + 1, device=encoder.device)[None] % encoder.config.vocab_size
    try:
        before = encoder(input_ids=words).last_hidden_state
        merge_adapters(model)
    except Exception as error:  # each kind of adapter has its own
        raise _make_merge_error(name, str(error)) from error
    after = encoder(input_ids=words).last_hidden_state
    rounding = torch.finfo(after.dtype).eps ** 0.5
    if not (after - before).abs().max() <= rounding * before.abs().max():
        raise _make_merge_error(name, "merged, the model computes something else")


def _make_merge_error(name: str, why: str) -> UserError:
    return UserError(
        f"{name}: this adapter cannot be merged into its base ({why}); name a model without it."
    )


def _check_peft_installed(name: str) -> None:
    if not find_spec("peft"):
        raise UserError(
            f"{name} is an adapter, which needs the package peft; install it, or give the merged"
            " model."
        )


def _check_kind(kind: str | None, name: str) -> None:
    """Raise UserError for adapters that do not change weights, such as prompts."""
    from peft import PeftType
    from peft.mapping import PEFT_TYPE_TO_TUNER_MAPPING
    from peft.tuners.tuners_utils import BaseTuner

    tuner = PEFT_TYPE_TO_TUNER_MAPPING.get(PeftType(kind)) if kind in [*PeftType] else None
    if tuner is None or not issubclass(tuner, BaseTuner):
        raise _make_merge_error(name, f"its peft_type is {getattr(kind, 'value', kind)}")


def _read_adapter(folder: Path) -> dict[str, Tensor]:
    for name in ADAPTER_WEIGHTS:
        if (folder / name).is_file():
            return _drop_copies(read_weights(folder / name))
    raise UserError(
        f"{folder / ADAPTER_WEIGHTS[0]} is missing; an adapter's folder needs it beside {ADAPTER}."
    )


def _drop_copies(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Drop what PEFT wrote of a resized vocabulary a second time, under the names of its own
    modules."""
    return {
        name: value
        for name, value in weights.items()
        if not (COPIES.search(name) and COPIES.sub("", name) in weights)
    }


def _resize_vocabulary(encoder: PreTrainedModel, weights: Mapping[str, Tensor]) -> None:
    """Give the encoder as many words as the adapter, where that holds all words' embeddings."""
    embeddings = encoder.get_input_embeddings()
    [path] = [name for name, module in encoder.named_modules() if module is embeddings]
    for name, value in weights.items():
        if re.search(rf"\b{re.escape(path)}\.(base_layer\.)?weight$", name):
            with torch.random.fork_rng(devices=[]):
                encoder.resize_token_embeddings(len(value), mean_resizing=False)


class _Head(nn.Module):
    """A module with the encoder as its part below a head."""

    is_gradient_checkpointing = False

    def __init__(self, encoder: PreTrainedModel):
        super().__init__()
        setattr(self, encoder.base_model_prefix, encoder)
        self.config = encoder.config
        self.get_input_embeddings = encoder.get_input_embeddings
        self.get_output_embeddings = lambda: None


def _place_below_head(
    encoder: PreTrainedModel, weights: Mapping[str, Tensor]
) -> tuple[nn.Module, dict[str, Tensor]]:
    """Choose the module that fits the names of the adapter's weights, the encoder or a head above
    it, and its weights."""
    encoder_prefix = f"{PREFIX}{encoder.base_model_prefix}."
    if not any(name.startswith(encoder_prefix) for name in weights):
        return encoder, dict(weights)
    without_head = {
        name: value
        for name, value in weights.items()
        if name.startswith(encoder_prefix) or not name.startswith(PREFIX)
    }
    return _Head(encoder), without_head


@contextmanager
def _checking_fit(folder: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # each kind of adapter has its own
        reason = " ".join(str(error).split())
        raise UserError(
            f"{folder}: the adapter does not fit its base ({reason}); name the base that it was"
            " trained on."
        ) from error
