"""Converts a user's models (folders, names on the hub, or loaded ones) to model folders that the
rules' code reads."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers import MODEL_MAPPING, PreTrainedModel, PreTrainedTokenizerBase

from bertshift.api.given import head_in, is_loaded
from bertshift.errors import UserError
from bertshift.files import read_json
from bertshift.models.adapters import (
    base_of,
    changes_head,
    has_adapters,
    merge_folder,
    merged_copy,
)
from bertshift.models.answering import (
    Head,
    architecture_of,
    has_task_head,
    head_of_class,
    head_of_run,
    load_answering,
)
from bertshift.models.loading import (
    MODEL_FILES,
    fetch_checkpoint,
    import_checkpoint,
    load_config,
    load_encoder,
    save_model,
)
from bertshift.models.published import (
    ADAPTER,
    CONFIG,
    WEIGHTS,
    is_adapter,
    parts_of,
    read_config,
    weights_of,
)
from bertshift.models.source import SOURCE, hub_source, local_source
from bertshift.models.tokenizer import FILES, load_tokenizer, save_tokenizer

DESCRIPTIONS = (MODEL_FILES[0], ADAPTER)  # files that describe the model, or adapter, of a folder
HUB_NAME = re.compile(r"(?P<name>[\w-][\w.-]*(/[\w-][\w.-]*)?)(@(?P<revision>[\w./-]+))?")


def listed(models: Any) -> list:
    """Return one model, or several replicates of one, as a list. UserError for an empty list."""
    if not isinstance(models, (list, tuple)):
        return [models]
    if not models:
        raise UserError(
            "a list of models is empty; give a folder, a name on the hub or a loaded model."
        )
    return list(models)


def name_of(model: Any) -> str:
    """Name a model by its folder or its name on the hub, which a loaded one remembers, or else by
    its class."""
    if isinstance(model, (str, Path)):
        return str(model).rstrip("/") or "/"
    return getattr(model, "name_or_path", "").rstrip("/") or type(model).__name__


def checkpoint_of(model: Any, folder: Path) -> str:
    """Name the checkpoint in a model folder that was prepared for a model: one from the hub with
    its commit."""
    source = read_json(folder / SOURCE)
    return source["name"] if source["source"].startswith("hub:") else name_of(model)


def head_of(model: Any) -> Head:
    """Describe the head of a model that is given in any form, by its class or its configuration.
    UserError for one that is nowhere."""
    name = name_of(model)
    if is_loaded(model):
        return head_in(model, name)
    if not isinstance(model, (str, Path)):
        return Head(reason=f"{name} is no model")
    folder, _ = locate(model)
    if is_adapter(folder):
        return _head_of_adapter(folder, name)
    try:
        config = load_config(folder)
        if has_task_head(config):
            return head_of_run(architecture_of(config), folder, name)
        return head_of_class(architecture_of(config), config, name)
    except UserError as error:  # which `prepare` raises
        return Head(reason=str(error))


def _head_of_adapter(folder: Path, name: str) -> Head:
    """Describe the head of an adapter's base, which an adapter in a folder has if it has none of
    its own."""
    base = base_of(folder)
    with _naming_base(folder, base):
        head = head_of(base)
        base_folder, _ = locate(base)
    if head.kind and has_task_head(load_config(base_folder)):
        return Head(reason=f"{name} is an adapter of {base}, whose head is not transformers' own")
    if head.kind and changes_head(folder, _base_prefix(base)):
        return Head(
            reason=f"{name} is an adapter that changes its base's head; merge it with PEFT, save"
            " the model and give its folder"
        )
    return head


def _base_prefix(model: str) -> str:
    """Return the name that a checkpoint's base has below its head."""
    folder, _ = locate(model)
    return MODEL_MAPPING[type(load_config(folder))].base_model_prefix


