"""What a run costs its driver, and what it is answered that meets another: snakemake itself, with one small job."""

import subprocess
import sys

import pytest
from conftest import TINY

from bertshift.config import merge
from bertshift.files import write_json
from bertshift.running import driver

TARGET = "results/world/README.txt"
# Says of each timer that it is started.
WATCHED = """
import sys, threading
start = threading.Timer.start
threading.Timer.start = lambda timer: (print("timer", timer.interval), start(timer))
from snakemake.cli import main
main()
"""


@pytest.fixture
def project(copy_project):
    project = copy_project()
    config = merge(project.config, {"world": TINY["world"]})
    project.config = config | {"figures": {"hao2020": {"figure1": config["figures"]["hao2020"]["figure1"]}}}
    return project


def test_the_scheduler_starts_no_timers(project):
    def timers(*arguments):
        command = [sys.executable, "-c", WATCHED, TARGET, "--force", *arguments]
        done = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [line for line in done.stdout.splitlines() if line.startswith("timer")]

    assert not timers(), (
        "Snakemake limits the rate of jobs again, and its timers will cost half a core after some hundred jobs: see "
        "preparing in workflow/rules/hooks.smk, and JobScheduler._schedule_reevalutation."
    )
    assert timers("--max-jobs-per-timespan", "50/1s")  # who asks for a limit gets it


@pytest.fixture
def at_work(project):
    """Record this test's process as a snakemake at work in the project, beside another's lock;
    yield the words by which others are told of it."""
    record = driver._describe()
    write_json(project.folder / driver.RECORDS / f"{record['name']}.json", record)
    lock = project.folder / ".snakemake/locks/0.output.lock"
    lock.parent.mkdir()
    lock.write_text("results/elsewhere.tsv\n")
    yield f"(process {record['pid']} on {record['host']}) is at work in this folder"
    assert lock.exists()


@pytest.mark.parametrize("command", [[TARGET], ["--unlock"]])
def test_beside_a_run_another_is_refused(project, at_work, command):
    printed = project.snakemake(*command, check=False)
    assert (
        at_work in printed and "Call this again when it has ended" in printed and "Traceback" not in printed
    )
    assert not (project.folder / TARGET).exists()


def test_beside_a_run_what_makes_no_files_is_done(project, at_work):
    for command in ([TARGET, "--dry-run"], [TARGET, "--summary"], ["plan"]):
        assert f"{at_work}: what it is making now counts as not made." in project.snakemake(*command)


# A cluster whose node is this machine: it edits a module after the driver has planned, and before the job is read.
CLUSTER = """
import os, subprocess
from pathlib import Path
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.settings import CommonSettings

common_settings = CommonSettings(
    non_local_exec=True, implies_no_shared_fs=False, job_deploy_sources=False, pass_envvar_declarations_to_cmd=True,
    pass_default_storage_provider_args=True, pass_default_resources_args=True, auto_deploy_default_storage_provider=False,
    init_seconds_before_status_checks=0,
)

class Executor(RemoteExecutor):
    def run_job(self, job):
        if "EDITED" in os.environ:
            with open(os.environ["EDITED"], "a") as module:
                module.write("ADDED = 1\\n")
        info = SubmittedJobInfo(job, aux=subprocess.run(self.format_job_exec(job), shell=True).returncode)
        self.report_job_submission(info)

    async def check_active_jobs(self, jobs):
        for info in jobs:
            self.report_job_error(info) if info.aux else self.report_job_success(info)
        return
        yield

    def cancel_jobs(self, jobs):
        pass
"""
VOCABULARY = "results/vocabularies/demo-uncased/tokenizer.json"
EMPTY = """
from pathlib import Path
for file in snakemake.output:
    Path(file).write_text("")
"""


@pytest.mark.parametrize("edited", [True, False])
def test_a_cluster_job_fails_whose_code_is_not_that_which_the_driver_planned(
    project, tmp_path, monkeypatch, edited
):
    (tmp_path / "snakemake_executor_plugin_pretended").mkdir()
    (tmp_path / "snakemake_executor_plugin_pretended/__init__.py").write_text(CLUSTER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for name in ("world", "vocabulary"):
        script = project.folder / f"workflow/scripts/{name}.py"
        script.write_text(EMPTY)
    if edited:
        monkeypatch.setenv("EDITED", str(script))
    # A process of its own: snakemake looks for its plugins when it is imported.
    command = [
        sys.executable, "-m", "snakemake", VOCABULARY, "--executor", "pretended", "--jobs", "1", "--retries", "0",
        "--seconds-between-status-checks", "0",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=False)
    printed = done.stdout + done.stderr
    assert (
        "was made from other code, settings or files of your own than this run had been planned" in printed
    ) == edited
    assert (project.folder / VOCABULARY).exists() != edited and "Traceback" not in printed
    if not edited:
        assert not project.reruns(VOCABULARY)
