"""The comparison of two archives: their claims and figures, both drawn and decided by this version
of the program."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from bertshift.config import read_yaml
from bertshift.errors import UserError
from bertshift.files import read_tsv, write_text, write_tsv
from bertshift.page import compared
from bertshift.page.data import list_values
from bertshift.page.render import render
from bertshift.release.judged import Papers
from bertshift.release.redraw import CLAIMS, lay_out
from bertshift.requests.figures import figure_files, models_of
from bertshift.verdicts.deciding import FAILS, HOLDS, UNTESTED

# Columns of claims: those that identify a claim, those of the paper, and those of a run.
KEYS = ["paper", "figure", "claim"]
PUBLISHED = ["statement", "measure", "published_value"]
MEASURED = ["ours", "low", "high", "replicates", "verdict", "null", "reason", "checkpoint"]
AGREE, OPPOSITE, UNDECIDED, NOT_TESTABLE, ALONE = (
    "agree",
    "opposite",
    "one undecided",
    "not testable",
    "in one archive alone",
)


@dataclass(frozen=True)
class DrawnArchive:
    """An archive that was drawn again below `folder`: its configuration and the names of its
    figures."""

    name: str
    folder: Path
    config: Mapping
    figures: Sequence[str]

    @property
    def claims(self) -> pd.DataFrame:
        return read_tsv(self.folder / CLAIMS)

    def file(self, figure: str, kind: str) -> Path:
        return self.folder / figure_files([figure], kind)[0]

    def numbers(self, figure: str) -> pd.DataFrame:
        return read_tsv(self.file(figure, "tsv"))


def names(paths: Sequence[str]) -> list[str]:
    """Name the archives: by their files without ending, numbered where these are the same."""
    stems = [Path(path).stem for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    return [f"{stem}-{number}" for number, stem in enumerate(stems, 1)]


def claims(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Compare the claims that either table of claims has, one row each: the columns of both
    tables, and whether the verdicts agree."""
    rows = pd.concat([first, second])[[*KEYS, *PUBLISHED]].drop_duplicates(KEYS)
    for name, table in (("first", first), ("second", second)):
        columns = {column: f"{column}_{name}" for column in MEASURED}
        measured = table[[*KEYS, *MEASURED]].rename(columns=columns)
        rows = rows.merge(measured, on=KEYS, how="left")
    verdicts = zip(rows["verdict_first"], rows["verdict_second"], strict=True)
    return rows.assign(verdicts=[agreement(first, second) for first, second in verdicts])


def agreement(first: str | float, second: str | float) -> str:
    """Compare two verdicts. One is missing if its archive does not have the claim."""
    if pd.isna(first) or pd.isna(second):
        return ALONE
    if UNTESTED in (first, second):
        return NOT_TESTABLE
    if first == second:
        return AGREE
    return OPPOSITE if {first, second} == {HOLDS, FAILS} else UNDECIDED


def sentences(rows: pd.DataFrame, names: Sequence[str]) -> Iterator[str]:
    """Put a table of `claims` into words: each claim with different verdicts, with both numbers,
    opposite verdicts first, and counts by paper."""
    if (rows["verdicts"] == ALONE).all():
        yield f"{' and '.join(names)} share no claim."
        return
    for verdicts in (OPPOSITE, UNDECIDED):
        for row in rows[rows["verdicts"] == verdicts].to_dict("records"):
            first = f"{names[0]} {_write_number(row, 'first')}, {_write_verdict(row, 'first')}"
            second = f"{names[1]} {_write_number(row, 'second')}, {_write_verdict(row, 'second')}"
            yield (
                f"{row['paper']}/{row['figure']} {row['claim']}, {row['measure']}: {first};"
                f" {second} ({verdicts})."
            )
    for paper, paper_rows in rows.groupby("paper", sort=False):
        counts = paper_rows["verdicts"].value_counts()
        phrases = [
            f"{counts[verdicts]} {verdicts}"
            for verdicts in (AGREE, OPPOSITE, UNDECIDED, NOT_TESTABLE, ALONE)
            if verdicts in counts
        ]
        yield f"{paper}: verdicts of {len(paper_rows)} claims: {', '.join(phrases)}."


