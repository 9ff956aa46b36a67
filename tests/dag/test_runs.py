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
    project.config = merge(project.config, {"world": TINY["world"]})
    return project


def test_the_scheduler_starts_no_timers(project):
    def timers(*arguments):
        command = [sys.executable, "-c", WATCHED, TARGET, "--force", *arguments]
        done = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [line for line in done.stdout.splitlines() if line.startswith("timer")]

    assert not timers(), (
        "Snakemake limits the rate of jobs again, and its timers will cost half a core after some hundred jobs: see "
        "drop_default_rate in workflow/rules/hooks.smk, and JobScheduler._schedule_reevalutation."
    )
    assert timers("--max-jobs-per-timespan", "50/1s")  # who asks for a limit gets it


@pytest.fixture
def at_work(project):
    """As if the process of this test were a snakemake at work there, and another's lock lay there."""
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
