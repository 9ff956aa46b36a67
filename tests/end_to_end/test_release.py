"""A finished run becomes an archive, an archive is checked against a rerun, and an unfinished run
is refused."""

import os
import subprocess
import sys
from zipfile import ZipFile

import pytest
import yaml
from conftest import Project
from made_archives import data_of_page
from PIL import Image

from bertshift.files import read_tsv, write_tsv

pytestmark = pytest.mark.slow("whole workflow")

TABLE = "results/rsa/rte_vs_base.tsv"


def release(folder, *arguments):
    """(exit status, what it printed) of `python -m bertshift.release`, as `make` calls it."""
    command = [sys.executable, "-m", "bertshift.release", *arguments]
    environment = os.environ | {"PYTHONPATH": "workflow"}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)  # fmt: skip
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def archived(finished):
    # What is not the program's, and a file of the configuration under a name that stands there
    # already.
    (finished.folder / "config/.env").write_text("TOKEN=opensesame")
    (finished.folder / "mine/config").mkdir(parents=True)
    (finished.folder / "mine/config/experiments.yaml").write_text("threads: {analyse: 1}\n")
    status, printed = release(
        finished.folder, "write", "--configfile", "mine/config/experiments.yaml"
    )
    assert status == 0, printed
    return finished.folder / printed.partition(":")[0]


def test_an_archive_has_all_of_a_run_but_models_activations_and_data(finished, archived):
    with ZipFile(archived) as archive:
        names = set(archive.namelist())
        configuration = yaml.safe_load(archive.read("configuration.yaml"))
    figures = {
        file.relative_to(finished.folder).as_posix()
        for file in finished.folder.glob("results/figures/*/*.*")
    }
    assert (
        figures <= names
        and {TABLE, TABLE.replace(".tsv", ".blocks.npy"), "results/claims.tsv"} <= names
    )
    assert {
        "Snakefile",
        "CITATION.cff",
        "SHA256SUMS",
        "ro-crate-metadata.json",
        "results/figures/index.html",
    } <= names
    assert "mine/config/experiments.yaml" in names and "config/.env" not in names
    with ZipFile(archived) as archive:
        said = archive.read("README.md").decode()
    command = "snakemake figures/all --configfile mine/config/experiments.yaml"
    assert command in said
    assert configuration["tasks"]["dep"]["epochs"] == 1 and configuration["scale"] == "demo"
    endings = {name.rpartition(".")[2] for name in names if name.startswith("results/")}
    assert endings == {"png", "pdf", "tsv", "txt", "npy", "html"}
    assert not [name for name in names if name.startswith("results/world/")]
    assert archived.stat().st_size < 20e6


def test_the_program_in_an_archive_plans_the_same_run(finished, archived, tmp_path):
    with ZipFile(archived) as archive:
        archive.extractall(
            tmp_path, [name for name in archive.namelist() if not name.startswith("results/")]
        )
    again = Project(tmp_path).jobs("figures/all")
    assert again == finished.jobs("figures/all", "--forceall") and again["finetune"] > 10


def test_verify_says_what_a_rerun_has_otherwise(finished, archived, tmp_path):
    status, printed = release(finished.folder, "verify", str(archived))
    assert status == 0 and "is intact" in printed and printed.endswith("the same bytes here.\n"), (
        printed
    )
    there, before = finished.folder / TABLE, (finished.folder / TABLE).read_bytes()
    table = read_tsv(there)
    table.loc[0, "value"] -= 0.125
    try:
        write_tsv(there, table)
        status, printed = release(finished.folder, "verify", str(archived))
    finally:
        there.write_bytes(before)
    assert (
        status == 1
        and f"{TABLE} differs: `value` by at most 0.125 in 1 of {len(table)} rows.\n" in printed
    )


def test_verify_without_a_rerun_checks_the_archive_alone(copy_project, archived):
    fresh = copy_project().folder
    status, printed = release(fresh, "verify", str(archived))
    assert status == 0 and "None of its tables is here" in printed
    damaged = fresh / "damaged.zip"
    damaged.write_bytes(archived.read_bytes())
    with ZipFile(damaged, "a") as archive:
        archive.writestr("results/more.tsv", "value\n1\n")
    status, printed = release(fresh, "verify", str(damaged))
    assert status == 1 and "results/more.tsv does not belong there" in printed


def pixels(file):
    with Image.open(file) as image:
        return image.size, image.tobytes()


def test_the_tables_alone_are_drawn_again_to_the_same_figures_and_claims(
    finished, archived, tmp_path
):
    tables = archived.with_name(f"{archived.stem}-tables.zip")
    wanted = ("--only", "kovaleva2019", "--without", "*.pdf", "--out", str(tmp_path))
    status, printed = release(finished.folder, "redraw", str(tables), *wanted)
    assert status == 0 and "left out" not in printed, printed
    run = finished.folder / "results"
    there = {
        file.relative_to(run / "figures")
        for file in run.glob("figures/kovaleva2019/*.*")
        if file.suffix != ".pdf"
    }
    assert (
        there == {file.relative_to(tmp_path) for file in tmp_path.glob("*/*.*")}
        and len(there) > 30
    )
    for name in there:
        mine, theirs = tmp_path / name, run / "figures" / name
        if name.suffix == ".png":
            assert pixels(mine) == pixels(theirs), name
        else:
            assert mine.read_bytes() == theirs.read_bytes(), name
    assert (tmp_path / "claims.tsv").read_bytes() == (run / "claims/kovaleva2019.tsv").read_bytes()
    page = data_of_page((tmp_path / "index.html").read_text())
    assert "cosine" in page["pairs"]["mrpc_vs_base"]["measures"] and "mrpc" in page["examples"]
    with ZipFile(tables) as archive:
        names = archive.namelist()
    assert not [
        name
        for name in names
        if name.startswith("results/models/") or name.endswith((".png", ".py"))
    ]


def test_a_run_that_is_not_finished_is_refused(finished, tmp_path):
    figure = finished.folder / "results/figures/hao2020/figure1.png"
    kept = figure.rename(figure.with_suffix(".kept"))
    try:
        status, printed = release(finished.folder, "write")
    finally:
        kept.rename(figure)
    assert (
        status == 1
        and "the run is not finished: results/figures/hao2020/figure1.png is missing" in printed
    )
