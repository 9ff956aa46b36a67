"""Models as a user has them, folders, names on the hub or loaded, as model folders that the rules'
code reads."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers import MODEL_MAPPING, PreTrainedModel, PreTrainedTokenizerBase

from bertshift.errors import UserError
from bertshift.files import read_json
from bertshift.models.adapters import base_of, has_adapters, merge_folder, merged_copy
from bertshift.models.loading import (
    MODEL_FILES,
    fetch_checkpoint,
    import_checkpoint,
    load_config,
    load_encoder,
    save_model,
)
from bertshift.models.published import ADAPTER, is_adapter, parts_of, read_config, weights_of
from bertshift.models.source import SOURCE, hub_source, local_source
from bertshift.models.tokenizer import load_tokenizer, save_tokenizer

DESCRIBE = (MODEL_FILES[0], ADAPTER)  # what says which model, or adapter, a folder holds
HUB_NAME = re.compile(r"(?P<name>[\w-][\w.-]*(/[\w-][\w.-]*)?)(@(?P<revision>[\w./-]+))?")


def listed(models: Any) -> list:
    """Return one model, or several replicates of one, as a list. UserError for an empty list."""
    found = list(models) if isinstance(models, (list, tuple)) else [models]
    if not found:
        raise UserError(
            "a list of models is empty; give a folder, a name on the hub or a loaded model."
        )
    return found


def name_of(model: Any) -> str:
    """Call a model by its folder, its name on the hub, or what a loaded one remembers of
    either."""
    if isinstance(model, (str, Path)):
        return str(model).rstrip("/") or "/"
    return getattr(model, "name_or_path", "") or type(model).__name__


def checkpoint_of(model: Any, folder: Path) -> str:
    """Name the checkpoint in a model folder that was prepared for a model: one from the hub with
    its commit."""
    source = read_json(folder / SOURCE)
    return source["name"] if source["source"].startswith("hub:") else name_of(model)


def prepare(model: Any, folder: Path, tokenizer: Any = None) -> None:
    """Write the model folder `folder` for a model that is given in any way.

    tokenizer: a folder, a hub's name or a loaded one, in the place of the model's own. UserError,
    which names the model, for what is no model of text with all its weights.
    """
    beside, name = folder.with_name(f"{folder.name}.given"), name_of(model)
    with called({str(beside): name}):
        if has_adapters(model):
            model = merged_copy(model, name)
        if isinstance(model, PreTrainedModel):
            _check_reads_texts(name, type(model))
            beside.mkdir(parents=True)
            base = getattr(model, model.base_model_prefix, model)
            save_model(beside, base, _tokenizer(tokenizer or model.name_or_path, name))
            import_checkpoint(beside, folder, local_source(name))
        elif not isinstance(model, (str, Path)):
            raise UserError(
                f"a model is of type {type(model).__name__}; give a folder, a name on the hub, or"
                " a model of transformers."
            )
        else:
            given, origin = _found(model)
            if is_adapter(given):
                _merge(given, beside, tokenizer)
                import_checkpoint(beside, folder, origin)
            else:
                _check_folder(given)
                import_checkpoint(_with_tokenizer(given, tokenizer, beside), folder, origin)


def own_reference(model: Any) -> str:
    """Name the base that an adapter was trained on, in a folder, on the hub or loaded. UserError
    for another model."""
    if has_adapters(model):
        return base_of(model)
    if isinstance(model, (str, Path)) and is_adapter(given := _found(model)[0]):
        return base_of(given)
    raise UserError(
        f"no reference is given for {name_of(model)}, and only an adapter names its own; give one."
    )


@contextmanager
def called(names: dict[str, str]) -> Iterator[None]:
    """Let a UserError from within the block call files of ours by what the user calls them."""
    try:
        yield
    except UserError as error:
        sentence = str(error)
        for path, name in names.items():
            sentence = sentence.replace(path, name)
        raise UserError(sentence) from error


def _found(model: str | Path) -> tuple[Path, dict]:
    """Find the folder of a model that is given by name, on this machine or as the hub has it, and
    where it is from."""
    if (given := Path(model).expanduser()).is_dir():
        _check_not_above(given)
        return given, local_source(given.name)
    match = HUB_NAME.fullmatch(str(model))
    if not match:
        raise UserError(f"{model} is no folder, and no name of a model on the hub; correct it.")
    try:
        folder = fetch_checkpoint(match["name"], match["revision"])
    except UserError as error:
        raise UserError(f"there is no folder {model}, and {error}") from error
    return folder, hub_source(match["name"], folder.name, match["revision"])


def _merge(adapter: Path, folder: Path, tokenizer: Any) -> None:
    """Write the model folder `folder` of an adapter and its base together."""
    base, below = base_of(adapter), folder.with_name(f"{folder.name}.base")
    try:
        prepare(base, below, tokenizer)
    except UserError as error:
        raise UserError(f"{adapter} is an adapter of {base}. {error}") from error
    encoder = load_encoder(below)
    merge_folder(encoder, adapter)
    save_model(folder, encoder, load_tokenizer(below))


def _check_not_above(folder: Path) -> None:
    """Raise UserError for a folder that has no model but folders of models, as a training
    leaves."""
    inside = {file.parent.name for name in DESCRIBE for file in folder.glob(f"*/{name}")}
    if inside and not any((folder / name).exists() for name in DESCRIBE):
        names = ", ".join(sorted(inside, key=lambda name: (len(name), name)))
        raise UserError(
            f"{folder} holds no model itself, but these folders of models: {names}; name one of"
            " them."
        )


def _check_folder(folder: Path) -> None:
    """Raise UserError for weights that are missing and for a model of images, in words about
    these."""
    if read_config(folder).get("model_type") != "bert":
        _check_reads_texts(str(folder), MODEL_MAPPING[type(load_config(folder))])
    weights_of(folder)


def _check_reads_texts(name: str, kind: type) -> None:
    if kind.main_input_name != "input_ids":
        raise UserError(f"{name} reads {kind.main_input_name}, not texts; name a model of text.")


def _with_tokenizer(folder: Path, tokenizer: Any, beside: Path) -> Path:
    """Return the folder, or the one `beside` with links to its files and another tokenizer."""
    if not tokenizer:
        return folder
    save_tokenizer(beside, _tokenizer(tokenizer, str(folder)))
    weights = weights_of(folder)
    for file in {folder / MODEL_FILES[0], weights, *parts_of(weights)}:
        (beside / file.name).symlink_to(file.absolute())
    return beside


def _tokenizer(given: Any, name: str) -> PreTrainedTokenizerBase:
    """Return a tokenizer that is loaded, or load one from a folder or the hub."""
    if isinstance(given, PreTrainedTokenizerBase):
        if not given.is_fast:
            raise UserError(
                f"the tokenizer of {name} is {type(given).__name__}, which cuts words by code of"
                " its own; give one that has a tokenizer.json."
            )
        return given
    if given and Path(given).expanduser().is_dir():
        return load_tokenizer(Path(given).expanduser())
    if not (match := HUB_NAME.fullmatch(str(given))):
        raise UserError(
            f"nothing says which tokenizer {name} has; write tokenizer= with its folder or a"
            " loaded one."
        )
    return load_tokenizer(_tokenizer_files(match["name"], match["revision"]))


def _tokenizer_files(name: str, revision: str | None) -> Path:
    from huggingface_hub import snapshot_download

    patterns = [
        "config.json",
        "tokenizer*",
        "special_tokens_map.json",
        "vocab.*",
        "merges.txt",
        "*.model",
    ]
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=patterns))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{name}: its tokenizer could not be downloaded ({error}); write tokenizer= with a"
            " folder or a loaded one."
        ) from error


def short_names(models: Sequence, references: Sequence) -> tuple[str, str]:
    """Call both sides of a comparison, of one or several models, by the last part of a name, apart
    from each other."""
    both = [_short(side) for side in (models, references)]
    return (
        (both[0], both[1])
        if both[0] != both[1]
        else (f"{both[0]} (model)", f"{both[1]} (reference)")
    )


def _short(models: Sequence) -> str:
    first = name_of(models[0]).rpartition("/")[2] or "model"
    return first if len(models) == 1 else f"{first} and {len(models) - 1} more"
