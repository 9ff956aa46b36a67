"""Where the configuration, its schemas and the scripts of the rules are, which are not part of the
package."""

from contextlib import suppress
from importlib import metadata
from pathlib import Path


def find_root() -> Path:
    """Return the folder that has `config/` and `workflow/`: the clone, or what an installation has
    of it in its share/bertshift."""
    clone = Path(__file__).parents[2]
    if (clone / "pyproject.toml").is_file():
        return clone
    with suppress(metadata.PackageNotFoundError):
        for file in metadata.files("bertshift") or ():
            if file.match("share/bertshift/config/experiments.yaml"):
                return Path(file.locate()).resolve().parents[1]
    return clone


ROOT = find_root()
SCRIPTS = ROOT / "workflow/scripts"
