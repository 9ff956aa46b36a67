"""The numbers of docs/findings.md, and what the text says of them.

A number is a link to a table of docs/real. The link's title names the row, and may say what must
be true of it for the text to stand:

    [.54 [.50, .57]](real/beyond/lora.tsv "panel=rsa, series=a, layer=6; minus: series=b; above 0")

- `column=value` finds the row; `run=` finds the row whose `run` is empty. `column=<name>` names
  the column that is shown, where this is not `value` (of claims: `ours`).
- `minus:` and `over:` name a second row by the columns in which it differs. The number is then
  the difference or the ratio, and its interval is a 95 % t interval over replicates, paired.
- `*` in a value stands for any text without a dot: the link is about every such row, and shows the
  least and the largest number. The second row has the same text in its place.
- `above x` and `below x` must be true of the whole interval, or of the number where there is no
  interval. `not above x` must not be. `holds` and `fails` are the verdicts of a claim.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from bertshift.files import read_tsv

LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])+)\]\(([\w/.-]+\.tsv) \"([^\"]+)\"\)")
SECOND = ("minus", "over")


def in_words(verdict: str, null: object) -> str:
    """Write a verdict, and what a row that holds is beside nulls, as the findings do: `holds more
    than for noise`."""
    verdict = verdict.removesuffix(" at this scale")
    if not isinstance(null, str) or not null:
        return verdict
    return f"{verdict} {null}".replace(" of this size", "").replace("; ", " and ")


def totals(rows: pd.DataFrame, what: str, column: str) -> str:
    """Count the verdicts of rows, or of claims, in the words of the findings."""
    number = rows[column].value_counts()
    untested = number.filter(like="not testable").sum()
    return (
        f"Of its {len(rows)} {what}, {number.get('holds', 0)} hold, {number.get('fails', 0)} fail,"
        f" {number.get('undecided', 0)} are undecided and {untested} are not testable"
    )


def beside_nulls(nulls: pd.Series) -> list[str]:
    """Count what rows that hold are beside each null: `26 are more than for noise of this size`."""
    parts = nulls.dropna().str.split("; ").explode().value_counts()
    return [f"{times} are {words}" for words, times in parts.items()]


class Number(NamedTuple):
    """The rows of a table that make a number, and the number, with its interval or NaN."""

    name: str
    rows: list[pd.Series]
    value: float
    low: float
    high: float


class Link(NamedTuple):
    """A number of the text as it is written, its table, and its title in three parts."""

    text: str
    file: str
    row: str
    second: str
    condition: str


def links(text: str) -> list[Link]:
    return [Link(shown, file, *_parts_of(title)) for shown, file, title in LINK.findall(text)]


def _parts_of(title: str) -> tuple[str, str, str]:
    row, *more = title.split("; ")
    second = [part for part in more if part.startswith(SECOND)]
    condition = [part for part in more if not part.startswith(SECOND)]
    return row, "".join(second), "".join(condition)


@cache
def _ours(file: Path) -> pd.DataFrame:
    table = read_tsv(file)
    return table[table["source"] == "ours"] if "source" in table else table


def _columns(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in re.split(r", (?=\w+=)", text))


def _find_row(table: pd.DataFrame, wanted: dict[str, str], file: Path) -> pd.Series:
    for column, value in wanted.items():
        table = table[table[column].astype("string").fillna("") == value]
    assert len(table) == 1, f"{file}: {wanted} names {len(table)} rows"
    return table.iloc[0]


def _expand(table: pd.DataFrame, wanted: dict[str, str]) -> Iterator[str]:
    """Yield each text that a `*` stands for, in the order of the table; one text without a `*`."""
    starred = [column for column, value in wanted.items() if "*" in value]
    if not starred:
        yield ""
        return
    (column,) = starred
    for name, value in wanted.items():
        if name != column:
            table = table[table[name].astype("string").fillna("") == value]
    pattern = re.escape(wanted[column]).replace(r"\*", "([^.]+)")
    found = table[column].astype("string").str.extract(f"^{pattern}$")[0].dropna()
    assert len(found), f"no row is meant by {wanted}"
    yield from found.unique()


def numbers(folder: Path, link: Link) -> list[Number]:
    """Read the numbers that a link is about, one but for a `*`."""
    table = _ours(folder / link.file)
    wanted = _columns(link.row)
    shown = wanted.pop("column", "ours" if link.file.endswith("claims.tsv") else "value")
    word, _, changes = link.second.partition(": ")
    result = []
    for text in _expand(table, wanted):
        first = {column: value.replace("*", text) for column, value in wanted.items()}
        rows = [_find_row(table, first, folder / link.file)]
        if word:
            second = {
                column: value.replace("*", text) for column, value in _columns(changes).items()
            }
            rows.append(_find_row(table, first | second, folder / link.file))
            estimate = _combine(word, *rows)
        elif shown in ("ours", "value"):
            estimate = [rows[0][shown], rows[0]["low"], rows[0]["high"]]
        else:
            estimate = [rows[0][shown], np.nan, np.nan]
        name = ", ".join(f"{column}={value}" for column, value in first.items())
        result.append(Number(name, rows, *map(float, estimate)))
    return result


def _combine(word: str, first: pd.Series, second: pd.Series) -> list[float]:
    """Subtract or divide two rows, with an interval over replicates."""
    forth, back = (np.asarray, np.asarray) if word == "minus" else (np.log, np.exp)
    value = back(forth(first["value"]) - forth(second["value"]))
    each = forth(_replicates(first)) - forth(_replicates(second))
    if len(each) < 2:
        return [value, np.nan, np.nan]
    half = stats.t.ppf(0.975, len(each) - 1) * each.std(ddof=1) / np.sqrt(len(each))
    return [value, back(each.mean() - half), back(each.mean() + half)]


def _replicates(row: pd.Series) -> np.ndarray:
    """Read the number of each replicate; the one number of what all replicates share."""
    each = str(row["each"]) if pd.notna(row["each"]) else str(row["value"])
    return np.array([float(value) for value in each.split("; ")])


def is_true(condition: str, number: Number) -> bool:
    """Test whether a link's condition is true of a number; of none it is not."""
    if condition in ("holds", "fails"):
        return number.rows[0]["verdict"] == condition
    *negated, side, bound = condition.split(" ")
    assert negated in ([], ["not"]) and side in ("above", "below"), condition
    if np.isnan(number.value):
        return False
    low, high = (number.value, number.value) if np.isnan(number.low) else (number.low, number.high)
    beyond = low > float(bound) if side == "above" else high < float(bound)
    return beyond != bool(negated)


def plain(text: str) -> str:
    """Return a text as it is read, without the addresses of links."""
    return " ".join(re.sub(r"\]\([^)\"]*(?:\"[^\"]*\")?\)", "]", text).split())


def unsupported(sentence: str, folder: Path) -> list[str]:
    """Say of each number that no longer carries a sentence which it is, and why."""
    faults = []
    for link in links(sentence):
        if not link.condition:
            continue
        for number in numbers(folder, link):
            if is_true(link.condition, number):
                continue
            name = f"{number.name}; {link.second}" if link.second else number.name
            faults.append(
                f"«{plain(sentence)}» is no longer so. {link.file}, {name}: {number.value:.3g}"
                f" [{number.low:.3g}, {number.high:.3g}] is to be so: {link.condition}."
            )
    return faults
