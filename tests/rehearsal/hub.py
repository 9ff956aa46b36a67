"""The hub of a rehearsal: everything that a scale downloads, at the addresses and commits that its
configuration names."""

import hashlib
import io
from collections.abc import Iterator, Mapping
from socket import socket

from data.small_hub import SmallHub
from pyarrow import parquet
from rehearsal import checkpoints, corpora, rows

from bertshift.errors import UserError

PORTS = range(20_000, 20_100)  # below those that a system gives to connections


def serve(config: Mapping, port: int | None = None) -> tuple[SmallHub, dict]:
    """(the hub, not yet begun, and the configuration that directs the corpora's addresses to it
    and labels checkpoints).

    config: the complete configuration of a scale whose data come from the hub.
    """
    treebank = {split: corpora.treebank(split) for split in corpora.SPLITS}
    data = rows.repositories(config["datasets"], treebank)
    pages = corpora.addresses(config["edge_sets"], config["relations"])
    models = checkpoints.repositories(config["bases"], _texts(data, treebank))
    try:
        hub = SmallHub({}, port=port or _free_port())
    except OSError:
        raise UserError(
            f"port {port}, with which this rehearsal began, is taken: end what listens there."
        ) from None
    for (repository, commit), files in {**data, **models}.items():
        hub.push(repository, commit, files)
    hub.pages = {corpora.place(url): content for url, content in pages.items()}
    digests = {url: hashlib.sha256(content).hexdigest() for url, content in pages.items()}
    directed = corpora.overlay(config["edge_sets"], config["relations"], hub.url, digests)
    return hub, directed | checkpoints.overlay(config["bases"])


def digest(hub: SmallHub) -> str:
    """Return the SHA-256 of everything that the hub serves."""
    served = dict(hub.pages)
    for repository, commits in hub.commits.items():
        for commit, files in commits.items():
            served |= {f"{repository}@{commit}/{path}": content for path, content in files.items()}
    found = hashlib.sha256()
    for name, content in sorted(served.items()):
        found.update(name.encode() + content)
    return found.hexdigest()


def _free_port() -> int:
    for port in PORTS:
        with socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise UserError(
        f"every port from {PORTS[0]} to {PORTS[-1]} of this machine is taken; end what listens there."
    )


def _texts(data: Mapping, treebank: Mapping[str, str]) -> Iterator[str]:
    """What the vocabularies are to cover."""
    for files in data.values():
        for path, content in files.items():
            if path.endswith(".parquet"):
                table = parquet.read_table(io.BytesIO(content))
                for column in (
                    "sentence",
                    "sentence1",
                    "premise",
                    "question1",
                    "question",
                    "context",
                    "text",
                ):
                    if column in table.column_names:
                        yield from table.column(column).to_pylist()
    yield from treebank.values()