def _write_number(row: Mapping, archive: str) -> str:
    value, low, high = row[f"ours_{archive}"], row[f"low_{archive}"], row[f"high_{archive}"]
    if pd.isna(value):
        return "no number"
    interval = "" if pd.isna(low) else f" [{low:.3g}, {high:.3g}]"
    return f"{value:.3g}{interval}"


def _write_verdict(row: Mapping, archive: str) -> str:
    """Write a verdict, and of one that holds what it holds beside."""
    verdict, null = row[f"verdict_{archive}"], row[f"null_{archive}"]
    return verdict if pd.isna(null) or not null else f"{verdict}, {null}"


def write_page(
    runs: Sequence[DrawnArchive], out: Path, papers: Papers, has_files: bool
) -> list[str]:
    """Write the table of claims and the page below `out`; return sentences about them. The page
    has links to what `write_files` writes, if `has_files`. UserError where they share no
    figure."""
    shared = _list_shared(runs)
    if not shared:
        first, second = runs
        raise UserError(
            f"{first.name} and {second.name} share no figure: {', '.join(first.figures)} in the"
            f" one, {', '.join(second.figures)} in the other."
        )
    tables = [run.claims for run in runs]
    rows = claims(*tables)
    write_tsv(out / "claims.tsv", rows)
    paper_names = {*rows["paper"], *(name.split("/")[0] for name in shared)}
    published = {paper: read_yaml(papers.published(paper)) for paper in paper_names}
    figures = [_describe_figure(name, runs, published) for name in shared]
    archives = list(map(_describe_run, runs))
    page = compared.page(archives, figures, _list_claims(rows, tables), published, has_files)
    write_text(out / "index.html", render(page))
    lines = list(sentences(rows, [run.name for run in runs]))
    for run in runs:
        alone = [name for name in run.figures if name not in shared]
        if alone:
            lines.append(f"In {run.name} alone: {', '.join(alone)}.")
    return lines


def write_files(runs: Sequence[DrawnArchive], out: Path) -> None:
    """Write the numbers of each figure that both archives have below `out`, and all that each
    archive shows in a folder of its name."""
    for name in _list_shared(runs):
        tables = [run.numbers(name).assign(archive=run.name) for run in runs]
        write_tsv(out / f"{name}.tsv", pd.concat(tables, ignore_index=True))
    for run in runs:
        lay_out(run.folder, out / run.name)


def _list_shared(runs: Sequence[DrawnArchive]) -> list[str]:
    first, second = runs
    return [name for name in first.figures if name in second.figures]


def _list_claims(rows: pd.DataFrame, tables: Sequence[pd.DataFrame]) -> list[dict]:
    """List the claims for the page, with the row of each table or None."""

    def identify(row: Mapping) -> tuple:
        return tuple(row[key] for key in KEYS)

    sides = [{identify(row): row for row in table.to_dict("records")} for table in tables]
    return [
        {
            "paper": row["paper"],
            "agree": row["verdicts"],
            "sides": [side.get(identify(row)) for side in sides],
        }
        for row in rows.to_dict("records")
    ]


def _describe_figure(name: str, runs: Sequence[DrawnArchive], published: Mapping) -> dict:
    numbers = {run.name: run.numbers(name) for run in runs}
    captions = [run.file(name, "txt").read_text(encoding="utf-8") for run in runs]
    pictures = [run.file(name, "png") for run in runs]
    models = dict.fromkeys(model for run in runs for model in models_of(run.config, name))
    paper = name.split("/")[0]
    layers = published[paper].get("paper", {}).get("layers")
    return compared.figure(name, numbers, captions, pictures, list(models), layers)


def _describe_run(run: DrawnArchive) -> dict:
    tables = list(map(run.numbers, run.figures))
    rows = pd.concat(
        [table.loc[table["source"] == "ours", ["scale", "checkpoint"]] for table in tables]
    )
    return {
        "name": run.name,
        "scales": list_values(rows["scale"]),
        "checkpoints": list_values(rows["checkpoint"]),
        "figures": len(run.figures),
    }
