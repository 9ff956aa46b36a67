"""`bertshift compare A [A ...] B --texts FILE [--out FOLDER]`: the comparison of two models from a
shell."""

import argparse
import csv
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from bertshift.data.text_file import read_lines
from bertshift.errors import UserError
from bertshift.version import version

if TYPE_CHECKING:
    from bertshift.api.change import Change

REPEATED = 10  # one side of all lines is labels if its texts occur this often on average


def texts_in(file: Path) -> list[str | tuple[str, ...]]:
    """Read a text from each line; a tab separates the two of a pair. UserError where the file is
    missing or has an empty line."""
    try:
        lines = list(read_lines(file))
    except FileNotFoundError:
        raise UserError(f"{file} does not exist; write a file with one text a line.") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            raise UserError(f"{file}:{number} is empty; delete the line.")
        if "\r" in line:
            raise UserError(f"{file}:{number} has a carriage return; end lines with LF or CRLF.")
        number_parts = len(line.split("\t"))
        if number_parts > 2:
            raise UserError(
                f"{file}:{number} has {number_parts} parts; write a text, or two with a"
                " tab between."
            )
    texts = [tuple(line.split("\t")) if "\t" in line else line for line in lines]
    _check_no_labels(file, [text for text in texts if isinstance(text, tuple)])
    return texts


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


def table_in(file: Path) -> pd.DataFrame:
    """Read a table whose first line names its columns: with commas where the file ends in .csv,
    else with tabs.

    UserError where the file is missing or is no such table.
    """
    has_commas = file.suffix == ".csv"
    try:
        next(read_lines(file))
        with warnings.catch_warnings():
            # Of a first row with too many cells pandas drops the last ones.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                file,
                dtype=str,
                keep_default_na=False,
                encoding="utf-8-sig",
                index_col=False,
                sep="," if has_commas else "\t",
                quoting=csv.QUOTE_MINIMAL if has_commas else csv.QUOTE_NONE,
            )
    except FileNotFoundError:
        raise UserError(
            f"{file} does not exist; write a table with the names of columns in its first line."
        ) from None
    except (ValueError, pd.errors.ParserWarning) as error:
        separator = "commas" if has_commas else "tabs"
        raise UserError(
            f"{file} is no table ({str(error).strip()}); write one with {separator} between"
            " columns."
        ) from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; 1, with the sentence on stderr, for errors that only the user can
    correct."""
    options = _make_parser().parse_args(arguments)
    try:
        change = _compare(options)
        print(change)
        if options.out:
            for file in _write(change, options.out):
                print(file)
    except UserError as error:
        print(f"bertshift: {error}", file=sys.stderr)
        return 1
    return 0


def _compare(options: argparse.Namespace) -> "Change":
    texts = table_in(options.texts) if options.columns else texts_in(options.texts)
    if options.out:
        _prepare_folder(options.out)  # before minutes of work
    from bertshift.api.comparing import compare
    from bertshift.api.measures import MEASURES

    models, reference = options.models, None
    if len(models) > 1:
        *models, reference = models
    return compare(
        models,
        reference,
        texts,
        columns=options.columns,
        measures=options.measures or MEASURES,
        max_length=options.max_length,
        tokenizer=options.tokenizer,
        null=options.null,
        draws=options.draws,
        progress=True,
    )


def _prepare_folder(out: Path) -> None:
    """Make the folder, and say on stderr which files will not be written."""
    from bertshift.api.change import folder_at
    from bertshift.api.drawing import left_out

    folder_at(out)
    if missing_files := left_out():
        print(f"bertshift: {missing_files}", file=sys.stderr)


def _write(change: "Change", out: Path) -> list[Path]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `_prepare_folder` has named the missing files
        return change.write(out)


def _split_names(text: str) -> list[str]:
    return text.split(",")


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bertshift", description="What changed between two models of text."
    )
    parser.add_argument("--version", action="version", version=version())
    command = parser.add_subparsers(dest="command", required=True).add_parser(
        "compare",
        help="compare two models layer by layer",
        description="Compare two models layer by layer.",
    )
    command.add_argument(
        "models",
        nargs="+",
        metavar="MODEL",
        help=(
            "the changed model, or several fine-tuning seeds of one, and then what they are"
            " compared with: folders, or names on the Hugging Face hub; an adapter alone is"
            " compared with its base"
        ),
    )
    options = {
        "texts": ("FILE", Path, "one text a line; a tab stands between two of a pair"),
        "columns": (
            "NAMES",
            _split_names,
            (
                "FILE is a table; read the column of this name in its first line, or two, with a"
                " comma between, for pairs"
            ),
        ),
        "out": ("FOLDER", Path, "write change.tsv, change.png and index.html there"),
        "measures": (
            "NAMES",
            _split_names,
            "some of the measures, with commas between; all if left out",
        ),
        "max-length": ("TOKENS", int, "cut texts to so many tokens"),
        "tokenizer": ("MODEL", str, "whose tokenizer to take, where a model has none"),
    }
    for name, (metavar, kind, text) in options.items():
        command.add_argument(
            f"--{name}", metavar=metavar, type=kind, required=name == "texts", help=text
        )
    command.add_argument(
        "--null",
        choices=["noise"],
        help="also measure the reference with noise as large as the model's change",
    )
    command.add_argument(
        "--draws", type=int, default=3, metavar="N", help="how often noise is drawn (3)"
    )
    return parser
