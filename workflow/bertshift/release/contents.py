"""What goes into the archive of a run: what others need to read it, check it and make it again."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from bertshift.files import BLOCKS_ENDING
from bertshift.release.archive import SUMS

FIGURES = "results/figures/"
TABLES = (".tsv", BLOCKS_ENDING)
DATA_SETS = "results/world/"  # of the generated data, which a rerun makes again, some are TSVs
PROGRAM = ["Snakefile", "workflow", "profiles", "envs", "Makefile", "requirements.txt", "pyproject.toml", "CITATION.cff",
           "CHANGELOG.md", "LICENSE"]  # fmt: skip
CONFIGURATION, RESOLVED = "config", "configuration.yaml"


def results(made: Iterable[str]) -> list[str]:
    """Of the files that a run made: figures with their captions and page, and tables with what stands beside them; no data
    sets, no checkpoints, no activations."""
    return [
        name
        for name in made
        if name.startswith(FIGURES) or (name.endswith(TABLES) and not name.startswith(DATA_SETS))
    ]


def sources(root: Path, names: Iterable[str]) -> dict[str, Path]:
    """Files by their names below `root`, folders with all that is in them but what Python compiled."""
    found = {}
    for name in names:
        paths = sorted((root / name).rglob("*")) if (root / name).is_dir() else [root / name]
        found |= {
            path.relative_to(root).as_posix(): path
            for path in paths
            if path.is_file() and "__pycache__" not in path.parts
        }
    return found


def readme(about: Mapping[str, str]) -> str:
    """What a person reads first; `about` as for `crate.metadata`."""
    return f"""# {about["heading"]}

`{about["command"]}` made these results; the last was finished at {about["finished"]}.

- **Look**: open `results/figures/index.html` in a browser. Beside each figure stand its numbers (`.tsv`) and its caption
  (`.txt`); the tables that it was made from are in the other folders of `results/`.
- **Check**: `sha256sum -c {SUMS}`, in the folder where this is unpacked.
- **Configuration**: `config/` as it was edited, `{RESOLVED}` complete.
- **Make it again**: unpack this in a new folder, delete `results/`, call `make venv` and `. .venv/bin/activate`, and then the
  command above. `make verify ARCHIVE=FILE`, with the file that this was unpacked from, says what came out otherwise.
- **Cite**: `CITATION.cff`.
"""
