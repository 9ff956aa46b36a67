"""`bertshift compare A [A ...] B --texts FILE [--out FOLDER]`, the comparison of two models from a
shell, `bertshift weights A B [--out FOLDER]`, that of their weights alone, and `bertshift along
FOLDER REFERENCE --texts FILE [--out FOLDER]`, that of the checkpoints of a training."""

import argparse
import errno
import os
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertshift.api.text_files import STDIN, read_columns, read_labels, read_texts
from bertshift.errors import UserError

# What takes long to import is imported inside `main`, where an interrupt prints no traceback.
if TYPE_CHECKING:
    from bertshift.api.change import Change
    from bertshift.api.course import Course
    from bertshift.api.weights import Weights

ENDED_BY = 128  # shells add it to the number of a signal


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; 1, with the sentence on stderr, for errors that only the user can
    correct. Where nobody reads the output any more, the code is a shell's for the signal."""
    try:
        with _ended_by_interrupts():
            try:
                return _run(arguments)
            finally:
                sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return ENDED_BY + signal.SIGPIPE
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _drop_output()
        print(
            f"bertshift: a disk is full, that of the output or of {tempfile.gettempdir()}, which"
            " takes half a gigabyte a model; free some space, or name another folder in TMPDIR.",
            file=sys.stderr,
        )
        return 1


@contextmanager
def _ended_by_interrupts() -> Iterator[None]:
    """Let Ctrl-C end the process in the block as other signals do, without a traceback. A handler
    of the caller's stays."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) != signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _run(arguments: Sequence[str] | None) -> int:
    options = _make_parser().parse_args(arguments)
    try:
        change = COMMANDS[options.command](options)
        files = _write(change, options.out) if options.out else []
    except UserError as error:
        print(f"bertshift: {error}", file=sys.stderr)
        return 1
    print(change, *files, sep="\n")
    return 0


def _drop_output() -> None:
    """Let what is still to be written to stdout go nowhere, so that Python can end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _compare(options: argparse.Namespace) -> "Change":
    file = STDIN if str(options.texts) == "-" else options.texts
    labels = None
    if options.columns:
        # One reading, as a pipe has no second one.
        columns = [*options.columns, *filter(None, [options.labels])]
        texts = read_columns(file, columns)
        labels = options.labels
    else:
        texts = read_texts(file)
        if options.labels:
            labels = read_labels(Path(options.labels))
    if options.out:
        _prepare_folder(options.out, "change.png")
    from bertshift.api.comparing import compare
    from bertshift.api.measures import CHOICES

    models, reference = options.models, None
    if len(models) > 1:
        *models, reference = models
    return compare(
        models,
        reference,
        texts,
        columns=options.columns,
        labels=labels,
        measures=options.measures or CHOICES,
        max_length=options.max_length,
        tokenizer=options.tokenizer,
        null=options.null,
        draws=options.draws,
        progress=True,
    )


def _weigh(options: argparse.Namespace) -> "Weights":
    from bertshift.api.weights import weights

    if options.out:
        _prepare_folder(options.out, "weights.png")
    return weights(
        options.model, options.reference, options.third, rank=options.rank, progress=True
    )


def _follow(options: argparse.Namespace) -> "Course":
    texts = read_texts(STDIN if str(options.texts) == "-" else options.texts)
    from bertshift.api.along import along
    from bertshift.api.measures import CHOICES

    if options.out:
        _prepare_folder(options.out, "steps.png")
    checkpoints = options.checkpoints
    return along(
        checkpoints[0] if len(checkpoints) == 1 else checkpoints,
        options.reference,
        texts,
        measures=options.measures or CHOICES,
        max_length=options.max_length,
        tokenizer=options.tokenizer,
        progress=True,
    )


COMMANDS = {"compare": _compare, "weights": _weigh, "along": _follow}


def _prepare_folder(out: Path, picture: str) -> None:
    """Before minutes of work, make the folder, and say on stderr which files will not be
    written."""
    from bertshift.api.drawing import left_out
    from bertshift.api.writing import folder_at

    folder_at(out)
    if missing_files := left_out(picture):
        print(f"bertshift: {missing_files}", file=sys.stderr)


