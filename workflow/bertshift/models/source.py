"""source.json of a model folder: which checkpoint was taken over, and whether the configuration named its commit."""

from collections.abc import Mapping
from pathlib import Path

from bertshift.files import read_json

SOURCE = "source.json"
RECORDED_IN = "recorded_in"


def hub_name(repository: str, commit: str) -> str:
    """What tables and captions call a checkpoint of the hub."""
    return f"{repository}@{commit[:7]}"


def checkpoint_names(checkpoints: Mapping[str, str | Mapping[str, str]]) -> dict[str, str]:
    """By pretraining run, what tables call it: a name as it is, or of {RECORDED_IN: source.json} what that file says."""
    return {
        init: name if isinstance(name, str) else hub_name(*_hub_commit(read_json(name[RECORDED_IN])))
        for init, name in checkpoints.items()
    }


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
