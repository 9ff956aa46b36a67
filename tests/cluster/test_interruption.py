"""What disturbs a run costs time, nothing else: the same command again goes on from the last
checkpoint."""

import os
import subprocess

import psutil
import pytest
from cluster.conftest import Interrupted

pytestmark = pytest.mark.slow("whole workflow")


@pytest.fixture
def interrupted(undisturbed, tmp_path):
    project = Interrupted(undisturbed, tmp_path / "clone")
    yield project
    project.kill_driver()


def test_a_training_that_is_killed_goes_on_and_so_does_a_driver_that_is(
    interrupted, assert_undisturbed
):
    interrupted.train()
    for process in interrupted.training():
        process.kill()
    assert interrupted.wait() == 1

    interrupted.train()
    orphans = interrupted.training()
    interrupted.kill_driver()
    _, left = psutil.wait_procs(orphans, timeout=60)
    assert orphans and not left
    assert "--unlock" in interrupted.snakemake(*interrupted.arguments, check=False)
    interrupted.again()
    assert_undisturbed(interrupted)


@pytest.fixture
def on_small_disk(undisturbed, tmp_path):
    """A project to be interrupted, on a disk of its own, which can be filled."""
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