def prepare(model: Any, folder: Path, tokenizer: Any = None) -> None:
    """Write the model folder `folder` for a model that is given in any form.

    tokenizer: a folder, a hub's name or a loaded one, instead of the model's own. UserError, which
    names the model, for anything but a model of text with all its weights.
    """
    temporary, name = folder.with_name(f"{folder.name}.given"), name_of(model)
    with called(_name_files(model, temporary, name)):
        if has_adapters(model):
            model = merged_copy(model, name)
        if isinstance(model, PreTrainedModel):
            _check_reads_texts(name, type(model))
            temporary.mkdir(parents=True)
            has_head = head_of(model).kind
            kept = model if has_head else getattr(model, model.base_model_prefix, model)
            save_model(temporary, kept, _load_tokenizer(tokenizer or model.name_or_path, name))
            import_checkpoint(temporary, folder, local_source(name))
        elif not isinstance(model, (str, Path)):
            raise UserError(
                f"a model is of type {type(model).__name__}; give a folder, a name on the hub, or"
                " a model of transformers."
            )
        else:
            source_folder, origin = locate(model)
            if is_adapter(source_folder):
                _merge(source_folder, temporary, tokenizer)
                source_folder = temporary
            else:
                _check_folder(source_folder)
                if tokenizer:
                    _link_with_tokenizer(source_folder, tokenizer, temporary)
                    source_folder = temporary
            import_checkpoint(source_folder, folder, origin)


def _name_files(model: Any, folder: Path, name: str) -> dict[str, str]:
    """Name the temporary folder of a model, and the files in it of a loaded one, which has none.
    Longer paths come first."""
    if isinstance(model, (str, Path)):
        return {str(folder): name}
    return {
        str(folder / WEIGHTS): f"the loaded model {name}",
        str(folder / CONFIG): f"the configuration of the loaded model {name}",
        str(folder): name,
    }


def own_reference(model: Any) -> str:
    """Name the base that an adapter was trained on, in a folder, on the hub or loaded. UserError
    for another model."""
    if has_adapters(model):
        return base_of(model)
    if isinstance(model, (str, Path)):
        folder, _ = locate(model)
        if is_adapter(folder):
            return base_of(folder)
    raise UserError(
        f"no reference is given for {name_of(model)}, and only an adapter names its own; give one."
    )


@contextmanager
def called(names: dict[str, str]) -> Iterator[None]:
    """Replace paths of temporary files by the user's names in a UserError from the block."""
    try:
        yield
    except UserError as error:
        sentence = str(error)
        for path, name in names.items():
            sentence = sentence.replace(path, name)
        raise UserError(sentence) from error


def locate(model: str | Path) -> tuple[Path, dict]:
    """Find the folder of a model that is given by name, on this machine or on the hub, and its
    origin."""
    folder = Path(model).expanduser()
    if folder.is_dir():
        _check_holds_model(folder)
        return folder, local_source(folder.name)
    match = HUB_NAME.fullmatch(str(model))
    if not match:
        raise UserError(
            f"{model} is neither a folder nor the name of a model on the hub; correct it."
        )
    try:
        folder = fetch_checkpoint(match["name"], match["revision"])
    except UserError as error:
        raise UserError(f"there is no folder {model}, and {error}") from error
    return folder, hub_source(match["name"], folder.name, match["revision"])


def _merge(adapter: Path, folder: Path, tokenizer: Any) -> None:
    """Write the model folder `folder` of an adapter merged with its base."""
    base, base_folder = base_of(adapter), folder.with_name(f"{folder.name}.base")
    with _naming_base(adapter, base):
        prepare(base, base_folder, tokenizer)
    kind = head_of(adapter).kind
    model = load_answering(base_folder, kind) if kind else load_encoder(base_folder)
    encoder = model.base_model
    words = encoder.config.vocab_size
    merge_folder(encoder, adapter)
    if encoder.config.vocab_size != words:  # which the head was not trained on
        save_model(folder, encoder, load_tokenizer(adapter))
    else:
        save_model(folder, model, load_tokenizer(base_folder))


