import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from bertshift import files
from bertshift.errors import UserError

# JSON can spell half of a character, which no file can hold.
_HALF = re.compile("[\ud800-\udfff]")
# csv's form of a cell: in quotation marks, with those inside doubled, or without any.
_CELL = r'"(?:[^"]|"")*"|[^"\t]*'
_CELLS = re.compile(rf"(?:^|\t)({_CELL})")
_ROW = re.compile(rf"(?:{_CELL})(?:\t(?:{_CELL}))*")


def read_text(path: Path) -> str:
    """Read the file as text, without a byte order mark. Raises UserError as `read_lines` does."""
    with files.reading(path), open(path, "rb") as file:
        _check_start(path, file.read(200))
    return files.read_text(path)


def read_lines(path: Path) -> Iterator[str]:
    """Yield lines without a byte order mark, split at LF and CRLF alone: a text may hold a lone
    CR, U+2028 or U+0085.

    Raises UserError for a file that cannot be read or is empty, for bytes that are not UTF-8 (with
    the line), and for what a failed download leaves behind: a web page, or a Git LFS pointer.
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


def numbered_blocks(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the blocks of lines between blank lines, each with the number of its first line."""
    numbered = enumerate(lines, 1)
    for is_filled, group in groupby(numbered, key=lambda item: bool(item[1].strip())):
        if is_filled:
            block = list(group)
            first, _ = block[0]
            yield first, [line for _, line in block]


def read_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield each line's number and its cells, which tabs separate; a quotation mark is a
    character."""
    for number, line in enumerate(read_lines(path), 1):
        yield number, line.split("\t")


def read_table(path: Path, counts: Counter) -> Iterator[tuple[int, list[str]]]:
    """Yield rows as `read_cells` does. In a file that csv wrote, as pandas and spreadsheets do,
    unquote the cells and count those in quotation marks.

    csv puts each cell that holds a quotation mark in quotation marks and doubles those inside.
    Such a cell may hold tabs and go on in the next line; the number is that of a row's last line.
    """
    if not _is_quoted(path):
        yield from read_cells(path)
        return
    for number, row in _quoted_rows(path):
        cells = _CELLS.findall(row)
        quoted = sum(cell.startswith('"') for cell in cells)
        counts["cells in quotation marks, as csv writes them"] += quoted
        yield number, [_unquote(cell) for cell in cells]


def _is_quoted(path: Path) -> bool:
    """Decide whether csv wrote the file: all cells have csv's form, and csv had to quote one of
    them or all of the first row are quoted. A cell in quotation marks that csv would not need may
    be a text in quotation marks."""
    quoted = False
    for index, (_, row) in enumerate(_quoted_rows(path)):
        if '"' not in row:
            continue
        if not _ROW.fullmatch(row):
            return False
        cells = _CELLS.findall(row)
        if index == 0 and all(cell.startswith('"') for cell in cells):
            quoted = True
        if any(re.search('""|[\t\n]', cell[1:-1]) for cell in cells):
            quoted = True
    return quoted


def _unquote(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell


def _quoted_rows(path: Path) -> Iterator[tuple[int, str]]:
    """Yield rows, each with the number of its last line. A row goes on in the next line while a
    quotation mark is open."""
    lines, quote_open = [], False
    for number, line in enumerate(read_lines(path), 1):
        lines.append(line)
        quote_open ^= line.count('"') % 2 == 1
        if not quote_open:
            yield number, "\n".join(lines)
            lines = []
    if lines:
        yield number, "\n".join(lines)


def _check_start(path: Path, start: bytes) -> None:
    start = start.lstrip().lower()
    if not start:
        raise UserError(f"{path} is empty; write it or fetch it again.")
    if is_web_page(start):
        raise UserError(
            f"{path} is a web page, not data; the download was redirected or refused: fetch it"
            " again."
        )
    if start.startswith(b"version https://git-lfs"):
        raise UserError(
            f"{path} is a Git LFS pointer, not data; run `git lfs pull` where it came from."
        )


def read_records(path: Path) -> Iterator[tuple[str, dict]]:
    """Yield (file and line, object) of a file of JSON lines. Raises UserError as `read_lines`
    does, and for a line that is no JSON object or has half of a character (a lone surrogate)."""
    for number, line in enumerate(read_lines(path), 1):
        where = f"{path}:{number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{where} is not JSON ({error}); write one record a line.") from None
        if not isinstance(record, dict):
            raise UserError(f"{where} is not a record; write a JSON object.")
        if "\\u" in line and not is_text(json.dumps(record, ensure_ascii=False)):
            raise UserError(
                f"{where} has half of a character (a lone surrogate); write the whole character."
            )
        yield where, record


def is_text(value) -> bool:
    """Return whether a value of a JSON file is text that can be written."""
    return isinstance(value, str) and not _HALF.search(value)


def check_columns(path: Path, header: Sequence[str], wanted: Iterable[str], instead: str) -> None:
    """Raise UserError for a header that lacks a column or names one twice. `instead` is the advice
    for a missing column."""
    wanted = sorted(set(wanted))
    if len(header) == 1:
        for separator, plural in ((",", "commas"), (";", "semicolons")):
            names = [_unquote(cell) for cell in header[0].split(separator)]
            if set(wanted) <= set(names):
                raise UserError(
                    f"{path} has {plural} where tabs are read; write it with tabs, as pandas does"
                    " with to_csv(path, sep='\\t', index=False)."
                )
    for name in wanted:
        if name not in header:
            raise UserError(f"{path} has no column {name!r}, only {', '.join(header)}; {instead}.")
        if header.count(name) > 1:
            raise UserError(
                f"{path} has {header.count(name)} columns {name!r}; give each a name of its own."
            )


def is_web_page(start: bytes) -> bool:
    """Return whether a file that begins with `start` is a web page, which a server sends where it
    has no data."""
    return start.lstrip().lower().startswith((b"<!doctype html", b"<html"))
