"""The library as pip installs it: a wheel from this folder works where there is no clone."""

import subprocess
import sys
import tomllib
from zipfile import ZipFile

import pytest
from conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NO_CLONE = """
import sys, bertshift
assert not {"torch", "numpy", "transformers"} & {*sys.modules}, "importing the package must cost nothing"
from bertshift import version
from bertshift.rows import blocks
print(version.version(), bertshift.__file__)
"""


def python(*arguments, folder):
    """What it prints; without the clone on its path."""
    command = [sys.executable, "-P", *map(str, arguments)]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(folder)}
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="session")
def installed(copy_project, tmp_path_factory):
    """A folder that holds what a wheel holds."""
    folder = tmp_path_factory.mktemp("wheel")
    build = f"from setuptools import build_meta; build_meta.build_wheel({str(folder)!r})"
    python("-c", build, folder=copy_project().folder)
    [wheel] = folder.glob("*.whl")
    with ZipFile(wheel) as archive:
        for name in archive.namelist():
            archive.extract(name, folder / "site")
    return folder / "site"


def test_the_wheel_brings_one_package(installed):
    assert [path.name for path in installed.iterdir() if path.suffix not in (".data", ".dist-info")] == [
        "bertshift"
    ]


def test_the_wheel_works_without_a_clone(installed):
    said, place = python("-c", NO_CLONE, folder=installed).rsplit(maxsplit=1)
    assert said == f"bertshift {PROJECT['version']}" and place.startswith(str(installed))


def test_the_wheel_has_all_that_is_no_code(installed):
    library = ROOT / "workflow/bertshift"
    others = [file for file in library.rglob("*") if file.is_file() and file.suffix not in (".py", ".pyc")]
    assert len(others) > 6
    lacking = [
        file.name for file in others if not (installed / "bertshift" / file.relative_to(library)).is_file()
    ]
    shipped = {file.name for file in installed.glob("*.data/data/share/bertshift/**/*.yaml")}
    beside = [*(ROOT / "config").glob("**/*.yaml"), *(ROOT / "workflow/schemas").glob("*.yaml")]
    assert not lacking and {file.name for file in beside} == shipped


def test_the_base_needs_five_packages():
    assert {need.partition(">")[0] for need in PROJECT["dependencies"]} == {
        "numpy", "scipy", "pandas", "torch", "transformers"
    }  # fmt: skip