@contextmanager
def _naming_base(adapter: Path, base: str) -> Iterator[None]:
    """Say in a UserError from the block whose base it is about."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{adapter} is an adapter of {base}. {error}") from error


def _check_holds_model(folder: Path) -> None:
    """Raise UserError for a folder that has no model but folders of models, as a training
    leaves."""
    if any((folder / name).exists() for name in DESCRIPTIONS):
        return
    names = {file.parent.name for name in DESCRIPTIONS for file in folder.glob(f"*/{name}")}
    if names:
        ordered = sorted(names, key=lambda name: (len(name), name))
        raise UserError(
            f"{folder} holds no model itself, but these folders of models: {', '.join(ordered)};"
            " name one of them."
        )


def _check_folder(folder: Path) -> None:
    """Raise UserError for missing weights, and for a model that does not read texts."""
    if read_config(folder).get("model_type") != "bert":
        _check_reads_texts(str(folder), MODEL_MAPPING[type(load_config(folder))])
    weights_of(folder)


def _check_reads_texts(name: str, kind: type) -> None:
    if kind.main_input_name != "input_ids":
        raise UserError(f"{name} reads {kind.main_input_name}, not texts; name a model of text.")


def _link_with_tokenizer(source: Path, tokenizer: Any, folder: Path) -> None:
    """Make a folder with links to the files of the model in `source` and another tokenizer."""
    save_tokenizer(folder, _load_tokenizer(tokenizer, str(source)))
    weights = weights_of(source)
    for file in {source / MODEL_FILES[0], weights, *parts_of(weights)}:
        (folder / file.name).symlink_to(file.absolute())


def _load_tokenizer(tokenizer: Any, name: str) -> PreTrainedTokenizerBase:
    """Return a loaded tokenizer, or load one from a folder or the hub."""
    if isinstance(tokenizer, PreTrainedTokenizerBase):
        if not tokenizer.is_fast:
            raise UserError(
                f"the tokenizer of {name} is {type(tokenizer).__name__}, which cuts words by code"
                " of its own; give one that has a tokenizer.json."
            )
        return tokenizer
    if tokenizer and Path(tokenizer).expanduser().is_dir():
        return load_tokenizer(Path(tokenizer).expanduser())
    match = HUB_NAME.fullmatch(str(tokenizer))
    if not match:
        raise UserError(
            f"nothing says which tokenizer {name} has; write tokenizer= with its folder or a"
            " loaded one."
        )
    return load_tokenizer(_download_tokenizer(match["name"], match["revision"]))


def _download_tokenizer(name: str, revision: str | None) -> Path:
    from huggingface_hub import snapshot_download

    patterns = ["config.json", *FILES]
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=patterns))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{name}: its tokenizer could not be downloaded ({error}); write tokenizer= with a"
            " folder or a loaded one."
        ) from error


def given_names(models: Sequence, references: Sequence) -> tuple[str, str]:
    """Name both sides as they were given, without the folders that both lie in: `a/model` and
    `b/model`; or as `short_names` does where nothing else tells them apart."""
    names = [name_of(models[0]), name_of(references[0])]
    parts = [name.split("/") for name in names]
    shared = len(os.path.commonprefix(parts))
    ends = ["/".join(part[shared:]) for part in parts]
    if not all(ends):
        return short_names(models, references)
    return _count_more(ends[0], models), _count_more(ends[1], references)


def short_names(models: Sequence, references: Sequence) -> tuple[str, str]:
    """Name both sides of a comparison, of one or several models, by the last part of a name, and
    differently from each other."""
    model, reference = _shorten_name(models), _shorten_name(references)
    if model == reference:
        return f"{model} (model)", f"{reference} (reference)"
    return model, reference


def _shorten_name(models: Sequence) -> str:
    _, _, first = name_of(models[0]).rpartition("/")
    return _count_more(first or "model", models)


def _count_more(first: str, models: Sequence) -> str:
    return first if len(models) == 1 else f"{first} and {len(models) - 1} more"
