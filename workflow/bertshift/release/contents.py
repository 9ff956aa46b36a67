"""The contents of an archive: what others need to read a run, check it and make it again."""

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
DATA_SETS = "results/world/"  # of the generated data, which a rerun makes again, some are TSVs
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
# Licences that let others have the inputs. Of the others a reader gets numbers alone.
OPEN = re.compile(r"(CC0|CC BY|OANC)(?!.*terms).*")
# Endings of the files in its folders.
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
    with what stands beside them; no data sets, no checkpoints, no activations."""
    return [
        name
        for name in made
        if name.startswith(FIGURES) or (name.endswith(TABLES) and not name.startswith(DATA_SETS))
    ]


def tables(made: Iterable[str], read: Collection[str], licences: Mapping[str, str]) -> list[str]:
    """Select, among the files that a run made, those that figures can be drawn from again: tables
    of measures, what else the figures `read`, the blocks beside them, and examples where the
    licence of their inputs, by file, lets others have these."""
    wanted = {
        *read,
        *map(blocks_beside, read),
        *(file for file, said in licences.items() if OPEN.fullmatch(said)),
    }
    return [
        name
        for name in made
        if name in wanted
        or (name.count("/") == 2 and name.endswith(TABLES) and not name.startswith(CLAIMS))
    ]


def program(root: Path) -> tuple[dict[str, Path], list[str]]:
    """List the files of the program in `root` by their names, as git tracks them, and names of
    others that git does not ignore.

    In a copy without git: files of its kinds, none hidden, and no others. UserError where there is
    a repository and git does not answer: what is private cannot be told from the program then.
    """
    folders = [root, *root.absolute().parents]
    in_repository = any((folder / ".git").exists() for folder in folders)
    tracked = _listed(root) if in_repository else []
    others = _listed(root, "--others", "--exclude-standard") if in_repository else []
    if MAIN not in tracked:
        tracked, others = _of_its_kinds(root), []
    return {name: root / name for name in tracked if (root / name).is_file()}, others


def _listed(root: Path, *options: str) -> list[str]:
    """List the program's files by `git ls-files`."""
    command = ["git", "ls-files", "-z", *options, "--", *PROGRAM]
    try:
        listing = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip()
        raise UserError(
            f"git does not tell which files of {root} belong to the program, so that private ones"
            " might be published; make `git status` work there, then call this again. It said:"
            f" {said}"
        ) from None
    return listing.stdout.split("\0")[:-1]


def _of_its_kinds(root: Path) -> list[str]:
    found = [path.relative_to(root) for name in PROGRAM for path in (root / name).rglob("*")]
    kept = [
        path
        for path in found
        if path.suffix in KINDS and not any(part.startswith(".") for part in path.parts)
    ]
    return [name for name in PROGRAM if (root / name).is_file()] + [
        path.as_posix() for path in kept
    ]


def place(file: Path, root: Path) -> str:
    """Choose where a file of the configuration stands in the archive: as here, or apart if it is
    from elsewhere."""
    path = Path(os.path.abspath(file))
    for folder in (Path.cwd(), root):
        if path.is_relative_to(folder):
            return path.relative_to(folder).as_posix()
    return f"{CONFIGURATION}/elsewhere/{file.name}"


def readme_of_tables(about: Mapping[str, str]) -> str:
    """Write the README of the archive of tables alone; `about` as for `crate.metadata`."""
    return f"""# {about["heading"]}: tables

The tables that `{about["command"]}` made, with the blocks of inputs beside them, and
`{RESOLVED}`. `make redraw ARCHIVE=FILE` draws the figures from them, decides the claims and makes
the page. `sha256sum -c {SUMS}` checks them.
"""


def readme(about: Mapping[str, str]) -> str:
    """Write the README of an archive, which a person reads first; `about` as for
    `crate.metadata`."""
    return f"""# {about["heading"]}

`{about["command"]}` made these results; the last was finished at {about["finished"]}.

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
