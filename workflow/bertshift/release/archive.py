"""The archive of a run: a ZIP file that anyone can unpack, with the digest of every file in
SHA256SUMS.

After `unzip`, `sha256sum -c SHA256SUMS` checks it without this program.
"""

import hashlib
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from bertshift.errors import UserError
from bertshift.files import atomic

SUMS = "SHA256SUMS"
# Damaged, or packed in a way that we do not write.
UNREADABLE = (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same run gives the same bytes, whenever it is archived


def write(path: str | os.PathLike, files: Mapping[str, Path | bytes]) -> None:
    """Write an archive of `files`, by their names in it."""
    digests = {}
    with atomic(path) as temporary, ZipFile(temporary, "w") as archive:

        def add(name: str, content: bytes) -> None:
            info = ZipInfo(name, EPOCH)
            info.compress_type, info.external_attr = ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, content)

        for name, content in sorted(files.items()):
            content = content if isinstance(content, bytes) else content.read_bytes()
            digests[name] = hashlib.sha256(content).hexdigest()
            add(name, content)
        add(SUMS, "".join(f"{digest}  {name}\n" for name, digest in digests.items()).encode())


def opened(path: str | os.PathLike) -> ZipFile:
    """Open an archive of a run. UserError for what is none."""
    try:
        archive = ZipFile(path)
    except FileNotFoundError:
        raise UserError(
            f"there is no file {path}; name an archive that `make release` wrote."
        ) from None
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror}); name an archive that `make release` wrote."
        ) from None
    except BadZipFile as error:
        raise UserError(f"{path} is no ZIP file ({error}); fetch it again.") from None
    if SUMS not in archive.namelist():
        archive.close()
        raise UserError(f"{path} has no {SUMS}; name an archive that `make release` wrote.")
    return archive


def damages(archive: ZipFile) -> list[str]:
    """Report in a sentence each file that is not as SHA256SUMS says, is missing or does not belong
    there."""
    try:
        lines = read(archive, SUMS).decode().splitlines()
    except UnicodeDecodeError:
        raise UserError(
            f"{archive.filename}: {SUMS} is no text; fetch the archive again."
        ) from None
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    present = set(archive.namelist()) - {SUMS}
    found = [f"{name} is missing." for name in listed.keys() - present]
    found += [
        f"{name} does not belong there: {SUMS} does not list it."
        for name in present - listed.keys()
    ]
    for name in listed.keys() & present:
        try:
            intact = hashlib.sha256(archive.read(name)).hexdigest() == listed[name]
        except UNREADABLE:
            intact = False
        if not intact:
            found.append(f"{name} is damaged: its digest is not the one in {SUMS}.")
    return sorted(found)


def read(archive: ZipFile, name: str) -> bytes:
    """Read a file of an archive. UserError where it cannot be read."""
    try:
        return archive.read(name)
    except (KeyError, *UNREADABLE) as error:
        raise UserError(
            f"{archive.filename}: {name} cannot be read ({error}); fetch it again."
        ) from None
