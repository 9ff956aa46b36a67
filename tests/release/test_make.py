"""The targets of the Makefile that read archives, with names of files as people give them."""

import os
import subprocess

import pytest
from conftest import ROOT


@pytest.fixture
def make(tmp_path):
    """Run a target in a folder whose python prints its arguments, one a line."""
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nshift 2\nprintf "%s\\n" "$@"\n')
    python.chmod(0o755)
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / ".venv/.installed").touch()
    for name in ("my run.zip", "it's.zip", "a.zip", "b.zip"):
        (tmp_path / name).touch()

    def run(*arguments):
        command = ["make", "-s", *arguments]
        environment = {"PATH": os.environ["PATH"]}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)  # fmt: skip
        return done.stdout.splitlines()

    return run


@pytest.mark.parametrize("target, variable", [
    ("verify", "ARCHIVE"), ("redraw", "ARCHIVE"), ("compare", "ARCHIVES"),
])  # fmt: skip
@pytest.mark.parametrize("value, files", [
    ("my run.zip", ["my run.zip"]), ("it's.zip", ["it's.zip"]), ("a.zip", ["a.zip"]), ("", []),
    ("a.zip b.zip", ["a.zip", "b.zip"]), ("'my run.zip' a.zip", ["my run.zip", "a.zip"]),
    ("absent.zip", ["absent.zip"]),
])  # fmt: skip
def test_archives_are_named_with_and_without_spaces(make, target, variable, value, files):
    assert make(target, f"{variable}={value}") == [target, *files]
    options = ["OPTIONS=--only 'hao2020'"]
    assert make(target, f"{variable}={value}", *options) == [target, "--only", "hao2020", *files]


@pytest.mark.parametrize("target, variable", [("redraw", "ARCHIVE"), ("compare", "ARCHIVES")])
def test_a_folder_to_write_into_has_a_space(make, target, variable):
    assert make(target, f"{variable}=a.zip", "OUT=my again") == [
        target,
        "--out",
        "my again",
        "a.zip",
    ]
