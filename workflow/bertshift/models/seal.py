"""A digest of all bytes of a safetensors file, in its own metadata, so that a damaged file is
noticed when it is read.

Such a file begins with eight bytes, the length of a JSON object; the object; and then the tensors.
"""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import BinaryIO

from bertshift.errors import UserError

# The digest is taken with NONE in its place; who writes a file that is to be sealed gives it these
# metadata.
NONE = "0" * 64
OPEN = {"bertshift_sha256": NONE}


def seal(path: Path) -> None:
    """Write the digest into a file that has OPEN among its metadata."""
    with open(path, "r+b") as file:
        length, header = _header(file)
        named = json.loads(header)
        # safetensors writes several entries in any order.
        named["__metadata__"] = dict(sorted(named["__metadata__"].items()))
        header = (
            json.dumps(named, separators=(",", ":"), ensure_ascii=False)
            .encode()
            .ljust(len(header))
        )
        sealed = header.replace(NONE.encode(), _digest(header, file).encode(), 1)
        file.seek(len(length))
        file.write(sealed)


def check_seal(path: Path) -> None:
    """Raise UserError where the bytes are not those that were sealed. A file without a seal is
    another program's."""
    stat = Path(path).stat()
    if not _is_whole(Path(path), stat.st_size, stat.st_mtime_ns):
        raise UserError(
            f"{path} is damaged; delete it and call the same command again, which makes it again."
        )


@cache  # a task's model is read in two steps
def _is_whole(path: Path, size: int, time: int) -> bool:
    with open(path, "rb") as file:
        try:
            header = _header(file)[1]
            told = json.loads(header).get("__metadata__", {}).get(*OPEN)
        except (ValueError, AttributeError):
            return False
        return told is None or told == _digest(
            header.replace(told.encode(), NONE.encode(), 1), file
        )


def _header(file: BinaryIO) -> tuple[bytes, bytes]:
    length = file.read(8)
    # Another kind of file has any number here.
    return length, file.read(min(int.from_bytes(length, "little"), 100_000_000))


def _digest(header: bytes, rest: BinaryIO) -> str:
    return hashlib.file_digest(rest, lambda: hashlib.sha256(header)).hexdigest()
