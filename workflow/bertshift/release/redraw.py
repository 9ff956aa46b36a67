"""Draw an archived run again, decide its claims and make its page with the program of today, from its tables alone."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from zipfile import ZipFile

import pandas as pd
import yaml

from bertshift.config import load_config, merge, read_yaml
from bertshift.errors import UserError
from bertshift.figures import style
from bertshift.files import BLOCKS_ENDING, read_tsv, write_text, write_tsv
from bertshift.page.make import make
from bertshift.papers import catalogue
from bertshift.papers.room import decide, draw
from bertshift.release.archive import SUMS, damages, read
from bertshift.release.contents import FIGURES, RESOLVED
from bertshift.requests import figures
from bertshift.rows.blocks import read_with_blocks
from bertshift.version import ROOT, stamped

CLAIMS_OF, CLAIMS, SCORES = "results/claims/{paper}.tsv", "results/claims.tsv", "results/scores.tsv"
PAGE = "results/figures/index.html"
KINDS = ("png", "pdf", "tsv", "txt")
READ = (".tsv", BLOCKS_ENDING, ".json")


def unpack(opened: ZipFile, folder: Path) -> None:
    """Lay the tables of an archive below `folder`, with what stands beside them. UserError for an archive that is damaged,
    has no tables, or has files that would lie elsewhere."""
    names = [name for name in opened.namelist() if name != SUMS]
    if outside := [name for name in names if Path(name).is_absolute() or ".." in Path(name).parts]:
        raise UserError(
            f"{opened.filename}: {outside[0]} would lie outside of the archive's folder; fetch it again."
        )
    if broken := damages(opened):
        raise UserError(f"{opened.filename}: {broken[0]} Fetch it again.")
    if RESOLVED not in names:
        raise UserError(f"{opened.filename} has no {RESOLVED}; name an archive that `make release` wrote.")
    results = (name for name in names if name.startswith("results/") and not name.startswith(FIGURES))
    tables = [name for name in results if name.endswith(READ)]
    if not tables:
        raise UserError(f"{opened.filename} has no tables below results/; name an archive of a finished run.")
    for name in tables:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(read(opened, name))


def configuration(opened: ZipFile, options: Mapping) -> dict:
    """The archive's, with `options` on top, and figures beside it that it does not name and this program ships."""
    theirs = yaml.safe_load(read(opened, RESOLVED))
    if not isinstance(theirs, dict) or "figures" not in theirs:
        raise UserError(f"{opened.filename}: {RESOLVED} names no figures; it is not of this program.")
    theirs.pop("experiments", None)
    shipped = read_yaml(ROOT / "config/experiments.yaml")["figures"]
    newer = {
        paper: {item: entry for item, entry in items.items() if item not in theirs["figures"].get(paper, {})}
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


def redraw(folder: Path, config: Mapping, note: Callable[[str], None]) -> list[str]:
    """Draw what the tables below `folder` suffice for, below `folder`/results/figures, with claims, scores and page. The
    names of the figures; `note` hears of each of them, and of each that is left out. UserError where there is none."""
    decided = {}
    for name in figures.figures_of(catalogue.ROOMS, config):
        if absent := [path for path in catalogue.needs(name, config) if not (folder / path).is_file()]:
            more = f" and {len(absent) - 1} more are" if absent[1:] else " is"
            note(f"{name} is left out: {absent[0]}{more} not in the archive.")
            continue
        request = figures.figure(config, name)
        published = read_yaml(Path(request.inputs["published"]))
        tables = {path: read_with_blocks(folder / path) for path in request.inputs["tables"]}
        style.save(
            draw(name, tables, published), *(folder / figures.drawn([name], kind)[0] for kind in KINDS)
        )
        decided[name] = decide(name, tables, published)
        note(f"{name} is drawn.")
    if not decided:
        raise UserError("no figure can be drawn from these tables; name an archive of a finished run.")
    of_papers = []
    for paper in catalogue.ROOMS:
        # In the order of the names, as the workflow hands them to the rule of claims.
        if claims := [decided[name] for name in sorted(decided) if name.startswith(f"{paper}/")]:
            of_papers.append(folder / CLAIMS_OF.format(paper=paper))
            write_tsv(of_papers[-1], stamped(pd.concat(claims)))
    write_tsv(folder / CLAIMS, pd.concat(map(read_tsv, of_papers)))
    scored = [folder / f"results/scores/{model}.tsv" for model in config["scored"]]
    if known := [table for table in scored if table.is_file()]:
        write_tsv(folder / SCORES, pd.concat(map(read_tsv, known)))
    write_text(folder / PAGE, _page(folder, config, list(decided)))
    return list(decided)


def _page(folder: Path, config: Mapping, drawn: Sequence[str]) -> str:
    """Of these figures alone, and of the examples that are there."""
    kept = {paper: {} for paper in catalogue.ROOMS}
    for paper, item in (name.split("/") for name in drawn):
        kept[paper][item] = config["figures"][paper][item]
    request = figures.gallery({**config, "figures": kept})
    there = [path for path in request.inputs["examples"] if (folder / path).is_file()]
    return make(request.settings, request.inputs | {"examples": there}, folder)


def lay_out(folder: Path, out: Path) -> None:
    """Copy what was drawn below `folder` to `out`: a folder a paper, the page, claims and scores."""
    shutil.copytree(folder / "results/figures", out, dirs_exist_ok=True)
    for name in (CLAIMS, SCORES):
        if (folder / name).is_file():
            shutil.copyfile(folder / name, out / Path(name).name)
