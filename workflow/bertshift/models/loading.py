"""BERT checkpoints on disk: reading, writing, and taking over what others published.

A model folder holds config.json, model.safetensors, tokenizer.json, tokenizer_config.json and vocab.txt.
"""

import json
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import BertConfig, BertModel, BertTokenizer

from bertshift.errors import UserError
from bertshift.files import atomic, read_json, sha256, write_json, write_text
from bertshift.models.initialise import fill
from bertshift.models.source import hub_source, local_source, recorded_commit, write_source
from bertshift.seeds import seed_from

log = logging.getLogger(__name__)

WEIGHTS = "model.safetensors"
PICKLE = "pytorch_model.bin"
OTHER_FRAMEWORKS = {"tf_model.h5": "from_tf", "flax_model.msgpack": "from_flax"}
HUB_PATTERNS = ["config.json", WEIGHTS, "tokenizer.json", "tokenizer_config.json", "vocab.txt"]
# The first TensorFlow conversions call LayerNorm's parameters gamma and beta.
OLD_NAMES = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}


def load_config(folder: Path) -> BertConfig:
    """The architecture in `folder`/config.json. UserError if it is missing or not plain BERT."""
    path = Path(folder) / "config.json"
    values = _read_json(path)
    # Early exports say no type; that their weights are BERT's is seen when they are read.
    if values.get("model_type", "bert") != "bert":
        raise UserError(
            f"{path} describes {values['model_type']!r}, not a BERT model; give a checkpoint with model_type 'bert'."
        )
    if values.get("position_embedding_type", "absolute") != "absolute":
        raise UserError(f"{path}: position_embedding_type must be 'absolute', the only form the papers use.")
    return BertConfig.from_dict(values)


def load_tokenizer(folder: Path, lowercase: bool | None = None) -> BertTokenizer:
    """The WordPiece tokenizer of `folder`, without truncation or padding.

    A literal "[MASK]" in a text is cut like any other text: it must not become the special token. `lowercase` is for a
    folder that does not say whether its vocabulary is lowercased. UserError if nothing says so or the folder says the
    opposite, and if the vocabulary is missing.
    """
    folder = Path(folder)
    fast = _read_json(folder / "tokenizer.json") if (folder / "tokenizer.json").is_file() else None
    slow = (
        _read_json(folder / "tokenizer_config.json") if (folder / "tokenizer_config.json").is_file() else {}
    )
    if fast is not None and fast["model"].get("type", "WordPiece") != "WordPiece":
        kind = fast["model"]["type"]
        raise UserError(f"{folder}/tokenizer.json is a {kind} tokenizer; BERT needs WordPiece.")
    normalizer = (fast or {}).get("normalizer") or {}
    tokenizer = BertTokenizer(
        vocab=fast["model"]["vocab"] if fast is not None else _read_vocabulary(folder / "vocab.txt"),
        do_lower_case=_lowercase(folder, normalizer, slow, lowercase),
        strip_accents=normalizer.get("strip_accents", slow.get("strip_accents")),
        tokenize_chinese_chars=normalizer.get(
            "handle_chinese_chars", slow.get("tokenize_chinese_chars", True)
        ),
        split_special_tokens=True,
    )
    missing = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"} - tokenizer.get_vocab().keys()
    if missing:
        raise UserError(
            f"The vocabulary in {folder} lacks {', '.join(sorted(missing))}; BERT needs all five."
        )
    return tokenizer


def load_encoder(folder: Path, attention: Literal["sdpa", "eager"] = "sdpa", seed: int = 0) -> BertModel:
    """The encoder (embeddings, layers, pooler) of a model folder, in float32 and eval mode.

    Reads the layouts of BertForPreTraining and of task models ("bert." before each key) and of a bare BertModel;
    heads are left out. A checkpoint without a pooler gets a fresh one drawn from `seed`, and a line in the log.
    "eager" is needed to see attention weights, "sdpa" is faster. UserError for any other layout.
    """
    config = load_config(folder)
    config._attn_implementation = attention
    model = BertModel(config)
    state = encoder_state(Path(folder) / WEIGHTS)
    expected = model.state_dict()
    if not any(key.startswith("pooler.") for key in state):
        log.warning("%s has no pooler; a new one is drawn from seed %d.", folder, seed)
        fill(model.pooler, seed_from(seed, "pooler"))
        state |= {k: v for k, v in model.state_dict().items() if k.startswith("pooler.")}
    _check_layout(Path(folder) / WEIGHTS, expected, state)
    model.load_state_dict(state)
    return model.eval()


def encoder_state(path: Path) -> dict[str, Tensor]:
    """The encoder's tensors under a bare BertModel's names, float32; buffers and heads are left out."""
    return _encoder_part(rename_old(read_weights(path)))


