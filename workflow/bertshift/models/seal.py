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

# The digest is computed with NONE in its place. A file to be sealed is written with the metadata
# OPEN.
KEY = "bertshift_sha256"
NONE = "0" * 64
OPEN = {KEY: NONE}
LENGTH = 8  # bytes before the JSON object


def seal(path: Path) -> None:
    """Write the digest into a file that has OPEN among its metadata."""
    with open(path, "r+b") as file:
        header = read_header(file)
        tensors = json.loads(header)
        # safetensors writes several entries in any order.
        tensors["__metadata__"] = dict(sorted(tensors["__metadata__"].items()))
        text = json.dumps(tensors, separators=(",", ":"), ensure_ascii=False)
        header = text.encode().ljust(len(header))
        digest = _compute_digest(header, file)
        file.seek(LENGTH)
        file.write(header.replace(NONE.encode(), digest.encode(), 1))


def check_seal(path: Path) -> None:
    """Raise UserError where the bytes are not those that were sealed. A file without a seal comes
    from another program and passes."""
    stat = Path(path).stat()
    if not _is_undamaged(Path(path), stat.st_size, stat.st_mtime_ns):
        raise UserError(
            f"{path} is damaged; delete it and call the same command again, which makes it again."
        )


@cache  # a task's model is read in two steps
def _is_undamaged(path: Path, size: int, time: int) -> bool:
    with open(path, "rb") as file:
        try:
            header = read_header(file)
            sealed = json.loads(header).get("__metadata__", {}).get(KEY)
        except (ValueError, AttributeError):
            return False
        if sealed is None:
            return True
        unsealed = header.replace(sealed.encode(), NONE.encode(), 1)
        return sealed == _compute_digest(unsealed, file)


def read_header(file: BinaryIO) -> bytes:
    """Read the JSON object at the beginning of a safetensors file, without its length."""
    length = int.from_bytes(file.read(LENGTH), "little")
    # Another kind of file has any number here.
    return file.read(min(length, 100_000_000))


def _compute_digest(header: bytes, rest: BinaryIO) -> str:
    return hashlib.file_digest(rest, lambda: hashlib.sha256(header)).hexdigest()
