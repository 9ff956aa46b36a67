import ast
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions

import environments
import pytest
from conftest import ROOT, TINY
from snakemake import cli

from bertshift.config import merge
from bertshift.running import codegraph, gpus


@pytest.fixture
def parse(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("SNAKEMAKE_PROFILE", raising=False)

    def parse(*arguments):
        # The default profile looks at the command line itself.
        monkeypatch.setattr("sys.argv", ["snakemake", *arguments])
        return cli.parse_args(list(arguments))[1]

    return parse


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A user's copy of the example."""
    return shutil.copytree(
        ROOT / "profiles/site-example", tmp_path_factory.mktemp("home") / "mysite"
    )


def test_the_default_profile_gives_cores_and_gpus(parse):
    args = parse("figures/all")
    assert args.cores and set(args.resources) == {"gpu"}
    assert "code" not in {str(trigger).lower() for trigger in args.rerun_triggers}


@pytest.mark.parametrize("arguments", [["--configfile", "{}", "--forceall"], ["--configfile={}"]])
def test_a_configfile_that_is_not_yaml_is_named_with_its_line(parse, tmp_path, arguments):
    (tmp_path / "mine.yaml").write_text("seeds: 2\nscale: small: paper\n")
    with pytest.raises(SystemExit, match=r'(?s)This is not YAML; .*mine\.yaml", line 2'):
        parse(*(argument.format(tmp_path / "mine.yaml") for argument in arguments))


@pytest.mark.parametrize(
    ("visible", "number"),
    [(None, 77), ("2", 1), ("3,1", 2), ("GPU-8932f937, MIG-1", 2), ("1,-1,0", 1)],
)
def test_as_many_gpu_jobs_as_gpus_are_given(parse, monkeypatch, tmp_path, visible, number):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr("glob.glob", lambda pattern: [pattern] * 77)
    for index in range(77):
        (tmp_path / f"nvidia{index}").touch()
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert dict(parse("figures/all").resources)["gpu"].value == number == len(gpus.given(tmp_path))


@pytest.mark.parametrize("visible", ["", "-1", "NoDevFiles"])
def test_without_a_gpu_cores_alone_limit_jobs(parse, monkeypatch, visible):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    args = parse("figures/all")
    assert dict(args.resources)["gpu"].value == int(args.cores) and not gpus.given()


def test_nothing_of_it_limits_a_cluster(parse):
    args = parse("--profile", "slurm", "figures/all")
    assert args.executor == "slurm" and args.jobs and not args.cores
    assert {*dict(args.resources)} == {"in_group"}
    assert args.targets == ["figures/all"] or "figures/all" in args.targets


def test_the_slurm_profile_loses_nothing_in_the_place_of_the_default(parse):
    beside = vars(parse("--profile", "slurm", "figures/all"))
    alone = vars(parse("--workflow-profile", "profiles/slurm", "figures/all"))
    for given in (beside, alone):
        given["max_jobs_per_timespan"] = vars(given["max_jobs_per_timespan"])
    assert beside["executor"] == "slurm"
    assert {key for key in beside if beside[key] != alone[key]} == {"profile", "workflow_profile"}


def test_a_site_adds_to_the_slurm_profile(parse, site):
    alone, both = (
        parse("--profile", "slurm", "x"),
        parse("--profile", "slurm", "--profile", str(site), "x"),
    )
    assert both.slurm_partition_config == site / "partitions.yaml"
    assert "slurm_account" in both.default_resources and not alone.default_resources
    for key in (
        "executor",
        "jobs",
        "retries",
        "latency_wait",
        "keep_going",
        "cores",
        "local_cores",
    ):
        assert getattr(both, key) == getattr(alone, key), key


@pytest.fixture(scope="module")
def submissions(site):
    """The options of sbatch for jobs of the papers' experiments at attempts 1 and 2, by rule."""
    command = [
        sys.executable,
        "tests/dag/cluster_jobs.py",
        "slurm",
        str(site),
        "--",
        "scale=paper",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {
        name: [dict(re.findall(r"(?<= )(--?[a-zA-Z-]+)[ =](\S+)", call)) for call in calls]
        for name, calls in json.loads(done.stdout.splitlines()[-1]).items()
    }


def test_a_gpu_job_goes_to_a_gpu_partition(submissions):
    first = submissions["finetune"][0]
    assert first == first | {"-p": "gpu", "--gpus": "1", "-A": "myaccount", "--cpus-per-task": "8"}
    first = submissions["rsa"][0]
    assert (
        first == first | {"-p": "cpu", "-A": "myaccount", "--cpus-per-task": "4"}
        and "--gpus" not in first
    )


def test_the_login_node_downloads_and_reads_no_corpus(submissions):
    assert {"stimuli", "edges", "edge_sentences", "relations"} <= set(submissions)
    assert not {"dataset", "corpus", "checkpoint"} & set(submissions)


def test_every_job_asks_for_more_at_its_second_attempt(submissions):
    assert len(submissions) > 30
    for name, (first, second) in submissions.items():
        for option in ("-t", "--mem"):
            assert int(second[option]) == 2 * int(first[option]) > 0, name
        assert (first["-p"] == "gpu") == ("--gpus" in first), name
        assert int(first["-t"]) >= 10 and int(first["--mem"]) >= 2000, name
        # A third attempt fits into a day, which many clusters allow and no more.
        assert 3 * int(first["-t"]) <= 24 * 60, name


# ---- Environments
@pytest.mark.parametrize("name", environments.NEEDED)
def test_a_conda_environment_has_the_pinned_versions(name):
    text = (ROOT / f"envs/{name}.yaml").read_text()
    assert text.endswith(environments.environment(environments.NEEDED[name])), "run: make envs"
    assert not re.search(r"- (pytest|mkdocs|snakemake|ruff)", text)


def third_party(scripts):
    """Packages that these scripts and the library's modules behind them import."""
    files = codegraph.code_of(ROOT / f"workflow/scripts/{name}.py" for name in scripts)
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    names = [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    names += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return {name.partition(".")[0] for name in names} - {
        *sys.stdlib_module_names,
        *codegraph.PACKAGES,
    }


def test_each_environment_has_what_its_scripts_import():
    rules = "".join(file.read_text() for file in sorted((ROOT / "workflow/rules").glob("*.smk")))
    blocks = re.findall(r'envs/(\w+)\.yaml".*?scripts/(\w+)\.py', rules, re.DOTALL)
    distributions = packages_distributions()
    for name in environments.NEEDED:
        scripts = {script for environment, script in blocks if environment == name}
        packages = {one for package in third_party(scripts) for one in distributions[package]}
        text = (ROOT / f"envs/{name}.yaml").read_text()
        assert len(scripts) > 3 and not [one for one in packages if f"- {one}==" not in text], name


def test_the_container_installs_the_pinned_versions():
    recipe = (ROOT / "envs/bertshift.def").read_text()
    assert re.search(
        r"^%files\n +requirements.txt (\S+)\n(?:.*\n)*%post\n.* -r \1$", recipe, re.MULTILINE
    )
    assert f"From: python:{environments.PYTHON}-slim" in recipe


CONDA = """#!/bin/bash
case "$*" in
    "info --json") echo '{{"conda_prefix": "{prefix}", "platform": "linux-64"}}' ;;
    "--version") echo "conda 25.1.1" ;;
    "config --get"*) echo '{{"get": {{"channel_priority": "strict"}}}}' ;;
    "env create"*)
        while [ $# -gt 0 ]; do
            case "$1" in --file) file=$2 ;; --prefix) made=$2 ;; esac
            shift
        done
        cp "$file" "{prefix}/asked.yaml"
        mkdir -p "$made/bin"
        printf '#!/bin/sh\\necho "$1" >> "{prefix}/ran"\\nexec "{python}" "$@"\\n' > "$made/bin/python"
        chmod +x "$made/bin/python" ;;
esac
"""


def test_rules_run_in_the_conda_environment(copy_project, tmp_path, monkeypatch):
    """Rules run with a stand-in for conda, which makes only a python that records its use."""
    project, bin = copy_project(), tmp_path / "bin"
    project.config = merge(project.config, {"world": TINY["world"]})
    bin.mkdir()
    (bin / "conda").write_text(CONDA.format(prefix=tmp_path, python=sys.executable))
    (bin / "conda").chmod(0o755)
    (bin / "activate").write_text('PATH="$1/bin:$PATH"\n')
    monkeypatch.setenv("PATH", str(bin), prepend=os.pathsep)
    project.snakemake("results/world/README.txt", "--sdm", "conda")
    # No file beside it is named: Snakemake hands over a copy, elsewhere.
    assert (tmp_path / "asked.yaml").read_text() == (
        project.folder / "envs/compute.yaml"
    ).read_text()
    assert "world.py" in (tmp_path / "ran").read_text()


def test_a_container_that_is_not_built_is_a_sentence(copy_project):
    printed = copy_project().snakemake(
        "figures/all", "--dry-run", "--sdm", "apptainer", check=False
    )
    assert (
        "envs/bertshift.sif does not exist; build it first: apptainer build envs/bertshift.sif"
        in printed
    )
