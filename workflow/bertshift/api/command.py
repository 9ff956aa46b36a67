"""`bertshift compare A B --texts FILE [--out FOLDER]`: the comparison of two models from a shell."""

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from bertshift.data.text_file import read_lines
from bertshift.errors import UserError


def texts_in(file: Path) -> list[str | tuple[str, ...]]:
    """Read a text from each line; a tab stands between two of a pair. UserError where the file is missing or has an empty line."""
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
                f"{file}:{number} has {line.count(chr(9)) + 1} parts; write a text, or two with a tab between."
            )
    return [tuple(line.split("\t")) if "\t" in line else line for line in lines]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; 1, with the sentence on stderr, for what only the user can put right."""
    asked = _parser().parse_args(arguments)
    try:
        texts = texts_in(asked.texts)
        if asked.out:
            _prepare(asked.out)  # before minutes of work
        from bertshift.api.comparing import compare

        change = compare(
            asked.model,
            asked.reference,
            texts,
            max_length=asked.max_length,
            tokenizer=asked.tokenizer,
            null=asked.null,
            draws=asked.draws,
            progress=True,
        )
        print(change)
        for file in change.write(asked.out) if asked.out else ():
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
        warnings.simplefilter("ignore", UserWarning)  # which would say so again


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bertshift", description="What changed between two models of text.")
    command = parser.add_subparsers(dest="command", required=True).add_parser(
        "compare", help="compare two models layer by layer", description="Compare two models layer by layer."
    )
    command.add_argument("model", help="the changed model: a folder, or a name on the Hugging Face hub")
    command.add_argument(
        "reference", nargs="?", help="what it is compared with; an adapter's own base if left out"
    )
    command.add_argument(
        "--texts",
        type=Path,
        required=True,
        metavar="FILE",
        help="one text a line; a tab stands between two of a pair",
    )
    command.add_argument(
        "--out", type=Path, metavar="FOLDER", help="write change.tsv, change.png and index.html there"
    )
    command.add_argument("--max-length", type=int, metavar="TOKENS", help="cut texts to so many tokens")
    command.add_argument(
        "--tokenizer", metavar="MODEL", help="whose tokenizer to take, where a model has none"
    )
    command.add_argument(
        "--null",
        choices=["noise"],
        help="also measure the reference with noise as large as the model's change",
    )
    command.add_argument("--draws", type=int, default=3, metavar="N", help="how often noise is drawn (3)")
    return parser
