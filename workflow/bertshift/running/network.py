"""Jobs reach no other machine unless they are there to download: what is missing is said at once,
not after a timeout."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from bertshift.errors import UserError

# The hub's own libraries heed these variables of a process, and `as_allowed` heeds the first.
OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE")
HERE = (None, "", "localhost", "127.0.0.1", "::1")


def allow(downloads: bool) -> None:
    """Allow downloads, or forbid them, to this process and those that it starts. Call it before a
    library of the hub is imported: they look once."""
    for name in OFFLINE:
        if downloads:
            os.environ.pop(name, None)
        else:
            os.environ[name] = "1"


@contextmanager
def as_allowed() -> Iterator[None]:
    """Raise UserError, unless downloads are allowed, for whoever asks for another machine in the
    block; it names the machine."""
    if not os.environ.get(OFFLINE[0]):
        yield
        return
    before = resolve, join = socket.getaddrinfo, socket.socket.connect

    def getaddrinfo(host, *arguments, **options):
        _check(host)
        return resolve(host, *arguments, **options)

    def connect(self, address):
        # A local socket's address is no tuple.
        _check(address[0] if isinstance(address, tuple) else None)
        return join(self, address)

    socket.getaddrinfo, socket.socket.connect = getaddrinfo, connect
    try:
        yield
    finally:
        socket.getaddrinfo, socket.socket.connect = before


def _check(host: str | None) -> None:
    if host not in HERE:
        raise UserError(
            f"this job asked for {host}, but only those that download may; run 'snakemake"
            " data/all' where there is a network, then this again."
        )
