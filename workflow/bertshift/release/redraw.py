"""Draw an archived run again, decide its claims and make its page with this version of the
program, from its tables alone."""

import re
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatch
from itertools import permutations
from pathlib import Path
from zipfile import ZipFile

import pandas as pd
import yaml

from bertshift.config import load_config, merge, read_yaml
from bertshift.errors import UserError
from bertshift.figures import style
from bertshift.files import BLOCKS_ENDING, read_tsv, write_text, write_tsv
from bertshift.naming import is_of_null, is_pair
from bertshift.page.make import make
from bertshift.papers import catalogue
from bertshift.papers.by_name import draw
from bertshift.release.archive import SUMS, damages, read
from bertshift.release.archive import opened as opened_at
from bertshift.release.contents import FIGURES, RESOLVED
from bertshift.release.judged import PROGRAMS, Papers
from bertshift.requests import figures
from bertshift.requests.activations import EXAMPLES
from bertshift.rows.table import Table
from bertshift.shipped import ROOT
from bertshift.verdicts.multiplicity import with_claim_verdicts
from bertshift.version import stamped

CLAIMS_OF = "results/claims/{paper}.tsv"
CLAIMS = "results/claims.tsv"
SCORES = "results/scores.tsv"
PAGE = "results/figures/index.html"
KINDS = ("png", "pdf", "tsv", "txt")
DRAWN = "is drawn."  # the end of the note about a figure that is drawn
READ_BY_PAGE = {"png", "tsv", "txt"}
TABLE_ENDINGS = (".tsv", BLOCKS_ENDING, ".json")
# Keys of a configuration that do not change a figure, and may differ between versions.
UNUSED = ("experiments", "cluster")


def prepare(
    path: str, folder: Path, options: Mapping, only: Collection[str] = (), more: Iterable[str] = ()
) -> dict:
    """Unpack the tables of an archive below `folder`, and return the configuration of its figures.

    path: the archive
    options: keys that replace those of the archive's configuration
    only: the figures that will be drawn, as for `redraw`; all if empty
    more: archives with further tables for the same figures; their tables, and the keys of their
        configuration, replace those of the archives before

    UserError for a file that is not such an archive, and for a name in `only` that it has no
    figure for.
    """
    with opened_at(path) as archive:
        unpack(archive, folder)
        replaced: dict = {}
        for further in more:
            with opened_at(further) as further_archive:
                unpack(further_archive, folder)
                replaced = merge(replaced, _read_configuration(further_archive))
        config = configuration(archive, merge(replaced, options))
    try:
        chosen(config, only)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    return config


def unpack(archive: ZipFile, folder: Path) -> None:
    """Unpack the tables of an archive below `folder`, with their blocks and the examples.
    UserError for an archive that is damaged, has no tables, or has files outside of its folder."""
    names = [name for name in archive.namelist() if name != SUMS]
    for name in names:
        path = Path(name)
        if path.is_absolute() or ".." in path.parts:
            raise UserError(
                f"{archive.filename}: {name} would lie outside of the archive's folder; fetch it"
                " again."
            )
    problems = damages(archive)
    if problems:
        raise UserError(f"{archive.filename}: {problems[0]} Fetch it again.")
    if RESOLVED not in names:
        raise UserError(
            f"{archive.filename} has no {RESOLVED}; name an archive that `make release` wrote."
        )
    results = [
        name for name in names if name.startswith("results/") and not name.startswith(FIGURES)
    ]
    tables = [name for name in results if name.endswith(TABLE_ENDINGS)]
    if not tables:
        raise UserError(
            f"{archive.filename} has no tables below results/; name an archive of a finished run."
        )
    for name in tables:
        try:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(read(archive, name))
        except OSError as error:
            raise UserError(
                f"{archive.filename}: {name} cannot be unpacked ({error.strerror}); fetch it"
                " again."
            ) from None


def configuration(archive: ZipFile, options: Mapping) -> dict:
    """Read the archive's configuration, with `options` on top. Figures are added that it does not
    name and this program ships."""
    archived = _read_configuration(archive)
    config = load_config(merge(archived, options), ROOT)
    shipped = read_yaml(ROOT / "config/experiments.yaml")["figures"]
    for paper, items in shipped.items():
        for item, entry in items.items():
            if item in archived["figures"].get(paper, {}):
                continue
            try:
                catalogue.check(config | {"figures": {paper: {item: entry}}})
            except UserError:
                continue  # it shows models that this run does not know
            config["figures"].setdefault(paper, {}).setdefault(item, entry)
    catalogue.check(config)
    return config


