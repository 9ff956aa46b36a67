"""The result of `bertshift.compare`."""

import warnings
from functools import cached_property
from pathlib import Path

from bertshift.api import drawing, report
from bertshift.api.measured import Measurements
from bertshift.api.page import page
from bertshift.api.surroundings import ending_cleanly
from bertshift.errors import UserError
from bertshift.files import write_text, write_tsv


class Change(Measurements):
    """The differences between a model and its reference, with a report, a picture and a page."""

    @cached_property
    def report(self) -> list[str]:
        """What was found, in some sentences, each with its number and interval."""
        return report.sentences(self)

    def plot(self):
        """Draw the profile and every measure by layer, with intervals, nulls and draws of noise: a
        matplotlib Figure. UserError where matplotlib is not installed."""
        return drawing.draw(self)

    @ending_cleanly()
    def write(self, folder: str | Path) -> list[Path]:
        """Write the table, the picture of `plot` and a page to explore, `change.tsv`, `change.png`
        and `index.html`; `texts.tsv` and `words.tsv`; and where answers are compared,
        `behaviour.tsv` and, text by text, `answers.tsv`.

        Returns the files. Those whose packages are not installed are left out with a warning.
        UserError where the folder cannot be made.
        """
        folder = folder_at(folder)
        files = [folder / "change.tsv"]
        write_tsv(files[-1], self.table)
        if self.answers.kind:
            for name, table in (("behaviour", self.behaviour), ("answers", self.answers.texts)):
                files.append(folder / f"{name}.tsv")
                write_tsv(files[-1], table)
        for name, table in (("texts", self.texts), ("words", self.words)):
            if len(table):
                files.append(folder / f"{name}.tsv")
                write_tsv(files[-1], table)
        if drawing.has(drawing.PICTURE):
            files.append(folder / "change.png")
            self.plot().savefig(files[-1], dpi=150)
        if drawing.has(drawing.PAGE):
            files.append(folder / "index.html")
            write_text(files[-1], page(self, self.report))
        if missing_files := drawing.left_out():
            warnings.warn(missing_files, stacklevel=3)  # `ending_cleanly` is between
        return files

    def __str__(self) -> str:
        """Write the report, and two tables by layer: values and intervals."""
        return "\n".join([*self.report, "", report.tables(self)])


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
