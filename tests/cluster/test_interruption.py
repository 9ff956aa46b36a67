"""What disturbs a run costs time, nothing else: the same command again goes on from the last checkpoint."""

import os
import signal
import subprocess
import time

import pytest
from cluster.conftest import ON_SLURM, RUN


def test_a_killed_training_goes_on(interrupted, assert_undisturbed):
    interrupted.start()
    for process in interrupted.training():
        process.kill()
    assert interrupted.wait()[0] == 1
    interrupted.again()
    assert_undisturbed(interrupted)


def test_a_cancelled_job_is_sent_again(slurm, interrupted, assert_undisturbed):
    interrupted.start(*ON_SLURM)
    slurm.run("scancel", *(job["JobId"] for job in running(slurm, interrupted)))
    assert interrupted.wait()[0] == 0
    assert [job["JobState"] for job in jobs(slurm, interrupted)] == ["CANCELLED", "COMPLETED"]
    assert_undisturbed(interrupted)


def test_a_job_over_its_time_limit_is_sent_again(slurm, interrupted, assert_undisturbed):
    interrupted.start(*ON_SLURM)
    for job in running(slurm, interrupted):
        slurm.run("scontrol", "update", f"JobId={job['JobId']}", "EndTime=now")
    assert interrupted.wait()[0] == 0
    assert [job["JobState"] for job in jobs(slurm, interrupted)] == ["TIMEOUT", "COMPLETED"]
    assert_undisturbed(interrupted)


def test_jobs_of_a_dead_driver_are_not_run_twice(slurm, interrupted, assert_undisturbed):
    interrupted.start(*ON_SLURM)
    kill_driver(interrupted)
    assert len(running(slurm, interrupted)) == 1
    printed = interrupted.again()
    assert f"process {interrupted.driver.pid}" in printed and "1 Slurm jobs" in printed
    first, second = jobs(slurm, interrupted)
    assert first["JobState"] == "CANCELLED" and first["EndTime"] <= second["StartTime"]
    assert_undisturbed(interrupted)


def test_what_a_dead_driver_left_running_counts_once_finished(slurm, interrupted):
    interrupted.start(*ON_SLURM)
    kill_driver(interrupted)
    while running(slurm, interrupted):
        time.sleep(0.2)
    assert "Nothing to be done" in interrupted.again()
    assert len(jobs(slurm, interrupted)) == 1


def test_a_dead_local_driver_leaves_neither_lock_nor_process(interrupted, assert_undisturbed):
    interrupted.start()
    refused = interrupted.snakemake(*interrupted.arguments, check=False)
    assert "LockException" in refused or "cannot be locked" in refused
    kill_driver(interrupted)
    (orphan,) = interrupted.training()
    interrupted.again()
    assert not orphan.is_running()
    assert_undisturbed(interrupted)


@pytest.fixture
def small_disk(interrupted):
    """The results on a disk of their own, which can be filled."""
    results = interrupted.folder / "results"
    kept = results.rename(results.with_name("kept"))
    results.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64m", "results", str(results)]
    if os.getuid() or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("no disk to fill: mounting one takes root")
    try:
        subprocess.run(["cp", "-a", f"{kept}/.", str(results)], check=True)
        yield results
    finally:
        subprocess.run(["umount", "--lazy", str(results)], check=True)


def test_a_full_disk_loses_nothing(small_disk, interrupted, assert_undisturbed):
    interrupted.start()
    with open(small_disk / "filler", "wb") as filler, pytest.raises(OSError):
        while True:
            filler.write(bytes(2**16))
            filler.flush()
    status, printed = interrupted.wait()
    assert status == 1 and "No space left on device" in printed
    (small_disk / "filler").unlink()
    interrupted.again()
    assert_undisturbed(interrupted)


def kill_driver(project) -> None:
    project.driver.send_signal(signal.SIGKILL)
    project.driver.wait()


def jobs(slurm, project) -> list[dict]:
    found = [job for job in slurm.jobs() if job["WorkDir"] == str(project.folder)]
    return sorted(found, key=lambda job: int(job["JobId"]))


def running(slurm, project) -> list[dict]:
    return [job for job in jobs(slurm, project) if job["JobState"] in ("RUNNING", "COMPLETING")]
