import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bertshift import files
from bertshift.errors import UserError

# JSON can spell half of a character, which no file can hold.
_HALF = re.compile("[\ud800-\udfff]")


def read_text(path: Path) -> str:
    """Read the file as text, without a byte order mark. Raises UserError as `read_lines` does."""
    with files.reading(path), open(path, "rb") as file:
        _check_start(path, file.read(200))
    return files.read_text(path)


def read_lines(path: Path) -> Iterator[str]:
    """Yield lines without a byte order mark, split at LF and CRLF alone: a text may hold a lone CR, U+2028 or U+0085.

    Raises UserError for a file that cannot be read or is empty, for bytes that are not UTF-8 (with the line), and for
    what a failed download leaves behind: a web page, or a Git LFS pointer.
    """
    with files.reading(path), open(path, "rb") as file:
        _check_start(path, file.read(200))
        file.seek(0)
        for number, line in enumerate(file, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise files.not_utf8(path, number) from None
            yield text.removesuffix("\n").removesuffix("\r")


def _check_start(path: Path, start: bytes) -> None:
    start = start.lstrip().lower()
    if not start:
        raise UserError(f"{path} is empty; write it or fetch it again.")
    if is_web_page(start):
        raise UserError(
            f"{path} is a web page, not data; the download was redirected or refused: fetch it again."
        )
    if start.startswith(b"version https://git-lfs"):
        raise UserError(f"{path} is a Git LFS pointer, not data; run `git lfs pull` where it came from.")


def read_records(path: Path) -> Iterator[tuple[str, dict]]:
    """Yield (file and line, object) of a file of JSON lines. Raises UserError as `read_lines` does, and for a line
    that is no JSON object or has half of a character (a lone surrogate)."""
    for number, line in enumerate(read_lines(path), 1):
        where = f"{path}:{number}"
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{where} is not JSON ({error}); write one record a line.") from None
        if not isinstance(found, dict):
            raise UserError(f"{where} is not a record; write a JSON object.")
        if "\\u" in line and not is_text(json.dumps(found, ensure_ascii=False)):
            raise UserError(f"{where} has half of a character (a lone surrogate); write the whole character.")
        yield where, found


def is_text(value) -> bool:
    """Tell whether a value of a JSON file is text that can be written."""
    return isinstance(value, str) and not _HALF.search(value)


def check_columns(path: Path, header: Sequence[str], wanted: Iterable[str], instead: str) -> None:
    """Raise UserError for a header that lacks a column, saying what to do `instead`, or that names one twice."""
    for name in sorted(set(wanted)):
        if name not in header:
            raise UserError(f"{path} has no column {name!r}, only {', '.join(header)}; {instead}.")
        if header.count(name) > 1:
            raise UserError(f"{path} has {header.count(name)} columns {name!r}; give each a name of its own.")


def is_web_page(start: bytes) -> bool:
    """Tell whether a file that begins with `start` is a web page, which a server sends where it has no data."""
    return start.lstrip().lower().startswith((b"<!doctype html", b"<html"))
