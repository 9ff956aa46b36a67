"""Draw an archived run again, decide its claims and make its page with the program of today, from
its tables alone."""

import re
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from zipfile import ZipFile

import pandas as pd
import yaml

from bertshift.config import load_config, merge, read_yaml
from bertshift.errors import UserError
from bertshift.figures import style
from bertshift.files import BLOCKS_ENDING, read_tsv, write_text, write_tsv
from bertshift.naming import is_of_noise
from bertshift.page.make import make
from bertshift.papers import catalogue
from bertshift.papers.by_name import draw
from bertshift.release.archive import SUMS, damages, read
from bertshift.release.archive import opened as opened_at
from bertshift.release.contents import FIGURES, RESOLVED
from bertshift.release.judged import PROGRAMS, Papers
from bertshift.release.versions import completed, lacking, uneven
from bertshift.requests import figures
from bertshift.rows.blocks import read_with_blocks
from bertshift.verdicts.multiplicity import with_claim_verdicts
from bertshift.version import ROOT, stamped

CLAIMS_OF, CLAIMS, SCORES = (
    "results/claims/{paper}.tsv",
    "results/claims.tsv",
    "results/scores.tsv",
)
PAGE = "results/figures/index.html"
KINDS = ("png", "pdf", "tsv", "txt")
DRAWN = "is drawn."  # the end of what is noted of a figure that nothing is wrong with
READ_BY_PAGE = {"png", "tsv", "txt"}
READ = (".tsv", BLOCKS_ENDING, ".json")
# Keys of a configuration that nothing that is drawn depends on, which may be those of another
# version.
UNUSED = ("experiments", "cluster")


def prepare(
    path: str, folder: Path, options: Mapping, only: Collection[str] = (), more: Iterable[str] = ()
) -> dict:
    """Lay the tables of the archive at `path` below `folder`, and return the configuration with
    which to `redraw` these `only`. UserError where that cannot be.

    `more` archives have further tables for the same figures. Their configuration counts before
    that of the first.
    """
    own = dict(options)
    for further in more:
        with opened_at(further) as opened:
            unpack(opened, folder)
            own = merge(_own_configuration(opened), own)
    with opened_at(path) as opened:
        unpack(opened, folder)
        config = configuration(opened, own)
    try:
        chosen(config, only)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    return config


def unpack(opened: ZipFile, folder: Path) -> None:
    """Lay the tables of an archive below `folder`, with what stands beside them. UserError for an
    archive that is damaged, has no tables, or has files that would lie elsewhere."""
    names = [name for name in opened.namelist() if name != SUMS]
    if outside := [name for name in names if Path(name).is_absolute() or ".." in Path(name).parts]:
        raise UserError(
            f"{opened.filename}: {outside[0]} would lie outside of the archive's folder; fetch it"
            " again."
        )
    if broken := damages(opened):
        raise UserError(f"{opened.filename}: {broken[0]} Fetch it again.")
    if RESOLVED not in names:
        raise UserError(
            f"{opened.filename} has no {RESOLVED}; name an archive that `make release` wrote."
        )
    results = (
        name for name in names if name.startswith("results/") and not name.startswith(FIGURES)
    )
    tables = [name for name in results if name.endswith(READ)]
    if not tables:
        raise UserError(
            f"{opened.filename} has no tables below results/; name an archive of a finished run."
        )
    for name in tables:
        try:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(read(opened, name))
        except OSError as error:
            raise UserError(
                f"{opened.filename}: {name} cannot be unpacked ({error.strerror}); fetch it again."
            ) from None


def configuration(opened: ZipFile, options: Mapping) -> dict:
    """Read the archive's configuration, with `options` on top. Figures are added that it does not
    name and this program ships."""
    theirs = _own_configuration(opened)
    shipped = read_yaml(ROOT / "config/experiments.yaml")["figures"]
    newer = {
        paper: {
            item: entry
            for item, entry in items.items()
            if item not in theirs["figures"].get(paper, {})
        }
        for paper, items in shipped.items()
    }
    config = load_config(merge(theirs, options), ROOT)
    for paper, items in newer.items():
        for item, entry in items.items():
            one = config | {"figures": {paper: {item: entry}}}
            try:
                catalogue.check(one)
            except UserError:
                continue  # it shows models that this run does not know
            config["figures"].setdefault(paper, {}).setdefault(item, entry)
    catalogue.check(config)
    return config


def _own_configuration(opened: ZipFile) -> dict:
    """Read what the archive's run was configured with. UserError where that is of another
    program."""
    whose = f"{opened.filename}: {RESOLVED}"
    try:
        theirs = yaml.safe_load(read(opened, RESOLVED))
    except yaml.YAMLError:
        raise UserError(
            f"{whose} is not YAML; name an archive that `make release` wrote."
        ) from None
    named = theirs.get("figures") if isinstance(theirs, dict) else None
    if not isinstance(named, dict) or not all(isinstance(items, dict) for items in named.values()):
        raise UserError(f"{whose} names no figures; it is not of this program.")
    for key in UNUSED:
        theirs.pop(key, None)
    try:
        catalogue.check(load_config(theirs, ROOT))
    except UserError as error:
        first = str(error).splitlines()[1:2] or [str(error)]
        raise UserError(
            f"{whose} is not of this program, or of another version: {first[0].strip()}"
        ) from None
    return theirs


