"""The contents of an archive: the files that others need to read a run, check it and make it
again."""

import os
import re
import subprocess
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.files import BLOCKS_ENDING, blocks_beside
from bertshift.release.archive import SUMS

FIGURES = "results/figures/"
TABLES = (".tsv", BLOCKS_ENDING)
DATA_SETS = "results/world/"  # generated data, partly TSVs; a rerun makes them again
MAIN, CONFIGURATION, RESOLVED = "workflow/Snakefile", "config", "configuration.yaml"
PROGRAM = [
    "Snakefile",
    MAIN,
    "workflow",
    CONFIGURATION,
    "config/README.md",
    "profiles",
    "envs",
    "Makefile",
    "requirements.txt",
    "pyproject.toml",
    "CITATION.cff",
    "CHANGELOG.md",
    "LICENSE",
]
CLAIMS = "results/claims"
# Licences that let others have the inputs. For other licences an archive has only numbers.
OPEN = re.compile(r"(CC0|CC BY|OANC)(?!.*terms).*")
# Endings of the program's files.
KINDS = {
    ".py",
    ".smk",
    ".rst",
    ".yaml",
    ".html",
    ".css",
    ".js",
    ".def",
}


def results(made: Iterable[str]) -> list[str]:
    """Select, among the files that a run made, figures with their captions and page, and tables
    with their blocks; no data sets, no checkpoints, no activations."""
    return [
        name
        for name in made
        if name.startswith(FIGURES) or (name.endswith(TABLES) and not name.startswith(DATA_SETS))
    ]


def tables(made: Iterable[str], read: Collection[str], licences: Mapping[str, str]) -> list[str]:
    """Select, among the files that a run made, those that figures can be drawn from again: tables
    of measures, other files that the figures `read`, their blocks, and examples where the licence
    of their inputs, by file, lets others have these."""
    open_files = [file for file, licence in licences.items() if OPEN.fullmatch(licence)]
    wanted = {*read, *map(blocks_beside, read), *open_files}
    return [name for name in made if name in wanted or _is_measure(name)]


def _is_measure(name: str) -> bool:
    in_folder = name.count("/") == 2
    return in_folder and name.endswith(TABLES) and not name.startswith(CLAIMS)


def program(root: Path) -> tuple[dict[str, Path], list[str]]:
    """List the files of the program in `root` by their names, as git tracks them, and names of
    others that git does not ignore.

    In a copy without git: files of the program's kinds, none hidden, and no others. UserError
    where there is a repository and git does not answer: then private files cannot be distinguished
    from the program.
    """
    folders = [root, *root.absolute().parents]
    tracked, untracked = [], []
    if any((folder / ".git").exists() for folder in folders):
        tracked = _list_with_git(root)
        untracked = _list_with_git(root, "--others", "--exclude-standard")
    if MAIN not in tracked:
        tracked, untracked = _list_by_kind(root), []
    return {name: root / name for name in tracked if (root / name).is_file()}, untracked


def _list_with_git(root: Path, *options: str) -> list[str]:
    """List the program's files by `git ls-files`."""
    command = ["git", "ls-files", "-z", *options, "--", *PROGRAM]
    try:
        listing = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        message = getattr(error, "stderr", None) or str(error)
        raise UserError(
            f"git does not tell which files of {root} belong to the program, so that private ones"
            " might be published; make `git status` work there, then call this again. It said:"
            f" {message.strip()}"
        ) from None
    return listing.stdout.split("\0")[:-1]


def _list_by_kind(root: Path) -> list[str]:
    """List the program's files by their endings."""
    names = [name for name in PROGRAM if (root / name).is_file()]
    for name in PROGRAM:
        for file in (root / name).rglob("*"):
            path = file.relative_to(root)
            is_hidden = any(part.startswith(".") for part in path.parts)
            if path.suffix in KINDS and not is_hidden:
                names.append(path.as_posix())
    return names


def name_in_archive(file: Path, root: Path) -> str:
    """Name a file of the configuration in the archive: by its path below this folder or `root`,
    or in a folder of its own if it is from elsewhere."""
    path = Path(os.path.abspath(file))
    for folder in (Path.cwd(), root):
        if path.is_relative_to(folder):
            return path.relative_to(folder).as_posix()
    return f"{CONFIGURATION}/elsewhere/{file.name}"


def readme_of_tables(info: Mapping[str, str]) -> str:
    """Write the README of the archive of tables alone; `info` as for `crate.metadata`."""
    return f"""# {info["heading"]}: tables

The tables that `{info["command"]}` made, with the blocks of inputs beside them, and
`{RESOLVED}`. `make redraw ARCHIVE=FILE` draws the figures from them, decides the claims and makes
the page. `sha256sum -c {SUMS}` checks them.
"""


def readme(info: Mapping[str, str]) -> str:
    """Write the README of an archive, which a person reads first; `info` as for
    `crate.metadata`."""
    return f"""# {info["heading"]}

`{info["command"]}` made these results; the last was finished at {info["finished"]}.

- **Look**: open `results/figures/index.html` in a browser. Beside each figure stand its numbers
  (`.tsv`) and its caption (`.txt`); the tables that it was made from are in the other folders of
  `results/`.
- **Check**: `sha256sum -c {SUMS}`, in the folder where this is unpacked.
- **Configuration**: `config/` as it was edited, `{RESOLVED}` complete.
- **Make it again**: unpack this in a new folder, delete `results/`, call `make venv` and
  `. .venv/bin/activate`, and then the command above. `make verify ARCHIVE=FILE`, with the file
  that this was unpacked from, says what came out otherwise.
- **Cite**: `CITATION.cff`.
"""
