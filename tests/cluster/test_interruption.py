"""What disturbs a run costs time, nothing else: the same command again goes on from the last checkpoint."""

import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from cluster.conftest import ON_SLURM, RUN, Interrupted


@pytest.fixture
def interrupted(undisturbed, tmp_path):
    project = Interrupted(undisturbed, tmp_path / "clone")
    yield project
    project.kill_driver()


def test_a_killed_training_goes_on(interrupted, assert_undisturbed):
    interrupted.train()
    for process in interrupted.training():
        process.kill()
    assert interrupted.wait() == 1
    interrupted.again()
    assert_undisturbed(interrupted)


def test_a_dead_driver_leaves_neither_lock_nor_process(interrupted, assert_undisturbed):
    interrupted.start()
    interrupted.wait_for(".snakemake/locks/0.output.lock")
    refused = interrupted.snakemake(*interrupted.arguments, check=False)
    assert "Directory cannot be locked" in refused
    interrupted.wait_for(f"{RUN}/.checkpoint")
    interrupted.kill_driver()
    (orphan,) = interrupted.training()
    interrupted.again()
    assert not orphan.is_running()
    assert_undisturbed(interrupted)


@pytest.fixture
def on_small_disk(undisturbed, tmp_path):
    """On a disk of its own, which can be filled."""
    folder = tmp_path / "clone"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64m", "tests", str(folder)]
    if os.getuid() or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("no disk to fill: mounting one takes root and the right to")
    try:
        project = Interrupted(undisturbed, folder)
        yield project
        project.kill_driver()
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_loses_nothing(on_small_disk, assert_undisturbed):
    on_small_disk.train()
    filler = on_small_disk.folder / "filler"
    with open(filler, "wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(2**16))
    assert on_small_disk.wait() == 1
    assert "error: no space left on the disk; free some" in on_small_disk.printed.read_text()
    filler.unlink()
    on_small_disk.again()
    assert_undisturbed(on_small_disk)


def cancelled(slurm, project):
    project.train(*ON_SLURM)
    slurm.run("scancel", running(slurm, project))
    project.wait()


def out_of_time(slurm, project):
    project.train(*ON_SLURM)
    # Slurm looks at time limits twice a minute, and wakes whom it tells to stop.
    for process in project.training():
        process.suspend()
    slurm.run("scontrol", "update", f"JobId={running(slurm, project)}", "EndTime=now")
    project.wait()


def driver_dies(slurm, project):
    project.train(*ON_SLURM)
    project.kill_driver()
    assert running(slurm, project)
    project.said = project.again()


def driver_dies_and_job_ends(slurm, project):
    project.train(*ON_SLURM)
    project.kill_driver()
    while running(slurm, project):
        time.sleep(0.2)
    project.said = project.again()


@pytest.fixture(scope="module")
def after(slurm, undisturbed, tmp_path_factory):
    """Of each fault the project afterwards; all at once, as they mostly wait for the next look at Slurm's queue."""
    folder = tmp_path_factory.mktemp("faults")

    def disturb(fault):
        project = Interrupted(undisturbed, folder / fault.__name__)
        fault(slurm, project)
        project.jobs = jobs(slurm, project)
        return project

    with ThreadPoolExecutor() as pool:
        begun = {
            fault: pool.submit(disturb, fault)
            for fault in (cancelled, out_of_time, driver_dies, driver_dies_and_job_ends)
        }
    return lambda fault: begun[fault].result()


@pytest.mark.parametrize(("fault", "state"), [(cancelled, "CANCELLED"), (out_of_time, "TIMEOUT")])
def test_an_ended_job_is_sent_again(after, assert_undisturbed, fault, state):
    project = after(fault)
    assert project.driver.returncode == 0
    assert [job["JobState"] for job in project.jobs] == [state, "COMPLETED"]
    assert_undisturbed(project)


def test_jobs_of_a_dead_driver_are_not_run_twice(after, assert_undisturbed):
    project = after(driver_dies)
    assert f"process {project.driver.pid}" in project.said and "Slurm jobs: 1" in project.said
    first, second = project.jobs
    assert first["JobState"] == "CANCELLED" and first["EndTime"] <= second["StartTime"]
    assert_undisturbed(project)


def test_what_a_dead_driver_left_running_counts_once_finished(after):
    project = after(driver_dies_and_job_ends)
    assert "Nothing to be done" in project.said and len(project.jobs) == 1
    config = project.config
    config["tasks"]["rte"]["learning_rate"] = 3e-5
    project.config = config
    assert project.reruns(f"{RUN}/scores.json") == {"finetune model=rte, init=1, seed=1"}


def jobs(slurm, project) -> list[dict]:
    found = [job for job in slurm.jobs() if job["WorkDir"] == str(project.folder)]
    return sorted(found, key=lambda job: int(job["JobId"]))


def running(slurm, project) -> str:
    """The id of its job that is not over yet."""
    return "".join(
        job["JobId"] for job in jobs(slurm, project) if job["JobState"] in ("RUNNING", "COMPLETING")
    )
