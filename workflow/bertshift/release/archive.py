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
# Errors of a damaged archive, or of one packed in a way that we do not use.
UNREADABLE = (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
EPOCH = (1980, 1, 1, 0, 0, 0)  # a fixed time: the same run always gives the same bytes


def write(path: str | os.PathLike, files: Mapping[str, Path | bytes]) -> None:
    """Write an archive of `files`, by their names in it."""
    lines = []
    with atomic(path) as temporary, ZipFile(temporary, "w") as archive:
        for name, content in sorted(files.items()):
            if isinstance(content, Path):
                content = content.read_bytes()
            lines.append(f"{hashlib.sha256(content).hexdigest()}  {name}\n")
            _add(archive, name, content)
        _add(archive, SUMS, "".join(lines).encode())


def _add(archive: ZipFile, name: str, content: bytes) -> None:
    info = ZipInfo(name, EPOCH)
    info.compress_type = ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    archive.writestr(info, content)


def opened(path: str | os.PathLike) -> ZipFile:
    """Open an archive of a run. UserError for any other file."""
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
        raise UserError(f"{path} is not a ZIP file ({error}); fetch it again.") from None
    if SUMS not in archive.namelist():
        archive.close()
        raise UserError(f"{path} has no {SUMS}; name an archive that `make release` wrote.")
    return archive


def damages(archive: ZipFile) -> list[str]:
    """Report in a sentence each file that is missing, that does not belong there, or whose digest
    differs from SHA256SUMS."""
    try:
        lines = read(archive, SUMS).decode().splitlines()
    except UnicodeDecodeError:
        raise UserError(
            f"{archive.filename}: {SUMS} is not text; fetch the archive again."
        ) from None
    digests = {}
    for line in lines:
        digest, _, name = line.partition("  ")
        digests[name] = digest
    present = set(archive.namelist()) - {SUMS}
    problems = []
    for name in digests.keys() | present:
        if name not in present:
            problems.append(f"{name} is missing.")
        elif name not in digests:
            problems.append(f"{name} does not belong there: {SUMS} does not list it.")
        elif not _is_intact(archive, name, digests[name]):
            problems.append(f"{name} is damaged: its digest is not the one in {SUMS}.")
    return sorted(problems)


def _is_intact(archive: ZipFile, name: str, digest: str) -> bool:
    try:
        return hashlib.sha256(archive.read(name)).hexdigest() == digest
    except UNREADABLE:
        return False


def read(archive: ZipFile, name: str) -> bytes:
    """Read a file of an archive. UserError where it cannot be read."""
    try:
        return archive.read(name)
    except (KeyError, *UNREADABLE) as error:
        raise UserError(
            f"{archive.filename}: {name} cannot be read ({error}); fetch it again."
        ) from None
