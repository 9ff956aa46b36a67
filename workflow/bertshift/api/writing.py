"""What a result writes into a folder: tables, a picture and a page."""

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from bertshift.api import drawing
from bertshift.api.surroundings import ending_cleanly
from bertshift.errors import UserError
from bertshift.files import write_text, write_tsv

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@ending_cleanly()
def write(
    folder: str | Path,
    tables: Mapping[str, pd.DataFrame],
    picture: str,
    plot: Callable[[], "Figure"],
    page: Callable[[], str],
) -> list[Path]:
    """Write tables by the names of their files, the picture and the page index.html; return the
    files. Those whose packages are not installed are left out with a warning.

    UserError where the folder cannot be made.
    """
    folder = folder_at(folder)
    files = []
    for name, table in tables.items():
        files.append(folder / name)
        write_tsv(files[-1], table)
    if drawing.has(drawing.PICTURE):
        files.append(folder / picture)
        plot().savefig(files[-1], dpi=150)
    if drawing.has(drawing.PAGE):
        files.append(folder / "index.html")
        write_text(files[-1], page())
    if missing_files := drawing.left_out(picture):
        warnings.warn(missing_files, stacklevel=4)  # `ending_cleanly` is between
    return files


def folder_at(path: str | Path) -> Path:
    """Return the folder, and make it if it does not exist. UserError where it cannot be made."""
    folder = Path(path).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{path} is not a folder and cannot be made one ({error.strerror}); name another."
        ) from None
    return folder
