"""The files that a run has made, by Snakemake's summary, which also shows whether it is
finished."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bertshift.errors import UserError

SNAKEFILES = [Path("Snakefile"), Path("workflow/Snakefile")]
DONE, TEMPORARY = "no update", "removed temp file"  # words of `snakemake --summary`


def summary(targets: Sequence[str], options: Sequence[str] = ()) -> str:
    """Ask Snakemake for its summary of every file on the way to these targets, in this folder.
    UserError if it plans no such run."""
    if not any(map(Path.is_file, SNAKEFILES)):
        raise UserError(
            f"there is no Snakefile in {Path.cwd()}, and an archive holds the program as well;"
            " make this run in a clone of its own, with this folder's keys in"
            " config/experiments.yaml, and archive that."
        )
    command = [sys.executable, "-m", "snakemake", *targets, "--summary", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"snakemake does not plan {' '.join(targets)}:\n{done.stderr.strip()}")
    return done.stdout


def made(summary: str) -> list[str]:
    """List the files of a finished run, without temporary ones. UserError where one is missing or
    out of date."""
    _, _, rows = summary.partition("output_file\t")
    names, unfinished = [], {}
    for row in rows.splitlines()[1:]:
        name, *_, status, plan = row.split("\t")
        if plan != DONE:
            unfinished[name] = status
        if status != TEMPORARY:
            names.append(name)
    if unfinished:
        # Name a figure if there is one, and a missing file rather than an outdated one.
        first, status = min(
            unfinished.items(),
            key=lambda file: (not file[0].startswith("results/figures/"), file[1] != "missing"),
        )
        if status == "missing":
            problem = "is missing"
        elif status == "ok":
            problem = "is made from what will be made again"
        else:
            problem = f"is out of date ({status})"
        if len(unfinished) > 1:
            problem += f", and so on for {len(unfinished)} files"
        raise UserError(
            f"the run is not finished: {first} {problem}. Finish it first; `snakemake -n` with"
            " the same targets says what is left."
        )
    return names
