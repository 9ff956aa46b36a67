"""source.json of a model folder: which checkpoint its weights began as. What is made from the folder carries it on."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from bertshift.errors import UserError
from bertshift.files import read_json, write_json

SOURCE = "source.json"


def hub_source(repository: str, commit: str, pinned: bool) -> dict:
    """pinned: whether the configuration named the commit."""
    return {
        "name": f"{repository}@{commit[:7]}",
        "source": f"hub:{repository}@{commit}",
        "pinned": pinned,
    }


def local_source(folder: Path) -> dict:
    return {"name": f"local {folder.name}", "source": f"local:{folder.name}"}


def pretrained_source(architecture: Mapping) -> dict:
    name = (
        f"{architecture['layers']}x{architecture['width']} BERT pretrained here on {architecture['corpus']}"
    )
    return {"name": name, "source": f"pretrained:{architecture['corpus']}"}


def write_source(folder: str | Path, source: Mapping) -> None:
    write_json(Path(folder) / SOURCE, dict(source))


def carry_source(start: str | Path, folder: str | Path) -> None:
    """What `folder` holds was made from the weights in `start`."""
    write_source(folder, read_json(Path(start) / SOURCE))


def checkpoint_names(checkpoints: Mapping[str, Mapping[str, str | Sequence[str]]]) -> dict[str, str]:
    """By pretraining run, what tables call the checkpoint.

    {pretraining run: {"records": the source.json of its replicates, "label": the user's own name of it, if any}}.
    UserError where the replicates began as different checkpoints.
    """
    return {init: entry.get("label") or _name(entry["records"]) for init, entry in checkpoints.items()}


def _name(records: Sequence[str]) -> str:
    names = {read_json(record)["name"]: record for record in records}
    if len(names) > 1:
        (one, first), (other, second) = list(names.items())[:2]
        raise UserError(
            f"{first} says {one}, {second} says {other}; delete the folder of the one that is not meant, and call again."
        )
    return next(iter(names))


def recorded_commit(folder: str | Path, repository: str) -> str | None:
    """The commit of `repository` that `folder` holds; None if it holds another checkpoint or none."""
    found, commit = _hub_commit(_read(folder))
    return commit if found == repository else None


def as_asked_before(entry: Mapping, folder: str | Path) -> Mapping:
    """An entry of `bases.<name>.checkpoints` as it was when `folder` was made, if it still means the same commit.

    Whoever copies a resolved commit into the configuration changes nothing, so nothing must run again.
    """
    commit = recorded_commit(folder, entry["hub"]) if "hub" in entry else None
    if commit is None or entry.get("revision", commit) != commit:
        return entry
    rest = {key: value for key, value in entry.items() if key != "revision"}
    return {**rest, "revision": commit} if _read(folder).get("pinned", True) else rest


def _read(folder: str | Path) -> dict:
    path = Path(folder) / SOURCE
    return read_json(path) if path.is_file() else {"source": ""}


def _hub_commit(source: Mapping) -> tuple[str, str]:
    repository, _, commit = source["source"].removeprefix("hub:").rpartition("@")
    return repository, commit
