"""source.json of a model folder: the checkpoint from which training of its weights began. Models
that are made from the folder get a copy."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bertshift.errors import UserError
from bertshift.files import read_json, write_json

SOURCE = "source.json"
BERT = "bert"
# Families as their papers write them. Any other family keeps its name in transformers.
NAMES = {
    "bert": "BERT",
    "roberta": "RoBERTa",
    "gpt2": "GPT-2",
    "distilbert": "DistilBERT",
    "electra": "ELECTRA",
    "albert": "ALBERT",
    "deberta-v2": "DeBERTa",
    "mpnet": "MPNet",
    "modernbert": "ModernBERT",
    "gpt_neox": "GPT-NeoX",
}


def hub_source(repository: str, commit: str, revision: str | None = None) -> dict:
    """Describe a checkpoint from the hub. `revision` is the commit itself, a branch or a tag that
    was resolved to it, or None for the newest."""
    source = f"hub:{repository}@{commit}"
    pinned = revision == commit
    if revision is None or pinned:
        return {"name": f"{repository}@{commit[:7]}", "source": source, "pinned": pinned}
    name = f"{repository}@{revision} ({commit[:7]})"
    return {"name": name, "source": source, "pinned": False, "revision": revision}


def local_source(name: str) -> dict:
    return {"name": f"local {name}", "source": f"local:{name}"}


def names_apart(folders: Iterable[Path]) -> dict[Path, str]:
    """Find the shortest end of each folder's path that no other folder has."""
    paths = {folder: folder.expanduser().absolute() for folder in folders}
    names = {}
    for folder, path in paths.items():
        rivals = {rival.parts for rival in paths.values()} - {path.parts}
        names[folder] = str(Path(*_shortest_unique_end(path.parts, rivals)))
    return names


def _shortest_unique_end(parts: tuple[str, ...], rivals: set[tuple[str, ...]]) -> tuple[str, ...]:
    for count in range(1, len(parts)):
        end = parts[-count:]
        if all(rival[-count:] != end for rival in rivals):
            return end
    return parts


def pretrained_source(architecture: Mapping) -> dict:
    """Describe a model that was pretrained here; `architecture` is as under
    `bases.<name>.pretrain`: family, layers, width, corpus."""
    family = NAMES.get(architecture["family"], architecture["family"])
    size = f"{architecture['layers']}x{architecture['width']}"
    name = f"{size} {family} pretrained here on {architecture['corpus']}"
    return {
        "name": name,
        "source": f"pretrained:{architecture['corpus']}",
        "family": architecture["family"],
    }


def write_source(folder: str | Path, source: Mapping) -> None:
    write_json(Path(folder) / SOURCE, dict(source))


def carry_source(start: str | Path, folder: str | Path) -> None:
    """Record that the model in `folder` was made from the weights in `start`."""
    write_source(folder, read_json(Path(start) / SOURCE))


def origins(
    checkpoints: Mapping[str, Mapping[str, str | Sequence[str]]],
) -> dict[str, dict[str, str]]:
    """Find for each pretraining run the name of its `checkpoint` in tables, and its `family`
    (`model_type` of transformers).

    `checkpoints` is {pretraining run: {"records": the source.json of its replicates, "label": the
    user's name for it, if any}}. The name of a checkpoint that is not BERT's ends with its family.
    UserError where the replicates began as different checkpoints.
    """
    return {
        init: _find_origin(entry.get("label"), entry.get("records", ()))
        for init, entry in checkpoints.items()
    }


def _find_origin(label: str | None, records: Sequence[str]) -> dict[str, str]:
    family = read_json(records[0]).get("family", BERT) if records else BERT
    name = label or _common_name(records)
    if family != BERT:
        name = f"{name}, family {family}"
    return {"checkpoint": name, "family": family}


def _common_name(records: Sequence[str]) -> str:
    record_by_name = {read_json(record)["name"]: record for record in records}
    first, *rest = record_by_name
    if rest:
        second = rest[0]
        raise UserError(
            f"{record_by_name[first]} says {first}, {record_by_name[second]} says {second}; delete"
            " the folder of the one that is not meant, and call again."
        )
    return first


def recorded_commit(folder: str | Path, repository: str, revision: str | None) -> str | None:
    """Read the commit of `repository` that `folder` holds, if `revision` means it: None, or the
    branch or tag that was resolved to it, or the commit itself. None if the folder holds another
    checkpoint or none."""
    source = _read_source(folder)
    name, _, commit = source["source"].removeprefix("hub:").rpartition("@")
    if name == repository and revision in (commit, source.get("revision")):
        return commit
    return None


def as_asked_before(entry: Mapping, folder: str | Path) -> Mapping:
    """Return a `bases.<name>.checkpoints` entry as it was when `folder` was made, if it still
    means the same commit.

    Copying a resolved commit into the configuration changes no result, so no job may run again.
    """
    if "hub" not in entry:
        return entry
    commit = recorded_commit(folder, entry["hub"], entry.get("revision"))
    if commit is None:
        return entry
    source = _read_source(folder)
    revision = commit if source.get("pinned", True) else source.get("revision")
    earlier = {key: value for key, value in entry.items() if key != "revision"}
    if revision:
        earlier["revision"] = revision
    return earlier


def _read_source(folder: str | Path) -> dict:
    path = Path(folder) / SOURCE
    return read_json(path) if path.is_file() else {"source": ""}
