"""Commands of snakemake, each in a fork of a process that has imported it: importing is half of a
dry run.

As a program: reads commands from standard input, a line of JSON each, and answers each with its
exit status.
"""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import NamedTemporaryFile

# What every command imports that is not of the project in whose folder it runs.
SHARED = [
    "snakemake.cli", "snakemake.script", "snakemake.sourcecache", "git", "jsonschema", "nbformat", "pandas", "psutil", "yaml",
]  # fmt: skip
_idle: list[subprocess.Popen] = []


def snakemake(arguments: Iterable[str], folder: Path) -> tuple[int, str]:
    """Run the command in `folder` with this process's variables; its exit status, and everything
    it prints."""
    with NamedTemporaryFile("r") as printed:
        command = {
            "arguments": [*map(str, arguments)],
            "folder": str(folder),
            "printed": printed.name,
        }
        process = _idle.pop() if _idle else _started()
        print(
            json.dumps(command | {"variables": dict(os.environ)}), file=process.stdin, flush=True
        )
        status = int(process.stdout.readline())
        _idle.append(process)
        return status, printed.read()


def _started() -> subprocess.Popen:
    """Start a process that serves commands until this one ends."""
    return subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def serve() -> None:
    for name in SHARED:
        importlib.import_module(name)
    for line in sys.stdin:
        command = json.loads(line)
        if not (child := os.fork()):
            return be(**command)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def be(arguments: list[str], folder: str, printed: str, variables: dict[str, str]) -> None:
    """Be what `python -m snakemake` would be there."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    with open(os.devnull) as nothing, open(printed, "w") as output:
        for file, stream in ((nothing, sys.stdin), (output, sys.stdout), (output, sys.stderr)):
            os.dup2(file.fileno(), stream.fileno())
    sys.path[0], sys.argv = folder, ["snakemake", *arguments]
    if os.path.isdir(
        library := os.path.join(folder, "workflow")
    ):  # a copy has a library of its own
        os.environ["PYTHONPATH"] = library
    sys.path[1:1] = os.environ["PYTHONPATH"].split(os.pathsep)
    sys.modules["snakemake.cli"].main()


if __name__ == "__main__":
    serve()
