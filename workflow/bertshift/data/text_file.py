from collections.abc import Iterator
from pathlib import Path

from bertshift.errors import UserError


def read_text(path: Path) -> str:
    """The file as text, without a byte order mark; UserError as of `read_lines`."""
    content = path.read_bytes()
    _check_start(path, content[:200])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf8(path, content.count(b"\n", 0, error.start) + 1) from None


def read_lines(path: Path) -> Iterator[str]:
    """The lines, without a byte order mark, split at LF and CRLF alone: a text may hold a lone CR, U+2028 or U+0085.

    Raises UserError for an empty file, for bytes that are not UTF-8 (with the line), and for what a failed
    download leaves behind: a web page, or a Git LFS pointer.
    """
    with open(path, "rb") as file:
        _check_start(path, file.read(200))
        file.seek(0)
        for number, line in enumerate(file, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise _not_utf8(path, number) from None
            yield text.removesuffix("\n").removesuffix("\r")


def _check_start(path: Path, start: bytes) -> None:
    start = start.lstrip().lower()
    if not start:
        raise UserError(f"{path} is empty; fetch it again.")
    if is_web_page(start):
        raise UserError(
            f"{path} is a web page, not data; the download was redirected or refused: fetch it again."
        )
    if start.startswith(b"version https://git-lfs"):
        raise UserError(f"{path} is a Git LFS pointer, not data; run `git lfs pull` where it came from.")


def _not_utf8(path: Path, line: int) -> UserError:
    return UserError(f"{path}:{line} is not UTF-8; fetch the file again or convert it to UTF-8.")


def is_web_page(start: bytes) -> bool:
    """Whether a file that begins so is what a server sends where it has no data."""
    return start.lstrip().lower().startswith((b"<!doctype html", b"<html"))
