"""Checkpoints on disk: reading, writing, and importing published ones.

A model folder holds config.json, model.safetensors, tokenizer.json and tokenizer_config.json.
"""

import inspect
import logging
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import (
    CONFIG_MAPPING,
    MODEL_MAPPING,
    AutoModel,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import is_accelerate_available
from transformers.utils.logging import disable_progress_bar

from bertshift.errors import UserError
from bertshift.files import atomic, reading, sha256, write_json
from bertshift.models.check import check
from bertshift.models.families import FAMILIES, ONE_TYPE
from bertshift.models.headless import HEADS
from bertshift.models.initialise import fill
from bertshift.models.misfit import explain
from bertshift.models.published import (
    ADAPTER,
    ADAPTER_WEIGHTS,
    BUFFERS,
    INDEX,
    PICKLE,
    PICKLE_INDEX,
    WEIGHTS,
    no_weights,
    parts_of,
    read_config,
    same_shape,
    weights_of,
)
from bertshift.models.seal import OPEN, check_seal, seal
from bertshift.models.source import hub_source, local_source, recorded_commit, write_source
from bertshift.models.tokenizer import FILES as TOKENIZER_FILES
from bertshift.models.tokenizer import load_tokenizer, save_tokenizer
from bertshift.seeds import seed_from

log = logging.getLogger(__name__)

MODEL_FILES = ("config.json", WEIGHTS, "tokenizer.json", "tokenizer_config.json")
HUB_PATTERNS = [
    "config.json",
    WEIGHTS,
    "model-*.safetensors",
    INDEX,
    *TOKENIZER_FILES,
    ADAPTER,
    *ADAPTER_WEIGHTS,
]
# The first TensorFlow conversions call LayerNorm's parameters gamma and beta.
OLD_NAMES = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
# Prefixes that DataParallel and torch.compile write in front of a model's own names.
WRAPPED = re.compile(r"^(module\.|_orig_mod\.)+|(?<=\.)_orig_mod\.")
# Keys of config.json for the form of a model's output: by name, and for all tokens at once.
OUTPUT_FORM = {"return_dict": True, "chunk_size_feed_forward": 0}
# The most rows of embeddings without an entry of the vocabulary, or a hundredth of all rows if
# that is more: sizes are rounded up.
UNUSED = 512


def load_config(folder: Path) -> PreTrainedConfig:
    """Read the architecture in `folder`/config.json. UserError if it is missing or not one this
    project can read."""
    path = Path(folder) / "config.json"
    values = read_config(Path(folder))
    # Early exports of BERT have no type. Reading their weights shows whether they are BERT's.
    kind = values.get("model_type", "bert")
    if values.get("is_encoder_decoder"):
        raise UserError(
            f"{path} describes an encoder-decoder ({kind}); name an encoder or a decoder."
        )
    if "quantization_config" in values:
        raise UserError(
            f"{path} describes a quantised checkpoint; name the one with all its digits."
        )
    if kind not in CONFIG_MAPPING:
        if "auto_map" in values:
            raise UserError(
                f"{path}: '{kind}' needs code from its repository, which is never run here; name"
                " another model."
            )
        [nearest] = get_close_matches(kind, CONFIG_MAPPING.keys(), n=1) or ["bert"]
        raise UserError(f"{path}: transformers knows no model_type '{kind}'; nearest: {nearest}.")
    if values.get("position_embedding_type", "absolute") != "absolute":
        raise UserError(
            f"{path}: position_embedding_type must be 'absolute', the only form that is supported."
        )
    try:
        config = CONFIG_MAPPING[kind].from_dict(values | OUTPUT_FORM)
    except Exception as error:  # each family and kind of value has its own
        raise _make_config_error(path, error) from error
    if type(config) not in MODEL_MAPPING:
        raise UserError(f"{path}: '{kind}' is not a model of text alone; name another one.")
    return config


def load_encoder(folder: Path, seed: int = 0) -> PreTrainedModel:
    """Load the model in `folder` without its head, in float32 and eval mode: embeddings, layers
    and, where the family's published classifier uses it, the pooler.

    Heads are left out. A checkpoint without a pooler gets a fresh one drawn from `seed`, and a
    line in the log. UserError for weights that do not fit config.json.
    """
    folder, config = Path(folder), load_config(folder)
    weights = folder / WEIGHTS
    _check_readable(weights)
    model, missing = _read_encoder(folder, config, weights)
    if missing:
        log.warning("%s has no pooler; a new one is drawn from seed %d.", folder, seed)
        fill(model.pooler, seed_from(seed, "pooler"))
    return model.eval()


def _read_encoder(
    folder: Path, config: PreTrainedConfig, weights: Path, **options
) -> tuple[PreTrainedModel, set[str]]:
    """Read the model and name the weights that it lacks, which can only be a pooler's. UserError,
    which names `weights`, for any other misfit."""
    kind, family = MODEL_MAPPING[type(config)], FAMILIES.get(config.model_type)
    if "add_pooling_layer" in inspect.signature(kind.__init__).parameters:
        options["add_pooling_layer"] = family is not None and family.pooling == "pooler"
    model, report = quietly_read(
        AutoModel,
        folder,
        config,
        attn_implementation="sdpa" if kind._supports_sdpa else "eager",
        ignore_mismatched_sizes=True,
        **options,
    )
    missing = {name for name in report["missing_keys"] if not name.endswith("_ids")}
    _check_names(weights, model, missing, report)
    return model, missing


def _check_encoder(folder: Path, config: PreTrainedConfig, weights: Path) -> None:
    """Raise UserError where `config` and the user's `weights`, which are copied in `folder`, do
    not belong together, or where `check` fails."""
    try:
        if is_accelerate_available():  # comes with the workflow's extra
            # On the device meta, which takes no memory, so no size is too large.
            _read_encoder(folder, config, weights, device_map="meta")
    except UserError:
        raise
    except Exception as error:  # each family and kind of value has its own
        raise _make_config_error(weights.parent / "config.json", error) from error
    model, _ = _read_encoder(folder, config, weights)
    check(model.eval(), weights.parent)


def _make_config_error(path: Path, error: Exception) -> UserError:
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return UserError(
        f"{path} describes no model ({reason}); take the config.json that was published with the"
        " weights."
    )


def quietly_read(
    kind: type, folder: Path, config: PreTrainedConfig, **options
) -> tuple[PreTrainedModel, dict]:
    """Read a model from `folder` by transformers' class `kind`, in float32, and transformers'
    report of names, which it does not log. torch's random state does not change."""
    level = logging.getLogger("transformers").level
    logging.getLogger("transformers").setLevel(logging.ERROR)
    disable_progress_bar()
    try:
        with torch.random.fork_rng():
            return kind.from_pretrained(
                folder,
                config=config,
                dtype=torch.float32,
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
                **options,
            )
    finally:
        logging.getLogger("transformers").setLevel(level)


def _check_names(
    path: Path, model: PreTrainedModel, missing: Iterable[str], report: Mapping
) -> None:
    lacking = [name for name in missing if not name.startswith("pooler.")]
    if cause := explain(path, model, lacking, report["unexpected_keys"]):
        raise UserError(cause)
    prefix = f"{model.base_model_prefix}."
    unexpected = [name.removeprefix(prefix) for name in report["unexpected_keys"]]
    mismatched = [name.removeprefix(prefix) for name, *_ in report["mismatched_keys"]]
    faults = {
        "lacks": lacking,
        "has the unknown": [name for name in unexpected if _is_in_encoder(name, model)],
        "has another shape than config.json for": mismatched,
    }
    for fault, names in faults.items():
        if names:
            rest = f" and {len(names) - 1} more" if len(names) > 1 else ""
            raise UserError(
                f"{path} {fault} {min(names)}{rest}; weights and configuration must belong"
                " together."
            )


def _is_in_encoder(name: str, model: PreTrainedModel) -> bool:
    """Return whether an unused tensor looks like a part of the encoder. Heads are outside, and a
    pooler may be left out."""
    if name.endswith(BUFFERS):
        return False
    parts = {parameter.split(".")[0] for parameter, _ in model.named_parameters()}
    return name.split(".")[0] in parts - {"pooler"}


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read the tensors of one file."""
    path = Path(path)
    _check_readable(path)
    return _read_pickle(path) if path.suffix == ".bin" else load_file(path)


def _check_readable(path: Path) -> None:
    """Raise UserError for a file that is missing, cannot be read, is incomplete or damaged."""
    try:
        # safetensors calls a file missing that it may not open.
        with reading(path), open(path, "rb"):
            pass
    except FileNotFoundError:
        raise no_weights(path.parent) from None
    if path.suffix != ".bin":
        try:
            with safe_open(path, framework="pt"):
                pass
        except SafetensorError as error:
            raise UserError(
                f"{path} is not a complete safetensors file ({error}); fetch or make it again."
            ) from error
        check_seal(path)


def _read_pickle(path: Path) -> dict[str, Tensor]:
    """Read a pickle of named tensors without running any code in it."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        for name, value in state.items():
            if not (isinstance(name, str) and isinstance(value, Tensor)):
                raise TypeError("not a mapping of names to tensors")
    except Exception as error:
        raise UserError(
            f"{path} is broken or holds more than named tensors, which could run code; fetch it"
            " again, or give safetensors."
        ) from error
    return state


def _cast_to_float32(path: Path, name: str, value: Tensor) -> Tensor:
    """Cast weights to float32. UserError as `check_numbers`; flags, and single whole numbers, are
    neither."""
    wide = value.float() if value.is_floating_point() else value
    if value.dtype == torch.bool:
        return wide
    if value.ndim or value.is_floating_point():
        # A number of float64 may be too large for float32.
        check_numbers(path, name, wide if value.element_size() > 1 else value)
    return wide


def check_numbers(path: Path, name: str, value: Tensor) -> None:
    """Raise UserError, with the tensor's name, for a quantised weight and for one that is not
    finite."""
    if not value.is_floating_point() or value.element_size() == 1:
        kind = str(value.dtype).removeprefix("torch.")
        raise UserError(
            f"{path}: {name} holds {kind}, a quantised checkpoint; name the one with all its"
            " digits."
        )
    if not value.isfinite().all():
        raise UserError(
            f"{path}: {name} holds NaN or infinite numbers; name a checkpoint of before its"
            " training failed."
        )


def rename_old(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename tensors to transformers' present names, without the prefixes of wrappers."""
    renamed = {}
    for name, value in state.items():
        name = WRAPPED.sub("", name)
        for old, new in OLD_NAMES.items():
            name = name.replace(old, new)
        renamed[name] = value
    return renamed


def save_model(folder: Path, model: nn.Module, tokenizer: PreTrainedTokenizerBase) -> None:
    """Write a model folder. No file is ever incomplete, and the weights are written last: where
    they exist, all files do.

    `model` is a model of transformers or a module with one under `.encoder`, whose tensors are
    written with the prefix that transformers gives them below a head.
    """
    folder = Path(folder)
    encoder = model if isinstance(model, PreTrainedModel) else getattr(model, "encoder", model)
    head = {"architectures": [type(model).__name__], "labels": list(getattr(model, "labels", ()))}
    write_json(folder / "config.json", encoder.config.to_dict() | head)
    save_tokenizer(folder, tokenizer)
    state = model.state_dict()
    if encoder is not model:
        prefix = f"{encoder.base_model_prefix}."
        state = {re.sub(r"^encoder\.", prefix, name): value for name, value in state.items()}
    save_weights(folder / WEIGHTS, state)


def save_weights(path: Path, state: Mapping[str, Tensor]) -> None:
    """Write weights. Tied tensors are written once: under a name that no head has, or else the
    first in alphabetical order."""
    names = sorted(state, key=lambda name: (bool(HEADS.search(name)), name))
    unique: dict[tuple, str] = {}
    for name in names:
        value = state[name]
        unique.setdefault((value.data_ptr(), value.shape, value.stride()), name)
    tensors = {name: state[name].detach().cpu().contiguous() for name in sorted(unique.values())}
    with atomic(path) as temporary:
        save_file(tensors, temporary, metadata={"format": "pt"} | OPEN)
        seal(temporary)


def import_checkpoint(
    source_dir: Path, run_dir: Path, origin: Mapping | None = None, lowercase: bool | None = None
) -> None:
    """Check a local checkpoint and write it as a model folder, with its `origin` in source.json.

    Weights are read from model.safetensors, from the files of its index, or else from
    pytorch_model.bin or the files of its index, and written in float32; `lowercase` is as for
    `load_tokenizer`. UserError for a missing file, weights of another framework, a pickle with
    more than tensors, weights that are quantised, not finite or not config.json's, a model that
    `check` refuses, and a vocabulary that does not fit the embeddings.
    """
    source_dir, run_dir = Path(source_dir), Path(run_dir)
    if not source_dir.is_dir():
        raise UserError(
            f"{source_dir} is not a folder; give one with config.json, {WEIGHTS} and a vocabulary."
        )
    config = load_config(source_dir)
    tokenizer = load_tokenizer(source_dir, lowercase)
    _check_vocabulary(source_dir, tokenizer, config)
    if getattr(config, "type_vocab_size", 0) > 1 and not _writes_segments(tokenizer):
        setattr(config, ONE_TYPE, True)
    family = FAMILIES.get(config.model_type)
    if config.pad_token_id is None and family is not None and family.positions_from_padding:
        config.pad_token_id = tokenizer.pad_token_id  # without it, such a model does not run
    weights = weights_of(source_dir)
    state = {}
    for part in parts_of(weights):
        for name, value in read_weights(part).items():
            if not name.endswith(BUFFERS):
                state[name] = _cast_to_float32(part, name, value)
    state = rename_old(state)
    run_dir.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=run_dir.parent) as temporary:
        checked = Path(temporary)
        write_json(checked / "config.json", config.to_dict())
        save_weights(checked / WEIGHTS, state)
        del state
        _check_encoder(checked, config, weights)
        save_tokenizer(run_dir, tokenizer)
        source = dict(origin or local_source(source_dir.name))
        source |= {"family": config.model_type, "sha256": sha256(weights)}
        write_source(run_dir, source)
        for name in ("config.json", WEIGHTS):
            os.replace(checked / name, run_dir / name)


def download_checkpoint(
    hub_id: str,
    revision: str | None,
    run_dir: Path,
    cache: Path | None = None,
    lowercase: bool | None = None,
) -> None:
    """Fetch one commit of a hub model (`fetch_checkpoint`) and import it (`import_checkpoint`).

    `revision` is a commit, a branch or a tag; without it, the newest commit. Branch, tag and
    newest are resolved once: where run_dir/source.json names the commit, it stays the same.
    """
    commit = recorded_commit(run_dir, hub_id, revision)
    folder = fetch_checkpoint(hub_id, commit or revision, cache)
    import_checkpoint(folder, run_dir, hub_source(hub_id, folder.name, revision), lowercase)


def fetch_checkpoint(hub_id: str, revision: str | None, cache: Path | None = None) -> Path:
    """Fetch one commit of a hub model, a checkpoint or an adapter, through huggingface_hub, and
    return its folder, whose name is the commit. `revision` is a commit, a branch or a tag; without
    it, the newest commit.

    UserError if the hub does not answer with that model.
    """
    from huggingface_hub import snapshot_download

    def fetch(commit: str | None, *patterns: str) -> Path:
        folder = snapshot_download(
            hub_id, revision=commit, allow_patterns=patterns, cache_dir=cache
        )
        return Path(folder)

    def has(*names: str) -> bool:
        return any((folder / name).is_file() for name in names)

    try:
        folder = fetch(revision, *HUB_PATTERNS)
        if not has(WEIGHTS, INDEX, ADAPTER):
            fetch(folder.name, PICKLE, PICKLE_INDEX, "pytorch_model-*.bin")
    except (OSError, ValueError) as error:  # every hub and network error is one of the two
        raise UserError(
            f"{hub_id} at {revision or 'its newest commit'} could not be downloaded ({error});"
            " check the id and the connection, or give a local folder instead."
        ) from error
    if not has(WEIGHTS, INDEX, ADAPTER, PICKLE, PICKLE_INDEX):
        raise UserError(
            f"{hub_id} at {folder.name} has neither {WEIGHTS} nor {PICKLE}; convert its weights"
            " and give the local folder."
        )
    return folder


def _writes_segments(tokenizer: PreTrainedTokenizerBase) -> bool:
    return any(tokenizer("a", "a", return_token_type_ids=True)["token_type_ids"])


def _check_vocabulary(
    folder: Path, tokenizer: PreTrainedTokenizerBase, config: PreTrainedConfig
) -> None:
    tokens, room = len(tokenizer), max(UNUSED, config.vocab_size // 100)
    if not config.vocab_size - room <= tokens <= config.vocab_size:
        raise UserError(
            f"The vocabulary in {folder} has {tokens} entries, its config.json says vocab_size"
            f" {config.vocab_size}; take the vocabulary that was published with these weights."
        )
    for token, number in tokenizer.get_vocab().items():
        if number >= config.vocab_size:
            raise UserError(
                f"The vocabulary in {folder} gives {token!r} the number {number}, its config.json"
                f" says vocab_size {config.vocab_size}; take the vocabulary that was published"
                " with these weights."
            )


def check_shape(folder: Path, layers: int, heads: int) -> None:
    """Raise UserError if a checkpoint has other layers or heads than the configuration says."""
    config = load_config(folder)  # families have different names for these sizes in config.json
    actual = {"layers": config.num_hidden_layers, "heads": config.num_attention_heads}
    same_shape(folder, actual, {"layers": layers, "heads": heads})
