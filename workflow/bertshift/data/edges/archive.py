import lzma
import re
import tarfile
import zlib
from pathlib import Path

from bertshift.errors import UserError

# Ten times the unpacked size of any corpus here. A small archive can hold more than fits into
# memory.
LARGEST = 8 << 30  # bytes


def within(archive: Path, size: int) -> None:
    """Raise UserError where an archive's members are too large together."""
    if size > LARGEST:
        raise UserError(
            f"{archive} holds more than {LARGEST >> 30} GB, so it cannot be the corpus; delete it"
            " and fetch it again."
        )


def read_members(archive: Path, wanted: re.Pattern) -> dict[str, str]:
    """Read the texts of a tar archive, compressed or not. Keys are the first group of `wanted`,
    which must match a member's full name.

    Nothing is unpacked, so no name can lead out of a folder. UserError for a damaged archive.
    """
    texts, size = {}, 0
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                match = wanted.fullmatch(member.name)
                if match and member.isfile():
                    size += member.size
                    within(archive, size)
                    texts[match[1]] = tar.extractfile(member).read().decode()
    except (
        tarfile.TarError,
        lzma.LZMAError,
        zlib.error,
        EOFError,
        OSError,
        UnicodeDecodeError,
    ) as error:
        raise UserError(f"{archive} is damaged ({error}); delete it and fetch it again.") from None
    return texts
