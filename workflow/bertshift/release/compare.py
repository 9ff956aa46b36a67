"""Two archives side by side: their claims and figures, both drawn and decided by the program of
today."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from bertshift.config import read_yaml
from bertshift.errors import UserError
from bertshift.files import read_tsv, write_text, write_tsv
from bertshift.page import compared
from bertshift.page.render import render
from bertshift.release.judged import PROGRAMS, Papers
from bertshift.release.redraw import CLAIMS
from bertshift.requests.figures import figure_files, models_of
from bertshift.verdicts.deciding import FAILS, HOLDS, UNTESTED

KEYS = ["paper", "figure", "claim"]
FACTS = ["statement", "measure", "published_value"]
SAYS = ["ours", "low", "high", "replicates", "verdict", "reason", "checkpoint"]
AGREE, OPPOSITE, UNDECIDED, NOT_TESTABLE, ALONE = (
    "agree",
    "opposite",
    "one undecided",
    "not testable",
    "in one archive alone",
)


@dataclass(frozen=True)
class Run:
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


def names(paths: Sequence[str]) -> list[str]:
    """Name the archives: by their files without ending, numbered where these are the same."""
    stems = [Path(path).stem for path in paths]
    return (
        stems
        if len({*stems}) == len(stems)
        else [f"{stem}-{n}" for n, stem in enumerate(stems, 1)]
    )


def claims(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Compare the claims that either table of claims has, one row each: what both say of it, and
    whether the verdicts agree."""
    rows = pd.concat([first, second])[[*KEYS, *FACTS]].drop_duplicates(KEYS)
    for name, table in (("first", first), ("second", second)):
        told = table[[*KEYS, *SAYS]].rename(
            columns={column: f"{column}_{name}" for column in SAYS}
        )
        rows = rows.merge(told, on=KEYS, how="left")
    both = zip(rows["verdict_first"], rows["verdict_second"], strict=True)
    return rows.assign(verdicts=[agreement(*pair) for pair in both])


def agreement(one: str | float, other: str | float) -> str:
    """Compare two verdicts; a missing one is that of a claim which the archive does not have."""
    if pd.isna(one) or pd.isna(other):
        return ALONE
    if UNTESTED in (one, other):
        return NOT_TESTABLE
    if one == other:
        return AGREE
    return OPPOSITE if {one, other} == {HOLDS, FAILS} else UNDECIDED


def sentences(rows: pd.DataFrame, names: Sequence[str]) -> Iterator[str]:
    """Put a table of `claims` into words: each claim that both decide otherwise, with both
    numbers, opposite verdicts first, and counts by paper."""
    shared = rows[rows["verdicts"] != ALONE]
    if shared.empty:
        yield f"{' and '.join(names)} share no claim."
        return
    apart = pd.concat(
        [shared[shared["verdicts"] == verdicts] for verdicts in (OPPOSITE, UNDECIDED)]
    )
    for row in apart.to_dict("records"):
        sides = "; ".join(
            f"{name} {_number(row, place)}, {row[f'verdict_{place}']}"
            for name, place in zip(names, ("first", "second"))
        )
        yield (
            f"{row['paper']}/{row['figure']} {row['claim']}, {row['measure']}: {sides}"
            f" ({row['verdicts']})."
        )
    for paper, of_paper in rows.groupby("paper", sort=False):
        counts = of_paper["verdicts"].value_counts()
        told = ", ".join(
            f"{counts[said]} {said}"
            for said in (AGREE, OPPOSITE, UNDECIDED, NOT_TESTABLE, ALONE)
            if said in counts
        )
        yield f"{paper}: verdicts of {len(of_paper)} claims: {told}."


def _number(row: Mapping, place: str) -> str:
    value, low, high = (row[f"{key}_{place}"] for key in ("ours", "low", "high"))
    if pd.isna(value):
        return "no number"
    return f"{value:.3g}" + ("" if pd.isna(low) else f" [{low:.3g}, {high:.3g}]")


def write(runs: Sequence[Run], out: Path, of: Papers = PROGRAMS) -> list[str]:
    """Write claims, the numbers of each figure that both have, and the page below `out`; return
    sentences on them. UserError where they share no figure."""
    first, second = runs
    if not (shared := [name for name in first.figures if name in second.figures]):
        raise UserError(
            f"{first.name} and {second.name} share no figure: {', '.join(first.figures)} in the"
            f" one, {', '.join(second.figures)} in the other."
        )
    tables = [run.claims for run in runs]
    rows = claims(*tables)
    write_tsv(out / "claims.tsv", rows)
    papers = {*rows["paper"], *(name.split("/")[0] for name in shared)}
    published = {paper: read_yaml(of.published(paper)) for paper in papers}
    figures = []
    for name in shared:
        numbers = {run.name: read_tsv(run.file(name, "tsv")) for run in runs}
        write_tsv(out / f"{name}.tsv", _below(numbers))
        figures.append(_figure(name, runs, numbers, published))
    sides = [
        {tuple(row[key] for key in KEYS): row for row in table.to_dict("records")}
        for table in tables
    ]
    told = []
    for *key, agree in rows[[*KEYS, "verdicts"]].itertuples(index=False):
        claims_of_both = [side.get(tuple(key)) for side in sides]
        told.append({"paper": key[0], "agree": agree, "sides": claims_of_both})
    write_text(
        out / "index.html",
        render(compared.page([_about(run) for run in runs], figures, told, published)),
    )
    apart = [(run.name, [name for name in run.figures if name not in shared]) for run in runs]
    alone = [f"In {name} alone: {', '.join(figures)}." for name, figures in apart if figures]
    return [*sentences(rows, [run.name for run in runs]), *alone]


def _figure(name: str, runs: Sequence[Run], numbers: Mapping, published: Mapping) -> dict:
    captions = [run.file(name, "txt").read_text(encoding="utf-8") for run in runs]
    pictures = [run.file(name, "png") for run in runs]
    models = list(dict.fromkeys(model for run in runs for model in models_of(run.config, name)))
    layers = published[name.split("/")[0]].get("paper", {}).get("layers")
    return compared.figure(name, numbers, captions, pictures, models, layers)


def _below(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Stack every number that either archive draws in a figure; `archive` says which."""
    return pd.concat(
        [table.assign(archive=name) for name, table in tables.items()], ignore_index=True
    )


def _about(run: Run) -> dict:
    tables = [read_tsv(run.file(name, "tsv")).query("source == 'ours'") for name in run.figures]
    facts = {
        key: list(
            dict.fromkeys(
                part
                for table in tables
                for value in table[key].dropna()
                for part in str(value).split("; ")
            )
        )
        for key in ("scale", "checkpoint")
    }
    return {
        "name": run.name,
        "scales": facts["scale"],
        "checkpoints": facts["checkpoint"],
        "figures": len(run.figures),
    }
