from pathlib import Path

from bertshift.errors import UserError


def read_text(path: Path) -> str:
    """The file as text, without a byte order mark.

    Raises UserError for an empty file, for bytes that are not UTF-8 (with the line), and for what a failed
    download leaves behind: a web page, or a Git LFS pointer.
    """
    content = path.read_bytes()
    start = content[:200].lstrip().lower()
    if not start:
        raise UserError(f"{path} is empty; fetch it again.")
    if is_web_page(start):
        raise UserError(
            f"{path} is a web page, not data; the download was redirected or refused: fetch it again."
        )
    if start.startswith(b"version https://git-lfs"):
        raise UserError(f"{path} is a Git LFS pointer, not data; run `git lfs pull` where it came from.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}:{line} is not UTF-8; fetch the file again or convert it to UTF-8.") from None


def is_web_page(start: bytes) -> bool:
    """Whether a file that begins so is what a server sends where it has no data."""
    return start.lstrip().lower().startswith((b"<!doctype html", b"<html"))


def read_lines(path: Path) -> list[str]:
    """The lines of `read_text`, split at LF and CRLF alone: a text may hold a lone CR, U+2028 or U+0085."""
    lines = read_text(path).split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
