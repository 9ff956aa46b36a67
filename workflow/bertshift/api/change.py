"""The result of `bertshift.compare`."""

from functools import cached_property
from pathlib import Path

from bertshift.api import drawing, page, report, writing
from bertshift.api.measured import Measurements


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

    def write(self, folder: str | Path) -> list[Path]:
        """Write the table, the picture of `plot` and a page to explore, `change.tsv`, `change.png`
        and `index.html`; `texts.tsv` and `words.tsv`; and where answers are compared,
        `behaviour.tsv` and, text by text, `answers.tsv`.

        Returns the files. Those whose packages are not installed are left out with a warning.
        UserError where the folder cannot be made.
        """
        tables = {"change.tsv": self.table}
        if self.answers.kind:
            tables |= {"behaviour.tsv": self.behaviour, "answers.tsv": self.answers.texts}
        of_texts = {"texts.tsv": self.texts, "words.tsv": self.words}
        tables |= {name: table for name, table in of_texts.items() if len(table)}
        return writing.write(
            folder, tables, "change.png", self.plot, lambda: page.of_change(self, self.report)
        )

    def __str__(self) -> str:
        """Write the report, and two tables by layer: values and intervals."""
        return "\n".join([*self.report, "", report.tables(self)])
