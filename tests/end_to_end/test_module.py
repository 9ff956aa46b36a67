"""The workflow in a workflow of somebody else's: as a module with a task of their own, and
deployed from a git host."""

import shutil
import subprocess
import sys
import sysconfig

import pytest
import yaml
from conftest import ROOT, TINY, Project

from bertshift.config import merge, read_yaml

pytestmark = pytest.mark.slow("whole workflow")

# Their rules have names and habits of their own; one is called as one of ours is.
THEIRS = """
configfile: "config/theirs.yaml"


module bertshift:
    snakefile:
        "{snakefile}"
    config:
        config["layers"]


use rule * from bertshift as layers_*


rule kept:
    output:
        "kept.txt",
    shell:
        "echo 1 > {{output}}"


rule rsa:
    input:
        "results/rsa/mytask_vs_base.tsv",
        "kept.txt",
    output:
        "most.txt",
    log:
        "rsa.log",
    script:
        "scripts/most.py"
"""
SCRIPT = """
import csv, os

rows = csv.DictReader(open(snakemake.input[0]), delimiter="\\t")
least = min(rows, key=lambda row: float(row["value"]))
with open(snakemake.output[0], "w") as file:
    print(least["layer"], os.environ.get("HF_HUB_OFFLINE"), file=file)
"""
TASK = {
    "datasets": {
        "mine": {
            "kind": "pair",
            "format": "glue_tsv",
            "mirror": {"train": "glue/RTE/train.tsv", "dev": "glue/RTE/dev.tsv"},
            "columns": {"text_a": "sentence1", "text_b": "sentence2", "label": "label"},
            "labels": {"entailment": "entailment", "not_entailment": "not_entailment"},
        }
    }
}


def project(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return Project(folder)


def settings(*more):
    shipped = read_yaml(ROOT / "config/experiments.yaml")
    shipped["tasks"]["mytask"] = shipped["tasks"]["rte"] | {"dataset": "mine"}
    for each in (TINY, TASK, *more):
        shipped = merge(shipped, each)
    return yaml.safe_dump(shipped, sort_keys=False)


def test_beside_rules_of_their_own(tmp_path):
    theirs = project(
        tmp_path / "theirs",
        {
            "Snakefile": THEIRS.format(snakefile=ROOT / "workflow/Snakefile"),
            "config/theirs.yaml": "layers: {experiments: bertshift/experiments.yaml}\n",
            # A data set of theirs, which is none of ours.
            "config/datasets.yaml": "birds: 7\n",
            "bertshift/experiments.yaml": settings(),
            "scripts/most.py": SCRIPT,
        },
    )
    log = theirs.snakemake("most.txt", "--cores", "2")
    layer, offline = (theirs.folder / "most.txt").read_text().split()
    assert layer == "2" and offline == "None"
    assert (
        "rule layers_rsa" in log and (theirs.folder / "logs/rsa/mytask_vs_base.cost.tsv").exists()
    )
    assert not list(theirs.folder.glob("*.cost.tsv"))
    assert theirs.jobs("most.txt", "--cores", "2") == {}


@pytest.fixture
def git_host(copy_project, tmp_path, monkeypatch):
    """A host that git takes for github.com, with this workflow as lab/bertshift, tagged v1."""
    host, work = tmp_path / "host/lab/bertshift", copy_project().folder
    settings = tmp_path / "gitconfig"
    settings.write_text(
        f'[url "file://{tmp_path}/host/"]\n\tinsteadOf = https://github.com/\n'
        "[user]\n\tname = lab\n\temail = lab@example.invalid\n[init]\n\tdefaultBranch = main\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for command in (
        ["init", "--quiet"],
        ["add", "--all"],
        ["commit", "--quiet", "--message", "v1"],
        ["tag", "v1"],
        ["clone", "--quiet", "--bare", ".", str(host)],
    ):
        subprocess.run(["git", *command], cwd=work, check=True)


OF_A_TAG = """
configfile: "config/config.yaml"


module bertshift:
    snakefile:
        github("lab/bertshift", path="workflow/Snakefile", tag="v1")
    config:
        config


use rule * from bertshift
"""


@pytest.fixture
def without_clone(wheel, tmp_path, monkeypatch):
    """The python of an environment that has the library from its wheel, and all else from the one
    that runs the tests."""
    monkeypatch.delenv("PYTHONPATH")
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = environment / "bin/python"
    [packages] = environment.glob("lib/python*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", wheel], check=True)
    return python


def test_from_a_git_host_with_an_installed_library(git_host, without_clone, tmp_path):
    folder = tmp_path / "mine"
    files = {
        "workflow/Snakefile": OF_A_TAG,
        "config/config.yaml": "experiments: config/experiments.yaml\n",
        "config/experiments.yaml": settings({"bases": {"base": {"seeds": 1}}}),
    }
    project(folder, files)
    table = folder / "results/spectra/rte_vs_base.tsv"
    run = [without_clone, "-m", "snakemake", table.relative_to(folder), "--cores", "2"]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert table.read_text().count("\nspectra\trte\tbase\t") > 10


def test_deployed_from_a_git_host(git_host, tmp_path):
    deploy = shutil.which("snakedeploy")
    if not deploy:
        pytest.skip("no snakedeploy: pip install snakedeploy")
    folder = tmp_path / "empty"
    source = "https://github.com/lab/bertshift"
    subprocess.run([deploy, "deploy-workflow", source, str(folder), "--tag", "v1"], check=True)
    mine = Project(folder)
    mine.config = yaml.safe_load(settings())
    # Its copies of our files are the user's to edit.
    scale = folder / "config/scales/demo.yaml"
    scale.write_text(scale.read_text().replace("seed: 1", "seed: 2", 1))
    mine.snakemake("results/vocabularies/demo-uncased/tokenizer.json")
    assert "seed: 2" in (folder / "results/world/README.txt").read_text()
    assert sum(mine.jobs("figures/all").values()) > 200