def _read_configuration(archive: ZipFile) -> dict:
    """Read the configuration of the archive's run. UserError if another program wrote it."""
    source = f"{archive.filename}: {RESOLVED}"
    try:
        config = yaml.safe_load(read(archive, RESOLVED))
    except yaml.YAMLError:
        raise UserError(
            f"{source} is not YAML; name an archive that `make release` wrote."
        ) from None
    papers = config.get("figures") if isinstance(config, dict) else None
    if not isinstance(papers, dict) or not all(isinstance(p, dict) for p in papers.values()):
        raise UserError(f"{source} names no figures; it is not of this program.")
    for key in UNUSED:
        config.pop(key, None)
    try:
        catalogue.check(load_config(config, ROOT))
    except UserError as error:
        lines = str(error).splitlines()
        problem = lines[1] if len(lines) > 1 else lines[0]
        raise UserError(
            f"{source} is not of this program, or of another version: {problem.strip()}"
        ) from None
    return config


def chosen(config: Mapping, only: Collection[str] = ()) -> list[str]:
    """List `<paper>/<item>` of the configuration's figures: all, or those of `only`, each a paper
    or a figure. UserError for a name of neither."""
    names = figures.figures_of(catalogue.PAPERS, config)
    papers = {name: name.split("/")[0] for name in names}
    for choice in only:
        if choice not in papers.keys() | set(papers.values()):
            raise UserError(
                f"'{choice}' is neither a paper nor a figure of this archive; there are"
                f" {', '.join(names)}."
            )
    if not only:
        return names
    return [name for name in names if name in only or papers[name] in only]


def redraw(
    folder: Path,
    config: Mapping,
    note: Callable[[str], None],
    only: Collection[str] = (),
    papers: Papers = PROGRAMS,
    without: Collection[str] = (),
) -> list[str]:
    """Draw the figures for which the tables below `folder` suffice, below
    `folder`/results/figures, with scores, page and claims. Returns the names of the figures.

    note: called for each figure, and for each that is left out
    only: the figures to draw, each a paper or `<paper>/<item>`; all if empty
    papers: whose claims are decided
    without: patterns of files that are not kept, such as `*.pdf`

    UserError where there is no figure.
    """
    claims: dict[str, pd.DataFrame] = {}
    absent = {}
    for name in chosen(config, only):
        absent[name] = [kind for kind in KINDS if _matches(f"{name}.{kind}", without)]
        kinds = [kind for kind in KINDS if kind in READ_BY_PAGE or kind not in absent[name]]
        try:
            claims[name] = _draw_figure(folder, config, name, papers, kinds)
            note(f"{name} {DRAWN}")
        except UserError as error:
            note(f"{name} is left out: {_shorten_error(error, folder)}.")
    if not claims:
        raise UserError(
            "no figure can be drawn from these tables; name an archive of a finished run."
        )
    _write_claims(folder, claims)
    scores = [folder / f"results/scores/{model}.tsv" for model in config["scored"]]
    scores = list(filter(Path.is_file, scores))
    if scores:
        write_tsv(folder / SCORES, pd.concat(map(read_tsv, scores)))
    page = _make_page(folder, config, {name: absent[name] for name in claims}, papers)
    write_text(folder / PAGE, page)
    for name in claims:
        for kind in READ_BY_PAGE.intersection(absent[name]):
            _figure_file(folder, name, kind).unlink()
    return list(claims)


