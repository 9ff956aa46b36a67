import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import NamedTuple

from bertshift import files
from bertshift.errors import UserError

# JSON can spell half of a character, which no file can hold.
_HALF = re.compile("[\ud800-\udfff]")
TAB, COMMA = "\t", ","
_SEPARATORS = {TAB: "tabs", COMMA: "commas", ";": "semicolons"}
BLANK = "blank lines"  # a reason to leave them out
# A cell of another program than csv: R's write.table writes a backslash before a quotation mark.
_BACKSLASHED = re.compile(r'"[^"]*(?:\\"[^"]*)+"')


class _Form(NamedTuple):
    """csv's form of a table: a cell is in quotation marks, with those inside doubled, or has
    none."""

    row: re.Pattern  # a whole row
    cells: re.Pattern  # each cell
    needs_quotes: re.Pattern  # inside of a cell


def _form(separator: str) -> _Form:
    cell = rf'"(?:[^"]|"")*"|[^"{separator}]*'
    return _Form(
        re.compile(rf"(?:{cell})(?:{separator}(?:{cell}))*"),
        re.compile(rf"(?:^|{separator})({cell})"),
        re.compile(rf'""|[{separator}\n]'),
    )


_FORMS = {separator: _form(separator) for separator in (TAB, COMMA)}


def read_text(path: Path) -> str:
    """Read the file as text, without a byte order mark. UserError as `read_lines` does."""
    with files.reading(path), open(path, "rb") as file:
        _check_start(path, file.read(200))
    return files.read_text(path)


def read_lines(path: Path) -> Iterator[str]:
    """Yield lines without a byte order mark, split at LF and CRLF alone: a text may hold a lone
    CR, U+2028 or U+0085.

    UserError for a file that cannot be read or is empty, for bytes that are not UTF-8 (with the
    line), and for what a failed download leaves behind: a web page, or a Git LFS pointer.
    """
    with files.reading(path), open(path, "rb") as file:
        start = file.read(200) + file.readline()  # a pipe cannot be read twice
        _check_start(path, start)
        for number, line in enumerate(chain(io.BytesIO(start), file), 1):
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


def read_cells(path: Path, counts: Counter) -> Iterator[tuple[int, list[str]]]:
    """Yield each line's number and its cells, which tabs separate; a quotation mark is a
    character. Blank lines are left out and counted."""
    yield from _split_lines(read_lines(path), counts)


def _split_lines(lines: Iterable[str], counts: Counter) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(lines, 1):
        if line:
            yield number, line.split(TAB)
        else:
            counts[BLANK] += 1


def read_table(path: Path, counts: Counter) -> Iterator[tuple[int, list[str]]]:
    """Yield rows as `read_cells` does. A file that csv wrote, as pandas and spreadsheets do, is
    read as `read_csv` does.

    csv wrote it if all its cells have csv's form, and csv had to quote one of them or all of the
    first row are quoted. A cell in quotation marks that csv would not need may be a text in
    quotation marks. UserError for a row that is not csv's under a header in quotation marks, and
    for quotation marks behind backslashes.
    """
    lines = _rereadable(path)
    if _is_quoted(path, lines()):
        yield from _split_rows(path, lines(), counts, TAB)
    else:
        yield from _split_lines(lines(), counts)


def separator_of(path: Path) -> str:
    """Return what separates the cells of a table: a comma if it ends in .csv, else a tab."""
    return COMMA if path.suffix.lower() == ".csv" else TAB


