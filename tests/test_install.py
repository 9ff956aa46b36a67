"""The library as pip installs it: a wheel from this folder works where there is no clone."""

import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from conftest import ROOT
from made_encoders import TEXTS, model_of, tokenizer_of
from packaging.requirements import Requirement

from bertshift.models.loading import save_model

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
    # As below the shell of a notebook that is not installed.
    environment = {"PYTHONPATH": str(folder), "MPLBACKEND": "module://not_installed.inline"}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """A folder that holds what a wheel holds."""
    folder = tmp_path_factory.mktemp("site")
    with ZipFile(wheel) as archive:
        for name in archive.namelist():
            archive.extract(name, folder)
    return folder


def test_the_wheel_brings_the_library_and_the_demos_world(installed):
    packages = {
        path.name for path in installed.iterdir() if path.suffix not in (".data", ".dist-info")
    }
    assert packages == {"bertshift", "demo_world", "snakemake_logger_plugin_jobs"}
    assert (installed / "demo_world/lexicon.yaml").is_file()


def test_the_wheel_works_without_a_clone(installed):
    said, place = python("-c", NO_CLONE, folder=installed).rsplit(maxsplit=1)
    assert said == f"bertshift {PROJECT['version']}" and place.startswith(str(installed))


def test_the_wheel_has_all_that_is_no_code(installed):
    library = ROOT / "workflow/bertshift"
    others = [
        file
        for file in library.rglob("*")
        if file.is_file() and file.suffix not in (".py", ".pyc")
    ]
    assert len(others) > 6
    lacking = [
        file.name
        for file in others
        if not (installed / "bertshift" / file.relative_to(library)).is_file()
    ]
    [beside] = installed.glob("*.data/data/share/bertshift")
    shipped = {str(file.relative_to(beside)) for file in beside.rglob("*.*")}
    kinds = ("config/**/*.yaml", "workflow/schemas/*.yaml", "workflow/scripts/*.py")
    ours = {str(file.relative_to(ROOT)) for kind in kinds for file in ROOT.glob(kind)}
    assert not lacking and shipped == ours


def test_the_base_replaces_no_package_that_would_do():
    for need in map(Requirement, PROJECT["dependencies"]):
        assert {each.operator for each in need.specifier} <= {">="}, need


def needed(requirements, found):
    """The distributions that pip installs for these requirements, as far as they are installed
    here."""
    for requirement in map(Requirement, requirements or ()):
        if requirement.name not in found and (
            not requirement.marker or requirement.marker.evaluate({"extra": ""})
        ):
            found[requirement.name] = distribution(requirement.name)
            needed(found[requirement.name].requires, found)
    return found.values()


@pytest.fixture(scope="session")
def environment(installed, tmp_path_factory):
    """Call it for a folder with the library and links to what its base and `more` need, and
    nothing else."""

    def made(*more):
        folder = tmp_path_factory.mktemp("environment")
        for each in needed([*PROJECT["dependencies"], *more], {}):
            for top in {file.parts[0] for file in each.files} - {"..", "__pycache__"}:
                link = folder / Path(top).name
                if not link.exists():
                    link.symlink_to(Path(each.locate_file(top)).absolute())
        for part in installed.iterdir():
            (folder / part.name).symlink_to(part)
        return folder

    return made


@pytest.fixture(scope="session")
def two_models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    for seed, name in enumerate(("one", "other")):
        save_model(
            folder / name,
            model_of("bert", seed, vocab_size=len(tokenizer_of("bert"))),
            tokenizer_of("bert"),
        )
    (folder / "texts.txt").write_text(
        "\n".join([*TEXTS, f"{TEXTS[0]}\t{TEXTS[1]}"]) + "\n", encoding="utf-8"
    )
    return folder


@pytest.mark.slow("an environment")
def test_the_base_compares_two_models_and_draws_with_an_extra(environment, two_models):
    asked = [
        "-S",
        "-m",
        "bertshift",
        "compare",
        two_models / "one",
        two_models / "other",
        "--texts",
    ]
    asked += [two_models / "texts.txt"]
    base = environment()
    printed = python(*asked, folder=base)
    heads = [line.split() for line in printed.splitlines()]
    assert ["layer", "rsa", "svcca", "cka", "js", "cosine"] in heads
    out = ["--out", two_models / "out"]
    tables, pictures = ("change.tsv", "texts.tsv", "words.tsv"), ("change.png", "index.html")
    printed += "".join(f"{two_models}/out/{name}\n" for name in tables)
    assert python(*asked, *out, folder=base) == printed
    printed += "".join(f"{two_models}/out/{name}\n" for name in pictures)
    drawing = environment(*PROJECT["optional-dependencies"]["plot"])
    assert python(*asked, *out, folder=drawing) == printed
    assert {file.name for file in (two_models / "out").iterdir()} == {*tables, *pictures}