def _matches(name: str, patterns: Collection[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _write_claims(folder: Path, claims: Mapping[str, pd.DataFrame]) -> None:
    """Write a table of claims for each paper, and one of all papers."""
    files = []
    for paper in catalogue.PAPERS:
        # In the order of the names, as in the workflow's rule of claims.
        names = sorted(name for name in claims if name.startswith(f"{paper}/"))
        if names:
            rows = with_claim_verdicts(pd.concat([claims[name] for name in names]))
            files.append(folder / CLAIMS_OF.format(paper=paper))
            write_tsv(files[-1], stamped(rows))
    write_tsv(folder / CLAIMS, pd.concat(map(read_tsv, files)))


def _figure_file(folder: Path, name: str, kind: str) -> Path:
    [path] = figures.figure_files([name], kind)
    return folder / path


def _draw_figure(
    folder: Path,
    config: Mapping,
    name: str,
    papers: Papers,
    kinds: Iterable[str],
) -> pd.DataFrame:
    """Draw one figure into files of these kinds, and return its claims. UserError where its
    tables, or columns of them, are missing."""
    paths = _drop_missing_nulls(catalogue.needs(name, config), folder)
    missing = [path for path in paths if not (folder / path).is_file()]
    if missing:
        more = f" and {len(missing) - 1} more are" if len(missing) > 1 else " is"
        raise UserError(f"{missing[0]}{more} not in the archive")
    paper, item = name.split("/")
    published = read_yaml(papers.published(paper))
    tables = {path: Table.read(folder / path) for path in paths}
    _check_columns(tables)
    try:
        drawn = draw(name, tables, published)
        claims = papers.claims(paper).decide(item, tables, published)
    except KeyError as error:
        raise _explain(error, tables) from error
    style.save(drawn, **{kind: _figure_file(folder, name, kind) for kind in kinds})
    return claims


def _check_columns(tables: Mapping[str, Table]) -> None:
    """Raise UserError where a table of one version lacks a column of another version's table of
    the same kind: stacked, it would give missing values."""
    versions = {path: _written_by(table) for path, table in tables.items()}
    for path, other in permutations(tables, 2):
        if versions[path] != versions[other] and _kind(path) == _kind(other):
            columns, others = tables[path].rows.columns, tables[other].rows.columns
            for column in others.difference(columns, sort=False):
                raise _lack(path, tables[path], column)


def _kind(path: str) -> tuple[str, bool, bool]:
    """Return the folder, whether the table compares two models, and whether it has losses."""
    return path.rpartition("/")[0], is_pair(path), path.endswith(".losses.tsv")


def _explain(error: KeyError, tables: Mapping[str, Table]) -> KeyError | UserError:
    """Name a table that lacks a column that caused `error`, if there is one."""
    for column in re.findall(r"'(\w+)'", str(error)):
        for path, table in tables.items():
            if column not in table:
                return _lack(path, table, column)
    return error


def _lack(path: str, table: Table, column: str) -> UserError:
    return UserError(f"{path} of {_written_by(table)} has no column `{column}`")


def _written_by(table: Table) -> str:
    """Name the program and version that wrote a table: `bertshift 0.2.0`."""
    return " and ".join(map(str, table["version"].dropna().unique()))


def _drop_missing_nulls(tables: Iterable[str], folder: Path) -> list[str]:
    """Leave out tables of nulls that do not exist: they are drawn as far as they were measured."""
    return [path for path in tables if not is_of_null(path) or (folder / path).is_file()]


def _shorten_error(error: UserError, folder: Path) -> str:
    """Say what is wrong with a table, without the advice for a run."""
    text = str(error).replace(f"{folder}/", "")
    problem, *_ = re.split("[;:] (?:delete|let) ", text)
    return problem.rstrip(".")


def _make_page(
    folder: Path, config: Mapping, absent: Mapping[str, Sequence[str]], papers: Papers
) -> str:
    """Make the page of these figures alone, with the examples that exist. absent: by figure, the
    kinds of its files that are not next to the page."""
    selected = {paper: {} for paper in catalogue.PAPERS}
    for name in absent:
        paper, item = name.split("/")
        selected[paper][item] = config["figures"][paper][item]
    config = {**config, "figures": selected}
    names = figures.figures_of_page(config)
    tables = _drop_missing_nulls(figures.tables_of_page(config), folder)
    examples = [EXAMPLES.format(model=model) for model in figures.models_with_examples(config)]
    files = {
        "tables": tables,
        "figures": figures.figure_files(names, "tsv"),
        "captions": figures.figure_files(names, "txt"),
        "images": figures.figure_files(names, "png"),
        "claims": CLAIMS,
        "published": [str(papers.published(paper)) for paper in catalogue.PAPERS],
        "examples": [path for path in examples if (folder / path).is_file()],
    }
    entries = []
    for entry in figures.entries_of_page(config):
        tables = _drop_missing_nulls(entry["tables"], folder)
        entries.append({**entry, "absent": absent[entry["name"]], "tables": tables})
    return make(entries, files, folder)


def lay_out(folder: Path, out: Path) -> None:
    """Copy the files drawn below `folder` to `out`: a folder a paper, the page, claims and
    scores."""
    shutil.copytree(folder / "results/figures", out, dirs_exist_ok=True)
    for name in (CLAIMS, SCORES):
        if (folder / name).is_file():
            shutil.copyfile(folder / name, out / Path(name).name)