def _write(change: "Change | Course | Weights", out: Path) -> list[Path]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `_prepare_folder` has named the missing files
        return change.write(out)


def _split_names(text: str) -> list[str]:
    return text.split(",")


def _make_parser() -> argparse.ArgumentParser:
    from bertshift.version import version

    parser = argparse.ArgumentParser(
        prog="bertshift", description="What changed between two models of text."
    )
    parser.add_argument("--version", action="version", version=version())
    commands = parser.add_subparsers(dest="command", required=True)
    _add_weights(commands)
    _add_along(commands)
    command = commands.add_parser(
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
        "texts": (
            "FILE",
            Path,
            "one text a line; a tab stands between two of a pair; - reads standard input",
        ),
        "columns": (
            "NAMES",
            _split_names,
            (
                "FILE is a table; read the column of this name in its first line, or two, with a"
                " comma between, for pairs"
            ),
        ),
        "labels": (
            "FILE",
            str,
            (
                "the right answers of the texts, for models that classify them: one a line, or"
                " with --columns the name of another column"
            ),
        ),
        "out": ("FOLDER", Path, "write change.tsv, change.png and index.html there"),
        "measures": (
            "NAMES",
            _split_names,
            "some of the measures, with commas between; all if left out",
        ),
        "max-length": ("TOKENS", int, "cut texts to this number of tokens"),
        "tokenizer": ("MODEL", str, "whose tokenizer to take, where a model has none"),
    }
    for name, (metavar, kind, text) in options.items():
        command.add_argument(
            f"--{name}", metavar=metavar, type=kind, required=name == "texts", help=text
        )
    command.add_argument(
        "--null",
        choices=["noise", "texts"],
        help=(
            "also measure the reference with noise as large as the model's change; or, for models"
            " without a common parent, with its texts in other orders"
        ),
    )
    command.add_argument(
        "--draws",
        type=int,
        metavar="N",
        help="how often noise is drawn (3), or an order of texts (19)",
    )
    return parser


def _add_weights(commands: Any) -> None:
    """Add the command `weights` to the commands of a parser."""
    command = commands.add_parser(
        "weights",
        help="compare the weights of two models, without running them",
        description="Compare the weights of two models tensor by tensor, without running them.",
    )
    command.add_argument("model", metavar="MODEL", help="the changed model: a folder, or a name")
    command.add_argument("reference", metavar="REFERENCE", help="what it is compared with")
    command.add_argument(
        "--third", metavar="MODEL", help="compare the direction of the change with this model's"
    )
    command.add_argument(
        "--no-rank", dest="rank", action="store_false", help="leave out the ranks of changes"
    )
    command.add_argument(
        "--out",
        metavar="FOLDER",
        type=Path,
        help="write weights.tsv, weights.png and index.html there",
    )


def _add_along(commands: Any) -> None:
    """Add the command `along` to the commands of a parser."""
    command = commands.add_parser(
        "along",
        help="compare the checkpoints of a training with a reference",
        description="Compare the checkpoints of one training with a reference, step by step.",
    )
    command.add_argument(
        "checkpoints",
        nargs="+",
        metavar="FOLDER",
        help=(
            "a folder with folders checkpoint-*; or the checkpoints themselves, folders or names"
            " that say their steps, such as name@step1000"
        ),
    )
    command.add_argument("reference", metavar="REFERENCE", help="what they are compared with")
    command.add_argument(
        "--texts",
        metavar="FILE",
        type=Path,
        required=True,
        help="one text a line; a tab stands between two of a pair; - reads standard input",
    )
    command.add_argument(
        "--out",
        metavar="FOLDER",
        type=Path,
        help="write steps.tsv, halves.tsv, steps.png and index.html there",
    )
    command.add_argument(
        "--measures", metavar="NAMES", type=_split_names, help="some, with commas; all if left out"
    )
    command.add_argument(
        "--max-length", metavar="TOKENS", type=int, help="cut texts to this number of tokens"
    )
    command.add_argument(
        "--tokenizer", metavar="MODEL", help="whose tokenizer to take, where checkpoints have none"
    )