def read_csv(path: Path, counts: Counter, separator: str = TAB) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a file that csv wrote, unquote its cells and count those in quotation
    marks. Blank lines are left out and counted. UserError for a row that is not csv's.

    csv puts each cell that holds a quotation mark in quotation marks and doubles those inside.
    Such a cell may hold separators and go on in the next line; the number counts lines, up to a
    row's last one.
    """
    yield from _split_rows(path, read_lines(path), counts, separator)


def _split_rows(
    path: Path, lines: Iterable[str], counts: Counter, separator: str
) -> Iterator[tuple[int, list[str]]]:
    form = _FORMS[separator]
    for number, row in _join_quoted_lines(lines):
        if not row:
            counts[BLANK] += 1
            continue
        if not form.row.fullmatch(row):
            raise _not_csv(path, number, row)
        cells = form.cells.findall(row)
        counts["cells in quotation marks, as csv writes them"] += sum(map(_has_quotes, cells))
        yield number, [_unquote(cell) for cell in cells]


def _rereadable(path: Path) -> Callable[[], Iterator[str]]:
    """Return a function that yields a file's lines from the first one on. Those of a pipe, which
    can be read once, are kept."""
    if path.is_file():
        return partial(read_lines, path)
    return list(read_lines(path)).__iter__


def _is_quoted(path: Path, lines: Iterable[str]) -> bool:
    form = _FORMS[TAB]
    header_is_quoted = needs_quotes = False
    for index, (number, row) in enumerate(_join_quoted_lines(lines)):
        if '"' not in row:
            continue
        if not form.row.fullmatch(row):
            if header_is_quoted or any(map(_BACKSLASHED.fullmatch, row.split(TAB))):
                raise _not_csv(path, number, row)
            return False
        cells = form.cells.findall(row)
        if index == 0 and all(map(_has_quotes, cells)):
            header_is_quoted = True
        if any(form.needs_quotes.search(cell[1:-1]) for cell in cells):
            needs_quotes = True
    return header_is_quoted or needs_quotes


def _not_csv(path: Path, last: int, row: str) -> UserError:
    number = last - row.count("\n")
    if '\\"' in row:
        return UserError(
            f'{path}:{number} has quotation marks behind backslashes, \\", as R writes them; write'
            ' the table with write.table(..., qmethod = "double", row.names = FALSE).'
        )
    return UserError(
        f"{path}:{number} is not a row of a table, as a quotation mark is open or stands inside a"
        ' cell; write such a cell as csv does: "He said ""no""".'
    )


def _has_quotes(cell: str) -> bool:
    return cell.startswith('"')


def _unquote(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if _has_quotes(cell) else cell


def _join_quoted_lines(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield rows, each with the number of its last line. A row goes on in the next line while a
    quotation mark is open."""
    parts, quote_open = [], False
    for number, line in enumerate(lines, 1):
        parts.append(line)
        quote_open ^= line.count('"') % 2 == 1
        if not quote_open:
            yield number, "\n".join(parts)
            parts = []
    if parts:
        yield number, "\n".join(parts)


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
    """Yield (file and line, object) of a file of JSON lines; blank lines are left out. UserError
    as `read_lines` does, and for a line that is not a JSON object or has half a character (a lone
    surrogate)."""
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
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


def check_columns(
    path: Path,
    header: Sequence[str],
    wanted: Iterable[str],
    instead: str,
    separator: str = TAB,
) -> None:
    """Raise UserError for a header that lacks a column or names one twice. `instead` is the advice
    for a missing column."""
    wanted = sorted(set(wanted))
    others = _SEPARATORS.keys() - {separator} if len(header) == 1 else ()
    for other in sorted(others):
        names = [_unquote(cell) for cell in header[0].split(other)]
        if len(names) > 1 and set(wanted) <= set(names):
            option = "" if separator == COMMA else f"sep={separator!r}, "
            raise UserError(
                f"{path} has {_SEPARATORS[other]} where {_SEPARATORS[separator]} are read; write"
                f" it with {_SEPARATORS[separator]}, as pandas does with to_csv(path,"
                f" {option}index=False)."
            )
    for name in wanted:
        if name not in header:
            raise UserError(
                f"{path} has no column {name!r}, only {', '.join(map(shown, header))}; {instead}."
            )
        if header.count(name) > 1:
            raise UserError(
                f"{path} has {header.count(name)} columns {name!r}; give each a name of its own."
            )


def describe_width(cells: Sequence[str], header: Sequence[str]) -> str:
    """Describe a row that has more or fewer cells than there are columns."""
    description = f"has {len(cells)} columns where {len(header)} are expected"
    if len(cells) == len(header) + 1 and cells[0].isdecimal():
        description += " (R writes names of rows in such a column; write row.names = FALSE)"
    return description


def shown(name: str) -> str:
    """Return a name as an error shows it: as Python writes it where a reader would not see all of
    it, such as a blank at its end."""
    is_plain = name and name == name.strip() and name.isprintable()
    return name if is_plain else repr(name)


def is_web_page(start: bytes) -> bool:
    """Return whether a file that begins with `start` is a web page, which a server sends where it
    has no data."""
    return start.lstrip().lower().startswith((b"<!doctype html", b"<html"))
