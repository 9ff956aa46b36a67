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

REPEATED = 10  # lines for each different text on one side, from which on these are labels


def texts_in(file: Path) -> list[str | tuple[str, ...]]:
    """Read a text from each line; a tab stands between two of a pair. UserError where the file is
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
        if line.count("\t") > 1:
            raise UserError(
                f"{file}:{number} has {line.count(chr(9)) + 1} parts; write a text, or two with a"
                " tab between."
            )
    texts = [tuple(line.split("\t")) if "\t" in line else line for line in lines]
    _check_no_labels(file, [text for text in texts if isinstance(text, tuple)])
    return texts


def _check_no_labels(file: Path, pairs: list[tuple[str, ...]]) -> None:
    """Raise UserError where one side of all pairs is no text: a word in each line, or the same few
    words again and again."""
    for side, parts in zip(("first", "second"), zip(*pairs)):
        if not any(len(part.split()) > 1 for part in parts) or len(set(parts)) * REPEATED <= len(
            parts
        ):
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
    comma = file.suffix == ".csv"
    how = {"sep": ","} if comma else {"sep": "\t", "quoting": csv.QUOTE_NONE}
    try:
        next(read_lines(file))
        return pd.read_csv(
            file, dtype=str, keep_default_na=False, encoding="utf-8-sig", index_col=False, **how
        )
    except FileNotFoundError:
        raise UserError(
            f"{file} does not exist; write a table with the names of columns in its first line."
        ) from None
    except ValueError as error:
        separator = "commas" if comma else "tabs"
        raise UserError(
            f"{file} is no table ({str(error).strip()}); write one with {separator} between"
            " columns."
        ) from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; 1, with the sentence on stderr, for what only the user can put right."""
    asked = _parser().parse_args(arguments)
    try:
        texts = table_in(asked.texts) if asked.columns else texts_in(asked.texts)
        if asked.out:
            _prepare(asked.out)  # before minutes of work
        from bertshift.api.comparing import compare

        *models, reference = asked.models if len(asked.models) > 1 else [*asked.models, None]
        change = compare(
            models,
            reference,
            texts,
            columns=asked.columns,
            max_length=asked.max_length,
            tokenizer=asked.tokenizer,
            null=asked.null,
            draws=asked.draws,
            progress=True,
            **{"measures": asked.measures} if asked.measures else {},
        )
        print(change)
        for file in _written(change, asked.out) if asked.out else ():
            print(file)
    except UserError as error:
        print(f"bertshift: {error}", file=sys.stderr)
        return 1
    return 0


def _prepare(out: Path) -> None:
    """Make the folder, and say on stderr which files will not be written."""
    from bertshift.api.change import folder_at
    from bertshift.api.drawing import left_out

    folder_at(out)
    if lacking := left_out():
        print(f"bertshift: {lacking}", file=sys.stderr)


def _written(change: "Change", out: Path) -> list[Path]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `_prepare` has said what is not written
        return change.write(out)


def _names(text: str) -> list[str]:
    return text.split(",")


def _parser() -> argparse.ArgumentParser:
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
            _names,
            (
                "FILE is a table; read the column of this name in its first line, or two, with a"
                " comma between, for pairs"
            ),
        ),
        "out": ("FOLDER", Path, "write change.tsv, change.png and index.html there"),
        "measures": (
            "NAMES",
            _names,
            "some of the measures, with commas between; all if left out",
        ),
        "max-length": ("TOKENS", int, "cut texts to so many tokens"),
        "tokenizer": ("MODEL", str, "whose tokenizer to take, where a model has none"),
    }
    for name, (metavar, kind, what) in options.items():
        command.add_argument(
            f"--{name}", metavar=metavar, type=kind, required=name == "texts", help=what
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
