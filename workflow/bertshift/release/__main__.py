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
from bertshift.shipped import ROOT
from bertshift.version import version

EXPERIMENTS = Path("config/experiments.yaml")


def read_configuration(configfile: Path | None) -> dict:
    """Read this folder's configuration, with --configfile on top. UserError where a file is
    missing."""
    files = [EXPERIMENTS, configfile] if configfile else [EXPERIMENTS]
    for file in files:
        if not file.exists():
            raise UserError(f"there is no {file} here; call this in the folder of a run.")
    return reduce(merge, map(read_yaml, files))


def release(targets: Sequence[str], configfile: Path | None) -> str:
    """Write the archive of the run in this folder, and return sentences about it. UserError where
    the run is not finished."""
    user = read_configuration(configfile)
    config = load_config(user, ROOT)
    _, located_files = located(user, ROOT)
    config_files = [EXPERIMENTS, *located_files.values()]
    program, untracked = contents.program(ROOT)
    options = ["--configfile", str(configfile)] if configfile else []
    made_files = made(summary(targets, options))
    if configfile:
        options[1] = contents.name_in_archive(configfile, ROOT)
        config_files.append(configfile)
    command = " ".join(["snakemake", *targets, *options])  # targets behind --configfile are files
    results = contents.results(made_files)
    info = _describe_run(config, command, results)
    configuration = {contents.name_in_archive(file, ROOT): file for file in config_files}
    files = {
        **program,
        **configuration,
        **{name: Path(name) for name in results},
        contents.RESOLVED: yaml.safe_dump(config, sort_keys=False, allow_unicode=True).encode(),
        crate.README: contents.readme(info).encode(),
    }
    sizes = {
        name: len(content) if isinstance(content, bytes) else content.stat().st_size
        for name, content in files.items()
    }
    configuration_names = sorted([*configuration, contents.RESOLVED])
    files[crate.METADATA] = crate.metadata(sizes, configuration_names, results, info)
    name, number = version().split()
    path = Path(f"{name}-{number}-{config['scale']}.zip")
    archive.write(path, files)

    tables_path = path.with_name(f"{path.stem}-tables.zip")
    tables = {
        **{name: Path(name) for name in _list_tables(made_files, config)},
        contents.RESOLVED: files[contents.RESOLVED],
        crate.README: contents.readme_of_tables(info).encode(),
    }
    archive.write(tables_path, tables)
    sentences = [
        (
            f"{path}: {len(results)} files of results, {_write_size(path)}."
            f" `make verify ARCHIVE={path}` checks it."
        ),
        (
            f"{tables_path}: the tables alone, {_write_size(tables_path)}."
            f" `make redraw ARCHIVE={tables_path}` draws the figures from them."
        ),
    ]
    left_out = sorted(set(untracked) - set(files))
    if left_out:
        sentences.append(f"Not in it, as git does not track them: {', '.join(left_out)}.")
    return "\n".join(sentences)


def _describe_run(config: Mapping, command: str, results: Sequence[str]) -> dict[str, str]:
    """Collect the properties that README and metadata of an archive need."""
    name, number = version().split()
    citation = read_yaml(ROOT / "CITATION.cff")
    finished = max(Path(result).stat().st_mtime for result in results)
    return {
        "heading": f"Results of {name} {number} at scale {config['scale']}",
        "command": command,
        "finished": datetime.fromtimestamp(finished, UTC).isoformat(timespec="seconds"),
        "authors": ", ".join(author["name"] for author in citation["authors"]),
        "version": number,
        "title": citation["title"],
        "license": citation["license"],
        "snakemake": metadata.version("snakemake"),
    }


def _write_size(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.1f} MB"


def _list_tables(made_files: Sequence[str], config: Mapping) -> list[str]:
    """List the files that a redraw of this run needs. Generated inputs have no restrictions."""
    names = figures.figures_of(PAPERS, config)
    tables = {table for name in names for table in needs(name, config)}
    licences = {}
    for model in figures.examples_of(config, names):
        task = parse_model(model, config).task
        dataset = config["datasets"][config["tasks"][task]["dataset"]]
        licence = dataset.get("licence", NOT_STATED)
        if config["data"]["source"] == "world":
            licence = "CC0"
        licences[EXAMPLES.format(model=model)] = licence
    return contents.tables(made_files, tables, licences)


def check(path: str | None, configfile: Path | None) -> int:
    """Print the damages of an archive and its differences from a rerun here; 1 if there are any,
    or else 0."""
    _check_named(path, "verify")
    with archive.opened(path) as opened:
        damages = archive.damages(opened)
        if damages:
            print(*damages, f"{path} is not as it was written: fetch it again.", sep="\n")
            return 1
        print(f"{path} is intact: every file has the digest that {archive.SUMS} says.")
        compared = verify.compare(opened, Path())
        if not (compared.same or compared.version or compared.other):
            print("None of its tables is here; make them with its configuration to compare.")
            return 0
        if EXPERIMENTS.exists():
            theirs = yaml.safe_load(archive.read(opened, contents.RESOLVED))
            ours = load_config(read_configuration(configfile), ROOT)
            keys = verify.other_settings(theirs, ours)
            if keys:
                print(
                    "Its configuration is another one than this folder's; other keys:"
                    f" {', '.join(keys)}."
                )
        print(*verify.sentences(compared), sep="\n")
        return int(bool(compared.other or compared.missing))


