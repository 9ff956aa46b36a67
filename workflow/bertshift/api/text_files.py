"""Files with the texts that two models are compared on."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from bertshift.data.text_file import (
    COMMA,
    check_columns,
    describe_width,
    read_csv,
    read_lines,
    read_table,
    separator_of,
)
from bertshift.errors import UserError

STDIN = Path("/dev/stdin")
REPEATED = 10  # one side of all lines is labels if its texts occur this often on average


def read_columns(file: Path, names: Sequence[str]) -> dict[str, list[str]]:
    """Read these columns of a table whose first line names its columns. Commas separate them where
    the file ends in .csv, else tabs. UserError where there is no such file or table."""
    try:
        rows = _read_rows(file)
        _, header = next(rows)
    except FileNotFoundError:
        raise UserError(
            f"{file} does not exist; write a table with the names of columns in its first line."
        ) from None
    check_columns(file, header, names, "correct --columns", separator_of(file))
    columns = {name: [] for name in names}
    for number, cells in rows:
        if len(cells) != len(header):
            raise UserError(
                f"{file}:{number} {describe_width(cells, header)}; correct it, or write the table"
                " as csv does, with quotation marks around a cell that holds the separator."
            )
        row = dict(zip(header, cells, strict=True))
        for name, column in columns.items():
            column.append(row[name])
    return columns


def read_texts(file: Path) -> list[str | tuple[str, ...]]:
    """Read a text from each line, or the two of a pair: a tab separates them, or a comma where the
    file ends in .csv. Cells of .tsv and .csv may be in csv's quotation marks.

    UserError where the file is missing, has an empty line or has labels where texts belong.
    """
    try:
        rows = list(_read_parts(file))
    except FileNotFoundError:
        raise UserError(f"{file} does not exist; write a file with one text a line.") from None
    for number, parts in rows:
        if not any(map(str.strip, parts)):
            raise UserError(f"{file}:{number} is empty; delete the line.")
        if any("\r" in part for part in parts):
            raise UserError(f"{file}:{number} has a carriage return; end lines with LF or CRLF.")
        if len(parts) > 2:
            raise UserError(
                f"{file}:{number} has {len(parts)} parts; write a text or two in each line, or"
                " name the columns in a first line and choose them with --columns."
            )
    texts = [tuple(parts) if len(parts) == 2 else parts[0] for _, parts in rows]
    _check_no_labels(file, [text for text in texts if isinstance(text, tuple)])
    return texts


def read_labels(file: Path) -> list[str]:
    """Read a label from each line; blank lines at the end are left out. UserError where the file
    is missing or has an empty line."""
    try:
        labels = [line.strip() for line in read_lines(file)]
    except FileNotFoundError:
        raise UserError(f"{file} does not exist; write a file with one label a line.") from None
    while labels and not labels[-1]:
        labels.pop()
    for number, label in enumerate(labels, 1):
        if not label:
            raise UserError(f"{file}:{number} is empty; write the label of text {number}.")
    return labels


def _read_parts(file: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the texts of each row. Blank lines at the end are left out."""
    if file.suffix.lower() in (".tsv", ".csv"):
        yield from _read_rows(file)
        return
    blank = []
    for number, line in enumerate(read_lines(file), 1):
        blank.append((number, line.split("\t")))
        if line.strip():
            yield from blank
            blank = []


def _read_rows(file: Path) -> Iterator[tuple[int, list[str]]]:
    if separator_of(file) == COMMA:
        return read_csv(file, Counter(), COMMA)
    return read_table(file, Counter())


def _check_no_labels(file: Path, pairs: list[tuple[str, ...]]) -> None:
    """Raise UserError where one side of all pairs is not text: one short word in each line, or the
    same few words again and again."""
    for side, parts in zip(("first", "second"), zip(*pairs)):
        # Not every language writes spaces between words.
        has_texts = any(len(part.split()) > 1 or not part.isascii() for part in parts)
        is_repeated = len(set(parts)) * REPEATED <= len(parts)
        if is_repeated or not has_texts:
            raise UserError(
                f"{file}: what is {side} in its lines looks like labels, such as {parts[0]!r}, not"
                " like texts; leave it out, or name the columns in a first line and choose them"
                " with --columns."
            )