def _encoder_part(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    prefix = "bert." if any(key.startswith("bert.") for key in state) else ""
    parts = tuple(prefix + part for part in ("embeddings.", "encoder.", "pooler."))
    return {
        key.removeprefix(prefix): value.float()
        for key, value in state.items()
        if key.startswith(parts) and not key.endswith("_ids")
    }


def read_weights(path: Path) -> dict[str, Tensor]:
    path = Path(path)
    if not path.is_file():
        raise UserError(f"{path} is missing. {_how_to_convert(path.parent)}")
    if path.name == PICKLE:
        return _read_pickle(path)
    try:
        return load_file(path)
    except SafetensorError as error:
        raise UserError(
            f"{path} is not a complete safetensors file ({error}); fetch or make it again."
        ) from error


def _read_pickle(path: Path) -> dict[str, Tensor]:
    """A pickle of named tensors, read without running what else may be in it."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        if not all(isinstance(key, str) and isinstance(value, Tensor) for key, value in state.items()):
            raise TypeError("not a mapping of names to tensors")
    except Exception as error:
        raise UserError(
            f"{path} is broken or holds more than named tensors, which could run code; fetch it again, or give {WEIGHTS}."
        ) from error
    return state


def rename_old(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    def new(name: str) -> str:
        for old, now in OLD_NAMES.items():
            name = name.replace(old, now)
        return name

    return {new(name): value for name, value in state.items()}


def save_model(folder: Path, model: nn.Module, tokenizer: BertTokenizer) -> None:
    """Write a model folder; each file appears whole, and the weights last: where they are, the rest is.

    `model` is a transformers BERT or a module with one under `.bert`.
    """
    folder = Path(folder)
    config = model.config if hasattr(model, "config") else model.bert.config
    head = {"architectures": [type(model).__name__], "labels": list(getattr(model, "labels", ()))}
    write_json(folder / "config.json", config.to_dict() | head)
    save_tokenizer(folder, tokenizer)
    save_weights(folder / WEIGHTS, model.state_dict())


def save_weights(path: Path, state: Mapping[str, Tensor]) -> None:
    """Tied tensors are written once, under the first name in alphabetical order."""
    unique = {(t.data_ptr(), t.shape, t.stride()): name for name, t in sorted(state.items(), reverse=True)}
    tensors = {name: state[name].detach().cpu().contiguous() for name in sorted(unique.values())}
    with atomic(path) as temporary:
        save_file(tensors, temporary, metadata={"format": "pt"})


def save_tokenizer(folder: Path, tokenizer: BertTokenizer) -> None:
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    write_text(folder / "vocab.txt", "".join(f"{token}\n" for token, _ in vocabulary))
    write_text(folder / "tokenizer.json", tokenizer.backend_tokenizer.to_str(pretty=True) + "\n")
    write_json(
        folder / "tokenizer_config.json",
        {"tokenizer_class": "BertTokenizer"}
        | {
            key: getattr(tokenizer, key)
            for key in ("do_lower_case", "strip_accents", "tokenize_chinese_chars")
        },
    )


def import_checkpoint(
    source_dir: Path, run_dir: Path, origin: Mapping | None = None, lowercase: bool | None = None
) -> None:
    """Check a local checkpoint and write it as a model folder, with source.json saying where it came from (`origin`).

    Weights are read from model.safetensors, or else from pytorch_model.bin; `lowercase` is as for `load_tokenizer`.
    UserError for a missing file, weights of another framework, a pickle with more than tensors, a model that is not
    BERT, and a vocabulary that does not fit the embeddings.
    """
    source_dir, run_dir = Path(source_dir), Path(run_dir)
    if not source_dir.is_dir():
        raise UserError(
            f"{source_dir} is not a folder; give one with config.json, {WEIGHTS} and a vocabulary."
        )
    config = load_config(source_dir)
    tokenizer = load_tokenizer(source_dir, lowercase)
    weights = _weights_of(source_dir)
    state = rename_old(read_weights(weights))
    encoder = _encoder_part(state)
    if not any(key.startswith("pooler.") for key in encoder):
        log.warning("%s has no pooler; every model made from it starts with a new one.", source_dir)
    with torch.device("meta"):  # names and shapes, without drawing weights
        expected = BertModel(config).state_dict()
    _check_layout(weights, expected, encoder, optional="pooler.")
    _check_vocabulary(source_dir, tokenizer, config)
    write_json(run_dir / "config.json", config.to_dict())
    save_tokenizer(run_dir, tokenizer)
    write_source(run_dir, {**(origin or local_source(source_dir)), "sha256": sha256(weights)})
    save_weights(run_dir / WEIGHTS, {k: v for k, v in state.items() if not k.endswith("_ids")})


def download_checkpoint(
    hub_id: str,
    revision: str | None,
    run_dir: Path,
    cache: Path | None = None,
    lowercase: bool | None = None,
) -> None:
    """Fetch one commit of a hub model through huggingface_hub and import it (`import_checkpoint`).

    Without `revision` it is the commit that run_dir/source.json names, so that it stays the same once it was fetched,
    or else the newest. UserError if `revision` is not a full commit hash, or the hub does not answer with that model.
    """
    if revision and not re.fullmatch(r"[0-9a-f]{40}", revision):
        raise UserError(
            f"revision of {hub_id} is {revision!r}; write the 40 hex digits of a commit, not a branch."
        )
    from huggingface_hub import snapshot_download

    def fetch(commit: str | None, *patterns: str) -> Path:
        return Path(snapshot_download(hub_id, revision=commit, allow_patterns=patterns, cache_dir=cache))

    wanted = revision or recorded_commit(run_dir, hub_id)
    try:
        folder = fetch(wanted, *HUB_PATTERNS)
        commit = folder.name  # a snapshot's folder is named so
        if not (folder / WEIGHTS).is_file():
            fetch(commit, PICKLE)
    except (OSError, ValueError) as error:  # every hub and network error is one of the two
        raise UserError(
            f"{hub_id} at {wanted or 'its newest commit'} could not be downloaded ({error}); check the id and the "
            "connection, or give a local folder instead."
        ) from error
    if not any((folder / name).is_file() for name in (WEIGHTS, PICKLE)):
        raise UserError(
            f"{hub_id} at {commit} has neither {WEIGHTS} nor {PICKLE}; convert its weights and give the local folder."
        )
    import_checkpoint(folder, run_dir, hub_source(hub_id, commit, pinned=bool(revision)), lowercase)


def _read_json(path: Path) -> dict:
    try:
        return read_json(path)
    except FileNotFoundError as error:
        raise UserError(
            f"{path} is missing; a checkpoint folder needs config.json, {WEIGHTS} and a vocabulary."
        ) from error
    except json.JSONDecodeError as error:
        raise UserError(f"{path} is not JSON ({error}); fetch or make it again.") from error


def _read_vocabulary(path: Path) -> dict[str, int]:
    if not path.is_file():
        raise UserError(
            f"{path.parent} has neither tokenizer.json nor vocab.txt; add the model's own vocabulary."
        )
    return {token: i for i, token in enumerate(path.read_text(encoding="utf-8").rstrip("\n").split("\n"))}


def _lowercase(folder: Path, normalizer: dict, config: dict, asked: bool | None) -> bool:
    found = {
        "tokenizer.json": normalizer.get("lowercase"),
        "tokenizer_config.json": config.get("do_lower_case"),
    }
    said = {name: value for name, value in found.items() if value is not None}
    for name, value in said.items():
        if asked in (None, value):
            return value
        kind = "lowercased" if value else "cased"
        raise UserError(
            f"{folder}/{name} says that the vocabulary is {kind}, the checkpoint's entry under 'bases' says lowercase: "
            f"{str(asked).lower()}; write lowercase: {str(value).lower()}, or leave it out."
        )
    if asked is None:
        raise UserError(
            f"Nothing in {folder} says whether its vocabulary is lowercased; write 'lowercase: true' (uncased) or "
            "'lowercase: false' (cased) into the checkpoint's entry under 'bases'."
        )
    return asked


def _weights_of(folder: Path) -> Path:
    pickle = folder / PICKLE
    return pickle if pickle.is_file() and not (folder / WEIGHTS).is_file() else folder / WEIGHTS


def _how_to_convert(folder: Path) -> str:
    for name, option in OTHER_FRAMEWORKS.items():
        if (folder / name).is_file():
            return (
                f"{name} alone is not read; convert it once with transformers 4: AutoModelForPreTraining."
                f"from_pretrained({str(folder)!r}, {option}=True).save_pretrained(...) writes {WEIGHTS}."
            )
    return f"A checkpoint folder needs config.json, {WEIGHTS} or {PICKLE}, and a vocabulary."


def _check_layout(
    path: Path, expected: Mapping[str, Tensor], found: Mapping[str, Tensor], optional: str = "\0"
):
    missing = sorted(k for k in expected.keys() - found.keys() if not k.startswith(optional))
    unknown = sorted(found.keys() - expected.keys())
    shapes = sorted(k for k in expected.keys() & found.keys() if expected[k].shape != found[k].shape)
    for what, keys in (
        ("lacks", missing),
        ("has the unknown", unknown),
        ("has another shape than config.json for", shapes),
    ):
        if keys:
            more = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
            raise UserError(f"{path} {what} {keys[0]}{more}; config.json and weights must belong together.")


def _check_vocabulary(folder: Path, tokenizer: BertTokenizer, config: BertConfig) -> None:
    tokens = len(tokenizer.get_vocab())
    if tokens != config.vocab_size:
        raise UserError(
            f"The vocabulary in {folder} has {tokens} entries, its config.json says vocab_size {config.vocab_size}; "
            "take the vocabulary that was published with these weights."
        )
