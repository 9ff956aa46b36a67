import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

from bertshift.errors import UserError
from bertshift.release.contents import name_in_archive, program
from bertshift.release.finished import made

HEADER = "Building DAG of jobs...\noutput_file\tdate\trule\tlog-file(s)\tstatus\tplan\n"


def summary(*rows):
    return HEADER + "".join(
        f"{name}\t-\trule\tlog\t{status}\t{plan}\n" for name, status, plan in rows
    )


FIGURE = ("results/figures/hao2020/figure1.png", "ok", "no update")
TABLE = ("results/rsa/rte_vs_base.tsv", "ok", "no update")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [TABLE, (FIGURE[0], "missing", "update pending")],
            f"not finished: {FIGURE[0]} is missing\\.",
        ),
        (
            [FIGURE, (TABLE[0], "params changed", "update pending")],
            rf"{TABLE[0]} is out of date \(params changed\)\.",
        ),
        (
            [(TABLE[0], "params changed", "update pending"), (FIGURE[0], "ok", "update pending")],
            f"{FIGURE[0]} is made from what will be made again, and so on for 2 files",
        ),
    ],
)
def test_a_run_that_is_not_finished_is_a_sentence(rows, said):
    with pytest.raises(UserError, match=said):
        made(summary(*rows))


PROGRAM = ["Snakefile", "workflow/Snakefile", "workflow/bertshift/naming.py", "config/experiments.yaml", "config/README.md"]  # fmt: skip
PRIVATE = [
    "config/.env",
    "workflow/to do.txt",
    "envs/bertshift.sif",
    "workflow/.kept/naming.py",
    "workflow/a.pyc",
]


@pytest.fixture
def copy(tmp_path):
    for name in PROGRAM + PRIVATE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".gitignore").write_text("*.sif\n*.pyc\n")
    return tmp_path


def git(folder, *command):
    subprocess.run(["git", *command], cwd=folder, check=True)


def test_the_program_is_what_git_tracks(copy):
    (copy / "workflow/new.py").touch()
    git(copy, "init", "--quiet")
    git(copy, "add", *PROGRAM)
    found, others = program(copy)
    assert found == {name: copy / name for name in sorted(PROGRAM)}
    assert sorted(others) == [
        "config/.env",
        "workflow/.kept/naming.py",
        "workflow/new.py",
        "workflow/to do.txt",
    ]


@pytest.mark.parametrize("within", ["no repository", "a repository of something else"])
def test_without_git_the_program_is_the_files_of_its_kinds(copy, within):
    if within != "no repository":
        git(copy, "init", "--quiet")
    found, others = program(copy)
    assert sorted(found) == sorted(PROGRAM) and not others


@pytest.mark.parametrize("why", ["another's folder", "a broken index", "git is not installed"])
def test_where_git_does_not_answer_nothing_is_published(copy, monkeypatch, why):
    git(copy, "init", "--quiet")
    git(copy, "add", *PROGRAM)
    match why:
        case "another's folder":
            monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
        case "a broken index":
            (copy / ".git/index").write_text("no index")
        case "git is not installed":
            monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match="git does not tell"):
        program(copy)
    with pytest.raises(UserError, match="git does not tell"):
        program(copy / "workflow")


def test_a_file_of_the_configuration_keeps_its_place_below_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = [
        "mine/experiments.yaml",
        tmp_path / "a.yaml",
        ROOT / "config/edges.yaml",
        "../other/experiments.yaml",
    ]
    placed = [name_in_archive(Path(file), ROOT) for file in files]
    assert placed == [
        "mine/experiments.yaml",
        "a.yaml",
        "config/edges.yaml",
        "config/elsewhere/experiments.yaml",
    ]
