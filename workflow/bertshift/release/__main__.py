"""`python -m bertshift.release write [--configfile FILE] [TARGET ...]`, `... verify ARCHIVE`, `...
redraw ARCHIVE` and `... compare ARCHIVE ARCHIVE`, with PYTHONPATH=workflow; the first two in the
folder of a run."""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import reduce
from importlib import metadata
from pathlib import Path

import yaml

from bertshift.config import load_config, located, merge, read_yaml
from bertshift.data.examples import NOT_STATED
from bertshift.errors import UserError
from bertshift.naming import parse_model
from bertshift.papers.catalogue import PAPERS, needs
from bertshift.release import archive, compare, contents, crate, judged, redraw, verify
from bertshift.release.finished import made, summary
from bertshift.requests import figures
from bertshift.requests.activations import EXAMPLES
from bertshift.version import ROOT, version

EXPERIMENTS = Path("config/experiments.yaml")


def written(configfile: Path | None) -> dict:
    """Read this folder's configuration as it stands, with --configfile on top. UserError where one
    is missing."""
    files = [EXPERIMENTS, configfile] if configfile else [EXPERIMENTS]
    if absent := [file for file in files if not file.exists()]:
        raise UserError(f"there is no {absent[0]} here; call this in the folder of a run.")
    return reduce(merge, map(read_yaml, files))


def release(targets: Sequence[str], configfile: Path | None) -> str:
    """Write the archive of the run in this folder; a sentence on it. UserError where the run is
    not finished."""
    user = written(configfile)
    config, read = load_config(user, ROOT), [EXPERIMENTS, *located(user, ROOT)[1].values()]
    program, others = contents.program(ROOT)
    options = ["--configfile", str(configfile)] if configfile else []
    all_made = made(summary(targets, options))
    results = contents.results(all_made)
    if configfile:
        options[1] = contents.place(configfile, ROOT)
        read.append(configfile)
    configuration = {contents.place(file, ROOT): file for file in read}
    files = program | configuration | {name: Path(name) for name in results}
    finished = max(files[name].stat().st_mtime for name in results)
    name, number = version().split()
    citation = read_yaml(ROOT / "CITATION.cff")
    about = {
        "heading": f"Results of {name} {number} at scale {config['scale']}",
        "command": " ".join(["snakemake", *options, *targets]),
        "finished": datetime.fromtimestamp(finished, UTC).isoformat(timespec="seconds"),
        "authors": ", ".join(author["name"] for author in citation["authors"]),
        "version": number,
        "title": citation["title"],
        "license": citation["license"],
        "snakemake": metadata.version("snakemake"),
    }
    files[contents.RESOLVED] = yaml.safe_dump(config, sort_keys=False, allow_unicode=True).encode()
    files[crate.README] = contents.readme(about).encode()
    sizes = {
        file: len(content) if isinstance(content, bytes) else content.stat().st_size
        for file, content in files.items()
    }
    files[crate.METADATA] = crate.metadata(
        sizes, sorted([*configuration, contents.RESOLVED]), results, about
    )
    path = Path(f"{name}-{number}-{config['scale']}.zip")
    archive.write(path, files)
    said = (
        f"{path}: {len(results)} files of results, {_size(path)}. `make verify ARCHIVE={path}`"
        " checks it."
    )
    tables = {name: Path(name) for name in _tables(all_made, config)}
    alone = path.with_name(f"{path.stem}-tables.zip")
    about_it = {
        contents.RESOLVED: files[contents.RESOLVED],
        crate.README: contents.readme_of_tables(about).encode(),
    }
    archive.write(alone, tables | about_it)
    said += (
        f"\n{alone}: the tables alone, {_size(alone)}. `make redraw ARCHIVE={alone}` draws the"
        " figures from them."
    )
    if left := sorted(set(others) - set(files)):
        said += f"\nNot in it, as git does not track them: {', '.join(left)}."
    return said


def _size(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.1f} MB"


def _tables(made_files: Sequence[str], config: Mapping) -> list[str]:
    """Name the files that a redraw of this run needs. Generated inputs are anybody's."""
    drawn = figures.figures_of(PAPERS, config)
    read = {table for name in drawn for table in needs(name, config)}
    generated = config["data"]["source"] == "world"
    licences = {}
    for model in figures.examples_of(config, drawn):
        data = config["datasets"][config["tasks"][parse_model(model, config).task]["dataset"]]
        licences[EXAMPLES.format(model=model)] = (
            "CC0" if generated else data.get("licence", NOT_STATED)
        )
    return contents.tables(made_files, read, licences)


