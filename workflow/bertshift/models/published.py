"""Checkpoint folders as others publish them, checked by what their JSON files say, without a
library of tensors."""

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
# The names that the families of `families` have for their sizes.
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
        if googles := sorted(folder.glob(GOOGLES)):
            raise UserError(_how_to_convert_googles(googles[0])) from None
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
    """Tell whether a folder holds an adapter of PEFT's, without the weights of a whole model."""
    whole = any((folder / name).exists() for name in FORMS)
    return (folder / ADAPTER).is_file() and not whole


def same_shape(folder: Path, real: Mapping[str, int], said: Mapping[str, int]) -> None:
    """Raise UserError for a checkpoint with other layers or heads than the configuration says;
    `real` may lack one of them."""
    if said | real != said:
        real = said | real
        raise UserError(
            f"{folder} has {real['layers']} layers of {real['heads']} heads, the configuration"
            f" says {said['layers']} of {said['heads']}; write layers: {real['layers']} and heads:"
            f" {real['heads']} for it under bases."
        )


def check(folder: Path, said: Mapping[str, int]) -> None:
    """Raise UserError for what keeps the checkpoint in `folder` from being read, as far as its
    JSON files and names tell."""
    values = read_config(folder)
    if values.get("model_type", "bert") in FAMILIES:
        told = {"layers": _size(values, LAYERS)[1], "heads": _size(values, HEADS)[1]}
        same_shape(folder, {key: size for key, size in told.items() if size is not None}, said)
    parts_of(weights_of(folder))


def weights_of(folder: Path) -> Path:
    """Find a checkpoint's model.safetensors, else the index of its parts, else pytorch_model.bin
    or its index. UserError where there is none."""
    found = [folder / name for name in FORMS if (folder / name).exists()]
    if not found:
        raise no_weights(folder)
    return found[0]


def no_weights(folder: Path) -> UserError:
    return UserError(f"{folder / WEIGHTS} is missing. {_how_to_convert(folder)}")


def parts_of(weights: Path) -> list[Path]:
    """List the files with the tensors: `weights`, or those that an index names. UserError for one
    that is missing or in another folder."""
    if weights.name not in (INDEX, PICKLE_INDEX):
        return [weights]
    tensors = read_object(weights).get("weight_map")
    names = list(tensors.values()) if isinstance(tensors, dict) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise UserError(
            f"{weights} has no weight_map from tensors to files; fetch or make it again."
        )
    for name in sorted({*names}):
        if Path(name).name != name:
            raise UserError(
                f"{weights} names {name}, which is outside of its folder; write a file beside the"
                " index."
            )
        if not (weights.parent / name).exists():
            raise UserError(
                f"{weights} names {name}, which is missing; fetch it again, or the whole folder."
            )
    return [weights.parent / name for name in sorted({*names})]


def _how_to_convert(folder: Path) -> str:
    for pattern, option in OTHER_FRAMEWORKS.items():
        if found := sorted(folder.glob(pattern)):
            return (
                f"{found[0].name} alone is not read; convert it once with transformers 4:"
                f" AutoModelForPreTraining.from_pretrained({str(folder)!r},"
                f" {option}=True).save_pretrained(...) writes {WEIGHTS}."
            )
    if googles := sorted(folder.glob(GOOGLES)):
        return _how_to_convert_googles(googles[0])
    return f"A checkpoint folder needs {CONFIG}, {WEIGHTS} or {PICKLE}, and a vocabulary."


def _how_to_convert_googles(index: Path) -> str:
    checkpoint = index.with_suffix("")
    return (
        f"{checkpoint} is a TensorFlow checkpoint, which is not read; convert it once with"
        f" transformers 4: transformers-cli convert --model_type bert --tf_checkpoint {checkpoint}"
        f" --config bert_config.json --pytorch_dump_output {PICKLE}, and write bert_config.json as"
        f" {CONFIG}."
    )


def _size(values: Mapping, names: tuple[str, ...]) -> tuple[str, object]:
    """Find a size in the configuration: (its name, the size), None if the file does not say it."""
    return next(((name, values[name]) for name in names if name in values), (names[0], None))


def _check_sizes(path: Path, values: Mapping) -> None:
    sizes = dict(_size(values, names) for names in (LAYERS, HEADS, WIDTH))
    for (name, size), least in zip(sizes.items(), (0, 1, 1)):
        if name in values and (type(size) is not int or size < least):
            raise UserError(f"{path}: {name} is {size!r}; write a whole number from {least}.")
    (heads, number), (wide, width) = list(sizes.items())[1:]
    if number and width and width % number and "head_dim" not in values:
        raise UserError(
            f"{path}: {wide} {width} cannot be divided among {heads} {number}; write those of the"
            " weights."
        )
