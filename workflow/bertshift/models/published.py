"""Checkpoint folders as others publish them, checked by their JSON files, without a library of
tensors."""

from collections.abc import Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.files import read_object
from bertshift.models.families import FAMILIES

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
INDEX = f"{WEIGHTS}.index.json"
PICKLE = "pytorch_model.bin"
PICKLE_INDEX = f"{PICKLE}.index.json"
FORMS = (WEIGHTS, INDEX, PICKLE, PICKLE_INDEX)
# An adapter of PEFT's.
ADAPTER = "adapter_config.json"
ADAPTER_WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
OTHER_FRAMEWORKS = {"tf_model*.h5": "from_tf", "flax_model*.msgpack": "from_flax"}
GOOGLES = "*.ckpt.index"  # TensorFlow's own form, in which Google published BERT
# Ends of the names of tensors that are not weights: numbers of positions, and the masks of some
# exports.
BUFFERS = ("_ids", "inv_freq", ".attn.bias", ".attention.bias", ".masked_bias")
# Names of the sizes in config.json, which differ between families.
LAYERS = ("num_hidden_layers", "n_layer", "n_layers")
HEADS = ("num_attention_heads", "n_head", "n_heads")
WIDTH = ("hidden_size", "n_embd", "dim")


def read_config(folder: Path) -> dict:
    """Read `folder`/config.json. UserError where it is missing or no object, and for sizes that no
    model has."""
    path = folder / CONFIG
    try:
        values = read_object(path)
    except FileNotFoundError:
        if google_indexes := sorted(folder.glob(GOOGLES)):
            raise UserError(_advise_google_conversion(google_indexes[0])) from None
        if is_adapter(folder):
            raise UserError(
                f"{folder} holds an adapter alone; merge it into its base with PEFT, by"
                " merge_and_unload() and save_pretrained(...), and give that folder."
            ) from None
        raise UserError(
            f"{path} is missing; a checkpoint folder needs {CONFIG}, {WEIGHTS} and a vocabulary."
        ) from None
    kind = values.get("model_type", "bert")
    if not isinstance(kind, str):
        raise UserError(f'{path}: model_type is {kind!r}; write the name of one, such as "bert".')
    if kind in FAMILIES:
        _check_sizes(path, values)
    return values


def is_adapter(folder: Path) -> bool:
    """Return whether a folder holds an adapter of PEFT's, without the weights of a model."""
    has_weights = any((folder / name).exists() for name in FORMS)
    return (folder / ADAPTER).is_file() and not has_weights


def same_shape(folder: Path, actual: Mapping[str, int], configured: Mapping[str, int]) -> None:
    """Raise UserError for a checkpoint with other layers or heads than the configuration says;
    `actual` may lack one of them."""
    actual = {**configured, **actual}
    if actual != configured:
        layers, heads = actual["layers"], actual["heads"]
        raise UserError(
            f"{folder} has {layers} layers of {heads} heads, the configuration"
            f" says {configured['layers']} of {configured['heads']}; write layers: {layers} and"
            f" heads: {heads} for it under bases."
        )


def check(folder: Path, configured: Mapping[str, int]) -> None:
    """Raise UserError for a checkpoint in `folder` that cannot be read, as far as its JSON files
    and names show."""
    values = read_config(folder)
    if values.get("model_type", "bert") in FAMILIES:
        actual = {}
        for key, names in (("layers", LAYERS), ("heads", HEADS)):
            _, size = _find_size(values, names)
            if size is not None:
                actual[key] = size
        same_shape(folder, actual, configured)
    parts_of(weights_of(folder))


def weights_of(folder: Path) -> Path:
    """Find a checkpoint's model.safetensors, else the index of its parts, else pytorch_model.bin
    or its index. UserError where there is none."""
    for name in FORMS:
        if (folder / name).exists():
            return folder / name
    raise no_weights(folder)


def no_weights(folder: Path) -> UserError:
    return UserError(f"{folder / WEIGHTS} is missing. {_advise_conversion(folder)}")


def parts_of(weights: Path) -> list[Path]:
    """List the files with the tensors: `weights`, or those that an index names. UserError for one
    that is missing or in another folder."""
    if weights.name not in (INDEX, PICKLE_INDEX):
        return [weights]
    weight_map = read_object(weights).get("weight_map")
    names = list(weight_map.values()) if isinstance(weight_map, dict) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise UserError(
            f"{weights} has no weight_map from tensors to files; fetch or make it again."
        )
    names = sorted(set(names))
    for name in names:
        if Path(name).name != name:
            raise UserError(
                f"{weights} names {name}, which is outside of its folder; write a file beside the"
                " index."
            )
        if not (weights.parent / name).exists():
            raise UserError(
                f"{weights} names {name}, which is missing; fetch it again, or the whole folder."
            )
    return [weights.parent / name for name in names]


def _advise_conversion(folder: Path) -> str:
    for pattern, option in OTHER_FRAMEWORKS.items():
        if files := sorted(folder.glob(pattern)):
            return (
                f"{files[0].name} alone is not read; convert it once with transformers 4:"
                f" AutoModelForPreTraining.from_pretrained({str(folder)!r},"
                f" {option}=True).save_pretrained(...) writes {WEIGHTS}."
            )
    if google_indexes := sorted(folder.glob(GOOGLES)):
        return _advise_google_conversion(google_indexes[0])
    return f"A checkpoint folder needs {CONFIG}, {WEIGHTS} or {PICKLE}, and a vocabulary."


def _advise_google_conversion(index: Path) -> str:
    checkpoint = index.with_suffix("")
    return (
        f"{checkpoint} is a TensorFlow checkpoint, which is not read; convert it once with"
        f" transformers 4: transformers-cli convert --model_type bert --tf_checkpoint {checkpoint}"
        f" --config bert_config.json --pytorch_dump_output {PICKLE}, and write bert_config.json as"
        f" {CONFIG}."
    )


def _find_size(values: Mapping, names: tuple[str, ...]) -> tuple[str, object]:
    """Find a size in the configuration: (its name, the size), the size None if it is absent."""
    for name in names:
        if name in values:
            return name, values[name]
    return names[0], None


def _check_sizes(path: Path, values: Mapping) -> None:
    for names, least in ((LAYERS, 0), (HEADS, 1), (WIDTH, 1)):
        name, size = _find_size(values, names)
        if name in values and (type(size) is not int or size < least):
            raise UserError(f"{path}: {name} is {size!r}; write a whole number from {least}.")
    heads_name, heads = _find_size(values, HEADS)
    width_name, width = _find_size(values, WIDTH)
    if heads and width and width % heads and "head_dim" not in values:
        raise UserError(
            f"{path}: {width_name} {width} cannot be divided among {heads_name} {heads}; write"
            " those of the weights."
        )
