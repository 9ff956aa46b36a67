import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from conftest import ROOT

from bertshift import gpus, jobs

JOB = """
import os, sys
from pathlib import Path
from bertshift import gpus
gpus.SECONDS_BETWEEN_TRIES = 0.05
gpus.take_one(sys.argv[1], *map(Path, sys.argv[2:]))
assert "torch" not in sys.modules
print(os.environ.get("CUDA_VISIBLE_DEVICES"), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def job(tmp_path):
    """A process that takes one of two made-up GPUs, says which, and holds it until its input ends."""
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    (tmp_path / "locks").mkdir()
    started = []

    def start(name, devices=tmp_path, **environment):
        known = {key: value for key, value in os.environ.items() if not key.startswith("CUDA_")}
        process = subprocess.Popen(
            [sys.executable, "-c", JOB, name, devices, tmp_path / "locks"],
            env=known | {"PYTHONPATH": str(ROOT / "workflow")} | environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def given(process) -> str:
    return process.stdout.readline().strip()


def test_each_job_has_a_gpu_of_its_own_and_one_too_many_waits(job, tmp_path):
    first, second = job("first"), job("second")
    assert sorted([given(first), given(second)]) == ["0", "1"]
    third = job("finetune/third")
    line = "finetune/third: all 2 GPUs are taken by other jobs; waiting for one.\n"
    assert third.stderr.readline() == line
    assert third.poll() is None
    os.kill(second.pid, signal.SIGKILL)
    assert given(third) in "01"
    first.communicate("")
    assert given(job("fourth")) in "01"
    # Another user may take what this one has left.
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "locks").iterdir()} == {0o666}


def test_what_is_set_stays_and_nothing_is_taken(job, tmp_path):
    assert given(job("cluster", CUDA_VISIBLE_DEVICES="3")) == "3"
    assert given(job("none wanted", CUDA_VISIBLE_DEVICES="")) == ""
    assert given(job("without a GPU", devices=tmp_path / "locks")) == "None"
    assert not list((tmp_path / "locks").iterdir())


def test_only_a_rule_that_asks_for_a_gpu_takes_one(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setattr(gpus, "take_one", asked.append)
    for resources, log in (({}, "rsa/a.log"), ({"gpu": 0}, "rsa/b.log"), ({"gpu": 1}, "finetune/mnli.log")):
        with jobs.job(SimpleNamespace(threads=1, resources=resources, log=tmp_path / log)):
            pass
    assert asked == ["finetune/mnli"]
