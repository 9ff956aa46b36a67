import lzma
import re
import tarfile
import zlib
from pathlib import Path

from bertshift.errors import UserError


def read_members(archive: Path, wanted: re.Pattern) -> dict[str, str]:
    """Texts of a tar archive, packed in any way, by the first group of `wanted` in the member's whole name.

    Nothing is unpacked, so no name can lead out of a folder. Raises UserError for a damaged archive.
    """
    texts = {}
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                if (found := wanted.fullmatch(member.name)) and member.isfile():
                    texts[found[1]] = tar.extractfile(member).read().decode()
    except (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, OSError, UnicodeDecodeError) as error:
        raise UserError(f"{archive} is damaged ({error}); delete it and fetch it again.") from None
    return texts
