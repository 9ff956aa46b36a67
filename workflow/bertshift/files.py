import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bertshift.errors import UserError

# The workflow's rules are read with Snakemake alone, before there is an environment.
if TYPE_CHECKING:
    import pandas as pd

# Columns of tables with names and texts of the user's: "1e3", "01" and "true" are words there.
TEXTS = (
    "id",
    "gold",
    "prediction",
    "answer",
    "example",
    "query_token",
    "key_token",
    "model",
    "reference",
    "child",
    "task",
    "stimuli",
    "series",
    "panel",
    "checkpoint",
    "family",
)
# The most blocks of inputs: leave-one-block-out values are stored next to each table
# (`rows.blocks`).
BLOCKS = 20
BLOCKS_ENDING = ".blocks.npy"


@contextmanager
def atomic(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it takes the final name only if the block ends without
    an exception."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def blocks_beside(table: str) -> str:
    """Name the file with the blocks of the table `<path>.tsv`."""
    return table.removesuffix(".tsv") + BLOCKS_ENDING


def sha256(path: str | os.PathLike) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_text(path: str | os.PathLike, text: str) -> None:
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: str | os.PathLike, value) -> None:
    write_text(
        path,
        json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n",
    )


@contextmanager
def reading(path: str | os.PathLike) -> Iterator[None]:
    """Raise UserError where the block fails to read a file that exists."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror}); put a file there that you have the right"
            " to read."
        ) from error


def read_text(path: str | os.PathLike) -> str:
    """Read a file as text, without a byte order mark. UserError where it cannot be read or, with
    the line, is not UTF-8."""
    with reading(path):
        content = Path(path).read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise not_utf8(path, content.count(b"\n", 0, error.start) + 1) from None


def not_utf8(path: str | os.PathLike, line: int) -> UserError:
    return UserError(f"{path}:{line} is not UTF-8; convert the file to UTF-8 or fetch it again.")


def read_json(path: str | os.PathLike, **options):
    """Read a JSON file. UserError for a file that is not JSON; `options` are those of
    `json.loads`."""
    try:
        return json.loads(read_text(path), **options)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON ({error}); fetch or make it again.") from error


def remembered(path: str | os.PathLike) -> dict:
    """Read the object in a file of the program's own bookkeeping. Such a file can be made again,
    so a missing or damaged one gives an empty object."""
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def read_object(path: str | os.PathLike, **options) -> dict:
    """Read a file that holds one JSON object. UserError for any other file; `options` are those
    of `json.loads`."""
    value = read_json(path, **options)
    if not isinstance(value, dict):
        raise UserError(f"{path} holds no JSON object; fetch or make it again.")
    return value


def write_jsonl(path: str | os.PathLike, rows: Iterable[dict]) -> None:
    with atomic(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def read_jsonl(path: str | os.PathLike) -> Iterator[dict]:
    # Iterating the file splits at "\n" alone: a text may hold U+2028 and its like.
    with open(path, encoding="utf-8", newline="\n") as file:
        try:
            for number, line in enumerate(file, 1):
                yield _parse_row(line, path, number)
        except UnicodeDecodeError as error:
            raise damaged(path, error) from None


def _parse_row(line: str, path: str | os.PathLike, number: int):
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise UserError(
            f"{path}:{number} is not JSON ({error.msg}); delete the file and run its rule again."
        ) from None


def write_tsv(path: str | os.PathLike, table: "pd.DataFrame") -> None:
    """Write a table with ten significant digits: enough for every float32 input, and the same
    bytes for the same numbers."""
    # Joined to an empty table, numbers are objects, which would be written with all their digits.
    table = table.infer_objects()
    with atomic(path) as temporary:
        table.to_csv(temporary, sep="\t", index=False, float_format="%.10g", lineterminator="\n")


def read_tsv(path: str | os.PathLike) -> "pd.DataFrame":
    """Read a table that `write_tsv` wrote. The columns TEXTS are text, whatever they hold.
    UserError for a file that holds none."""
    import pandas as pd

    try:
        # "NA" and "null" are words here, not missing values. A text may hold a lone CR.
        # Tables are small and read piece by piece, for which Arrow's texts take longer.
        with pd.option_context("mode.string_storage", "python"):
            return pd.read_csv(
                path,
                sep="\t",
                dtype=dict.fromkeys(TEXTS, str),
                keep_default_na=False,
                na_values=[""],
                lineterminator="\n",
            )
    except ValueError as error:  # the class of pandas' errors
        raise damaged(path, error) from error


def damaged(path: str | os.PathLike, why: object) -> UserError:
    return UserError(
        f"{path} is damaged ({str(why).strip()}); delete it and call the same command again, which"
        " makes it again."
    )