def check(path: str | None, configfile: Path | None) -> int:
    """Print what is wrong with an archive and what a rerun here has otherwise; 1 if there is
    anything, or else 0."""
    _check_named(path, "verify")
    with archive.opened(path) as opened:
        if damaged := archive.damages(opened):
            print(*damaged, f"{path} is not as it was written: fetch it again.", sep="\n")
            return 1
        print(f"{path} is intact: every file has the digest that {archive.SUMS} says.")
        found = verify.compare(opened, Path())
        if not (found.same or found.version or found.other):
            print("None of its tables is here; make them with its configuration to compare.")
            return 0
        theirs = yaml.safe_load(archive.read(opened, contents.RESOLVED))
        if EXPERIMENTS.exists() and (
            keys := verify.other_settings(theirs, load_config(written(configfile), ROOT))
        ):
            print(
                "Its configuration is another one than this folder's; other keys:"
                f" {', '.join(keys)}."
            )
        print(*verify.sentences(found), sep="\n")
        return int(bool(found.other or found.missing))


def draw_again(
    paths: Sequence[str],
    out: Path | None,
    configfile: Path | None,
    only: Sequence[str],
    claims: Sequence[Path],
    without: Sequence[str],
) -> None:
    """Draw the figures of an archive into `out`, or into a folder of its name here; say what was
    left out, and why. Archives after the first have further tables for the same figures."""
    path, *more = paths or [None]
    _check_named(path, "redraw")
    out, papers = _folder(out or Path(Path(path).stem)), judged.read(claims)
    with tempfile.TemporaryDirectory() as folder:
        config = redraw.prepare(path, Path(folder), _options(configfile), only, more)
        drawn = redraw.redraw(Path(folder), config, print, only, papers, without)
        redraw.lay_out(Path(folder), out)
    figures_drawn = (
        "1 figure, its claims" if len(drawn) == 1 else f"{len(drawn)} figures, their claims"
    )
    print(f"{out} has {figures_drawn}, and index.html to explore them.")


def compare_archives(
    paths: Sequence[str],
    out: Path | None,
    configfile: Path | None,
    only: Sequence[str],
    claims: Sequence[Path],
) -> None:
    """Draw two archives again and write into `out` what both say; print where their verdicts
    differ."""
    if len(paths) != 2:
        raise UserError(
            f'two archives are compared, and {len(paths)} named; write ARCHIVES="a.zip b.zip".'
        )
    names = compare.names(paths)
    out, papers = _folder(out or Path("_and_".join(names))), judged.read(claims)
    with tempfile.TemporaryDirectory() as below:
        folders, options = [Path(below) / str(place) for place in range(2)], _options(configfile)
        # Both are read before either is drawn, which takes minutes.
        configs = [
            redraw.prepare(path, folder, options, only) for path, folder in zip(paths, folders)
        ]
        runs, notes = [], []
        for name, folder, config in zip(names, folders, configs):
            note = lambda sentence, name=name: notes.append(f"{name}: {sentence}")
            drawn = redraw.redraw(folder, config, note, only, papers)
            runs.append(compare.Run(name, folder, config, drawn))
        made = Path(below) / "made"
        said = compare.write(runs, made, papers)
        for run in runs:
            redraw.lay_out(run.folder, made / run.name)
        shutil.copytree(made, out, dirs_exist_ok=True)
    print(
        *said,
        *(note for note in notes if not note.endswith(redraw.DRAWN)),
        f"{out} has claims.tsv, the numbers of each figure, and index.html to explore both.",
        sep="\n",
    )


def _check_named(path: str | None, command: str) -> None:
    if not path:
        raise UserError(f"no archive is named; write make {command} ARCHIVE=FILE.")


def _folder(out: Path) -> Path:
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file; name a folder, as in OUT=again.")
    return out


def _options(configfile: Path | None) -> dict:
    if configfile and not configfile.is_file():
        raise UserError(f"there is no file {configfile}; name one with keys of the configuration.")
    return read_yaml(configfile) if configfile else {}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bertshift.release", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    write, checks, redraws, compares = map(
        commands.add_parser, ("write", "verify", "redraw", "compare")
    )
    write.add_argument("targets", nargs="*", default=["figures/all"], metavar="TARGET")
    checks.add_argument("archive", nargs="?", metavar="ARCHIVE")
    redraws.add_argument("archives", nargs="*", metavar="ARCHIVE")
    compares.add_argument("archives", nargs="*", metavar="ARCHIVE")
    for command in (redraws, compares):
        command.add_argument("--out", type=Path, metavar="FOLDER")
        command.add_argument("--only", action="append", default=[], metavar="PAPER[/FIGURE]")
        command.add_argument("--claims", action="append", default=[], type=Path, metavar="FILE")
    redraws.add_argument("--without", action="append", default=[], metavar="PATTERN")
    for command in (write, checks, redraws, compares):
        command.add_argument("--configfile", type=Path)
    told = parser.parse_args(arguments)
    try:
        match told.command:
            case "verify":
                return check(told.archive, told.configfile)
            case "redraw":
                draw_again(
                    told.archives, told.out, told.configfile, told.only, told.claims, told.without
                )
            case "compare":
                compare_archives(told.archives, told.out, told.configfile, told.only, told.claims)
            case _:
                print(release(told.targets, told.configfile))
        return 0
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
