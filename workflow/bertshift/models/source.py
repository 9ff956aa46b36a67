"""source.json of a model folder: which checkpoint its weights began as. What is made from the
folder carries it on."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bertshift.errors import UserError
from bertshift.files import read_json, write_json

SOURCE = "source.json"
BERT = "bert"
# Families as their papers write them; a family that is not here keeps the name that transformers
# gives it.
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
    """Describe a checkpoint from the hub. revision: what was asked for, the commit itself, a
    branch or a tag that was resolved to it, or None for the newest."""
    source, pinned = f"hub:{repository}@{commit}", revision == commit
    if revision is None or pinned:
        return {"name": f"{repository}@{commit[:7]}", "source": source, "pinned": pinned}
    name = f"{repository}@{revision} ({commit[:7]})"
    return {"name": name, "source": source, "pinned": False, "revision": revision}


def local_source(name: str) -> dict:
    return {"name": f"local {name}", "source": f"local:{name}"}


def names_apart(folders: Iterable[Path]) -> dict[Path, str]:
    """Find the shortest end of each folder's path that no other folder has."""
    whole = {folder: folder.expanduser().absolute().parts for folder in folders}
    return {
        folder: str(Path(*_own_end(parts, {*whole.values()} - {parts})))
        for folder, parts in whole.items()
    }


def _own_end(parts: tuple[str, ...], others: set[tuple[str, ...]]) -> tuple[str, ...]:
    ends = (parts[-count:] for count in range(1, len(parts) + 1))
    return next((end for end in ends if all(other[-len(end) :] != end for other in others)), parts)


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
    """Record that what `folder` holds was made from the weights in `start`."""
    write_source(folder, read_json(Path(start) / SOURCE))


def origins(
    checkpoints: Mapping[str, Mapping[str, str | Sequence[str]]],
) -> dict[str, dict[str, str]]:
    """Tell by pretraining run what tables call the `checkpoint`, and its `family` (`model_type` of
    transformers).

    {pretraining run: {"records": the source.json of its replicates, "label": the user's own name
    of it, if any}}. The name of a checkpoint of another family than BERT's says so too. UserError
    where the replicates began as different checkpoints.
    """
    return {
        init: _origin(entry.get("label"), entry.get("records", ()))
        for init, entry in checkpoints.items()
    }


def _origin(label: str | None, records: Sequence[str]) -> dict[str, str]:
    family = next((read_json(record).get("family", BERT) for record in records), BERT)
    name = label or _name(records)
    return {"checkpoint": name if family == BERT else f"{name}, family {family}", "family": family}


def _name(records: Sequence[str]) -> str:
    names = {read_json(record)["name"]: record for record in records}
    if len(names) > 1:
        (one, first), (other, second) = list(names.items())[:2]
        raise UserError(
            f"{first} says {one}, {second} says {other}; delete the folder of the one that is not"
            " meant, and call again."
        )
    return next(iter(names))


def recorded_commit(folder: str | Path, repository: str, revision: str | None) -> str | None:
    """Read the commit of `repository` that `folder` holds, if `revision` means it: None, or the
    branch or tag that was resolved to it, or the commit itself. None if the folder holds another
    checkpoint or none."""
    record = _read(folder)
    found, commit = _hub_commit(record)
    means_it = revision in (commit, record.get("revision"))
    return commit if found == repository and means_it else None


def as_asked_before(entry: Mapping, folder: str | Path) -> Mapping:
    """Return a `bases.<name>.checkpoints` entry as it was when `folder` was made, if it still
    means the same commit.

    Whoever copies a resolved commit into the configuration changes nothing, so nothing must run
    again.
    """
    commit = (
        recorded_commit(folder, entry["hub"], entry.get("revision")) if "hub" in entry else None
    )
    if commit is None:
        return entry
    record = _read(folder)
    asked = commit if record.get("pinned", True) else record.get("revision")
    rest = {key: value for key, value in entry.items() if key != "revision"}
    return {**rest, "revision": asked} if asked else rest


def _read(folder: str | Path) -> dict:
    path = Path(folder) / SOURCE
    return read_json(path) if path.is_file() else {"source": ""}


def _hub_commit(source: Mapping) -> tuple[str, str]:
    repository, _, commit = source["source"].removeprefix("hub:").rpartition("@")
    return repository, commit