def draw_again(
    archives: Sequence[str],
    out: Path | None,
    configfile: Path | None,
    only: Sequence[str],
    claims: Sequence[Path],
    without: Sequence[str],
) -> None:
    """Draw the figures of an archive into `out`, or into a folder of its name here; print which
    were left out, and why. Archives after the first have further tables for the same figures."""
    path, *more = archives or [None]
    _check_named(path, "redraw")
    out = out or Path(Path(path).stem)
    _check_folder(out)
    papers = judged.read(claims)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        config = redraw.prepare(path, folder, _read_options(configfile), only, more)
        drawn = redraw.redraw(folder, config, print, only, papers, without)
        redraw.lay_out(folder, out)
    number = "1 figure, its claims" if len(drawn) == 1 else f"{len(drawn)} figures, their claims"
    print(f"{out} has {number}, and index.html to explore them.")


def compare_archives(
    archives: Sequence[str],
    out: Path | None,
    configfile: Path | None,
    only: Sequence[str],
    claims: Sequence[Path],
    page_alone: bool,
) -> None:
    """Draw two archives again and write their claims and figures into `out`, or with `page_alone`
    their claims and page; print where their verdicts differ."""
    if len(archives) != 2:
        raise UserError(
            f'two archives are compared, and {len(archives)} named; write ARCHIVES="a.zip b.zip".'
        )
    names = compare.names(archives)
    out = out or Path("_and_".join(names))
    _check_folder(out)
    papers = judged.read(claims)
    options = _read_options(configfile)
    with tempfile.TemporaryDirectory() as temporary:
        folders = [Path(temporary) / "first", Path(temporary) / "second"]
        # Both are read before either is drawn, which takes minutes.
        configs = [
            redraw.prepare(path, folder, options, only) for path, folder in zip(archives, folders)
        ]
        runs, lines = [], []
        for name, folder, config in zip(names, folders, configs):
            notes: list[str] = []
            drawn = redraw.redraw(folder, config, notes.append, only, papers)
            runs.append(compare.DrawnArchive(name, folder, config, drawn))
            lines += [f"{name}: {note}" for note in notes if not note.endswith(redraw.DRAWN)]
        page = Path(temporary) / "page"
        sentences = compare.write_page(runs, page, papers, has_files=not page_alone)
        if not page_alone:
            compare.write_files(runs, page)
        shutil.copytree(page, out, dirs_exist_ok=True)
    files = "claims.tsv" if page_alone else "claims.tsv, the numbers of each figure,"
    last = f"{out} has {files} and index.html to explore both."
    print(*sentences, *lines, last, sep="\n")


def _check_named(path: str | None, command: str) -> None:
    if not path:
        raise UserError(f"no archive is named; write make {command} ARCHIVE=FILE.")


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file; name a folder, as in OUT=again.")


def _read_options(configfile: Path | None) -> dict:
    if not configfile:
        return {}
    if not configfile.is_file():
        raise UserError(f"there is no file {configfile}; name one with keys of the configuration.")
    return read_yaml(configfile)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bertshift.release", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    write = commands.add_parser("write")
    verify_parser = commands.add_parser("verify")
    redraw_parser = commands.add_parser("redraw")
    compare_parser = commands.add_parser("compare")
    write.add_argument("targets", nargs="*", default=["figures/all"], metavar="TARGET")
    verify_parser.add_argument("archive", nargs="?", metavar="ARCHIVE")
    for command in (redraw_parser, compare_parser):
        command.add_argument("archives", nargs="*", metavar="ARCHIVE")
        command.add_argument("--out", type=Path, metavar="FOLDER")
        command.add_argument("--only", action="append", default=[], metavar="PAPER[/FIGURE]")
        command.add_argument("--claims", action="append", default=[], type=Path, metavar="FILE")
    compare_parser.add_argument("--page-alone", action="store_true")
    redraw_parser.add_argument("--without", action="append", default=[], metavar="PATTERN")
    for command in (write, verify_parser, redraw_parser, compare_parser):
        command.add_argument("--configfile", type=Path)
    values = vars(parser.parse_args(arguments))
    try:
        match values.pop("command"):
            case "verify":
                return check(values["archive"], values["configfile"])
            case "redraw":
                draw_again(**values)
            case "compare":
                compare_archives(**values)
            case _:
                print(release(**values))
        return 0
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
