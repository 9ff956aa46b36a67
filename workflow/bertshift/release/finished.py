"""The files that a run has made, and whether it is finished, as Snakemake sees it."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bertshift.errors import UserError

SNAKEFILES = [Path("Snakefile"), Path("workflow/Snakefile")]
DONE, TEMPORARY = "no update", "removed temp file"  # as `snakemake --summary` says it


def summary(targets: Sequence[str], options: Sequence[str] = ()) -> str:
    """Ask Snakemake for its summary of every file on the way to these targets, in this folder.
    Raise UserError if it plans no such run."""
    if not any(map(Path.is_file, SNAKEFILES)):
        raise UserError(
            f"there is no Snakefile in {Path.cwd()}, and an archive holds the program as well;"
            " make this run in a clone of its own, with this folder's keys in"
            " config/experiments.yaml, and archive that."
        )
    command = [sys.executable, "-m", "snakemake", *targets, "--summary", *options]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    if asked.returncode:
        raise UserError(f"snakemake does not plan {' '.join(targets)}:\n{asked.stderr.strip()}")
    return asked.stdout


def made(summary: str) -> list[str]:
    """List the files of a finished run but temporary ones. Raise UserError where one is missing or
    out of date."""
    _, _, rows = summary.partition("output_file\t")
    files = [row.split("\t") for row in rows.splitlines()[1:]]
    left = {name: status for name, *_, status, plan in files if plan != DONE}
    if left:
        # The file that a reader knows best comes first.
        first = min(
            left,
            key=lambda name: (not name.startswith("results/figures/"), left[name] != "missing"),
        )
        why = {"missing": "is missing", "ok": "is made from what will be made again"}
        said = why.get(left[first], f"is out of date ({left[first]})")
        more = f", and so on for {len(left)} files" if len(left) > 1 else ""
        raise UserError(
            f"the run is not finished: {first} {said}{more}. Finish it first; `snakemake -n` with"
            " the same targets says what is left."
        )
    return [name for name, *_, status, _ in files if status != TEMPORARY]