def chosen(config: Mapping, only: Collection[str] = ()) -> list[str]:
    """List `<paper>/<item>` of the configuration's figures: all, or those of `only`, each a paper
    or a figure. UserError for a name of neither."""
    names = figures.figures_of(catalogue.PAPERS, config)
    if unknown := [
        one for one in only if one not in {*names, *(name.split("/")[0] for name in names)}
    ]:
        raise UserError(
            f"'{unknown[0]}' is no paper and no figure of this archive; there are"
            f" {', '.join(names)}."
        )
    return [name for name in names if not only or {name, name.split("/")[0]} & {*only}]


def redraw(
    folder: Path,
    config: Mapping,
    note: Callable[[str], None],
    only: Collection[str] = (),
    papers: Papers = PROGRAMS,
    without: Collection[str] = (),
) -> list[str]:
    """Draw what the tables below `folder` suffice for, below `folder`/results/figures, with
    scores, page and the claims of these `papers`. No file of a figure is left that matches a
    pattern of `without`, such as `*.pdf`. Returns the names of the figures; `note` hears of each
    of them, and of each that is left out. UserError where there is none."""
    decided, told = {}, set()

    def once(said: str) -> None:
        if said not in told:
            told.add(said)
            note(said)

    absent = {
        name: [
            kind
            for kind in KINDS
            if any(fnmatch(f"{name}.{kind}", pattern) for pattern in without)
        ]
        for name in chosen(config, only)
    }
    for name, kinds in absent.items():
        try:
            decided[name] = _one(folder, config, name, once, papers, {*kinds} - READ_BY_PAGE)
            note(f"{name} {DRAWN}")
        except UserError as error:
            note(f"{name} is left out: {_reason(error, folder)}.")
    if not decided:
        raise UserError(
            "no figure can be drawn from these tables; name an archive of a finished run."
        )
    of_papers = []
    for paper in catalogue.PAPERS:
        # In the order of the names, as the workflow hands them to the rule of claims.
        if claims := [decided[name] for name in sorted(decided) if name.startswith(f"{paper}/")]:
            of_papers.append(folder / CLAIMS_OF.format(paper=paper))
            write_tsv(of_papers[-1], stamped(with_claim_verdicts(pd.concat(claims))))
    write_tsv(folder / CLAIMS, pd.concat(map(read_tsv, of_papers)))
    scored = [folder / f"results/scores/{model}.tsv" for model in config["scored"]]
    if known := [table for table in scored if table.is_file()]:
        write_tsv(folder / SCORES, pd.concat(map(read_tsv, known)))
    write_text(
        folder / PAGE, _page(folder, config, {name: absent[name] for name in decided}, papers)
    )
    for name in decided:
        for kind in READ_BY_PAGE & {*absent[name]}:
            (folder / figures.figure_files([name], kind)[0]).unlink()
    return list(decided)


def _one(
    folder: Path,
    config: Mapping,
    name: str,
    note: Callable[[str], None],
    papers: Papers,
    without: set[str],
) -> pd.DataFrame:
    """Draw one figure, but for files of the kinds `without`, and return its claims. UserError
    where its tables, or columns of them, are not there."""
    needed = _with_measured_noise(catalogue.needs(name, config), folder)
    if absent := [path for path in needed if not (folder / path).is_file()]:
        more = f" and {len(absent) - 1} more are" if absent[1:] else " is"
        raise UserError(f"{absent[0]}{more} not in the archive")
    paper, item = name.split("/")
    published, tables = read_yaml(papers.published(paper)), {}
    for path in needed:
        tables[path], said = completed(path, read_with_blocks(folder / path))
        for one in said:
            note(one)
    if said := uneven(tables):
        raise UserError(said)
    try:
        drawn, claims = (
            draw(name, tables, published),
            papers.claims(paper).decide(item, tables, published),
        )
    except KeyError as error:
        if said := lacking(error, tables):
            raise UserError(said) from error
        raise
    style.save(
        drawn,
        **{
            kind: folder / figures.figure_files([name], kind)[0]
            for kind in KINDS
            if kind not in without
        },
    )
    return claims


def _with_measured_noise(tables: Iterable[str], folder: Path) -> list[str]:
    """Leave out tables of noise that are not there: noise is drawn as far as it was measured."""
    return [path for path in tables if not is_of_noise(path) or (folder / path).is_file()]


def _reason(error: UserError, folder: Path) -> str:
    """Say what is wrong with a table, without what a run would do about it."""
    return re.split("[;:] (?:delete|let) ", str(error).replace(f"{folder}/", ""))[0].rstrip(".")


def _page(
    folder: Path, config: Mapping, absent: Mapping[str, Sequence[str]], papers: Papers
) -> str:
    """Make the page of these figures alone, given which files of each it does not stand beside,
    with the examples that are there."""
    kept = {paper: {} for paper in catalogue.PAPERS}
    for paper, item in (name.split("/") for name in absent):
        kept[paper][item] = config["figures"][paper][item]
    request = figures.gallery({**config, "figures": kept})
    own = {
        "examples": [path for path in request.inputs["examples"] if (folder / path).is_file()],
        "published": [str(papers.published(paper)) for paper in catalogue.PAPERS],
        "tables": _with_measured_noise(request.inputs["tables"], folder),
    }
    entries = [
        {
            **entry,
            "absent": absent[entry["name"]],
            "tables": _with_measured_noise(entry["tables"], folder),
        }
        for entry in request.settings["entries"]
    ]
    return make(entries, request.inputs | own, folder)


def lay_out(folder: Path, out: Path) -> None:
    """Copy what was drawn below `folder` to `out`: a folder a paper, the page, claims and
    scores."""
    shutil.copytree(folder / "results/figures", out, dirs_exist_ok=True)
    for name in (CLAIMS, SCORES):
        if (folder / name).is_file():
            shutil.copyfile(folder / name, out / Path(name).name)
