import lzma
import re
import tarfile
import zlib
from pathlib import Path

from bertshift.errors import UserError

# Ten times what any corpus here takes unpacked. A small archive can hold more than a machine has
# memory for.
LARGEST = 8 << 30  # bytes


def within(archive: Path, size: int) -> None:
    """Raise UserError where an archive's members are too large together."""
    if size > LARGEST:
        raise UserError(
            f"{archive} holds more than {LARGEST >> 30} GB, so it cannot be the corpus; delete it"
            " and fetch it again."
        )


def read_members(archive: Path, wanted: re.Pattern) -> dict[str, str]:
    """Read the texts of a tar archive, packed in any way, by the first group of `wanted` in the
    member's whole name.

    Nothing is unpacked, so no name can lead out of a folder. Raises UserError for a damaged
    archive.
    """
    texts, size = {}, 0
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                if (found := wanted.fullmatch(member.name)) and member.isfile():
                    within(archive, size := size + member.size)
                    texts[found[1]] = tar.extractfile(member).read().decode()
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
