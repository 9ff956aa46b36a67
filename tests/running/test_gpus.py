import os
import re
import signal
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from conftest import ROOT

from bertshift.running import gpus, jobs

JOB = """
import os, sys
from pathlib import Path
from bertshift.running import gpus
gpus.SECONDS_BETWEEN_TRIES = 0.05
gpus.take_one(sys.argv[1], *map(Path, sys.argv[2:]))
print(os.environ.get("CUDA_VISIBLE_DEVICES"), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def job(tmp_path):
    """A process that takes one of two made-up GPUs, says which, and holds it until its input
    ends."""
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


def test_what_names_one_or_none_stays_and_nothing_is_taken(job, tmp_path):
    assert given(job("cluster", CUDA_VISIBLE_DEVICES="3")) == "3"
    assert given(job("none wanted", CUDA_VISIBLE_DEVICES="")) == ""
    assert given(job("without a GPU", devices=tmp_path / "locks")) == "None"
    assert not list((tmp_path / "locks").iterdir())


def test_of_several_named_each_job_has_one(job):
    names = ("GPU-8932f937-d72c", "MIG-GPU-8932f937/1/0")
    visible = ",".join(names)
    first, second = (
        job("first", CUDA_VISIBLE_DEVICES=visible),
        job("second", CUDA_VISIBLE_DEVICES=visible),
    )
    assert {given(first), given(second)} == set(names)
    third = job("third", CUDA_VISIBLE_DEVICES=visible)
    assert "all 2 GPUs are taken" in third.stderr.readline()
    # Slurm may count the GPUs of each of its jobs from 0.
    assert given(job("elsewhere", CUDA_VISIBLE_DEVICES=visible, SLURM_JOB_ID="7")) == names[0]


def test_only_a_rule_that_asks_for_a_gpu_takes_one(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setattr(gpus, "take_one", asked.append)
    monkeypatch.setattr(gpus, "unusable", lambda: asked.append("checked"))
    for resources, log in (
        ({}, "rsa/a.log"),
        ({"gpu": 0}, "rsa/b.log"),
        ({"gpu": 1}, "finetune/mnli.log"),
    ):
        with jobs.job(script(resources, tmp_path / log)):
            pass
    assert asked == ["finetune/mnli", "checked"]


def script(resources, log, unusable_gpu="stop"):
    return SimpleNamespace(
        threads=1, params={}, resources=resources, log=log, config={"unusable_gpu": unusable_gpu}
    )


# ---- A GPU that torch cannot use
OLD = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024\nGCC version:  12.2.0\n"
NEW = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n"


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A job's machine: files of devices, the driver's description of itself, and a build of torch
    that sees no GPU."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    for name in ("CUDA_VISIBLE_DEVICES", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS"):
        os.environ.pop(name, None)
    (tmp_path / "nvidiactl").touch()

    def machine(devices=0, driver=None, version="2.13.0", cuda="13.0", sees=False, **environment):
        for index in range(devices):
            (tmp_path / f"nvidia{index}").touch()
        if driver:
            (tmp_path / "version").write_text(driver)
        os.environ.update(environment)
        torch = SimpleNamespace(
            __version__=version,
            version=SimpleNamespace(cuda=cuda),
            cuda=SimpleNamespace(is_available=lambda: sees),
        )
        monkeypatch.setitem(sys.modules, "torch", torch)
        return lambda: gpus.unusable(tmp_path, tmp_path / "version")

    return machine


@pytest.mark.parametrize(
    ("there", "sentence"),
    [
        (
            {"devices": 1, "driver": OLD},
            (
                r"\(0\) that torch cannot use: torch is 2.13.0, built for CUDA 13.0, and NVIDIA's driver is 550.54.14. "
                r"This CUDA needs driver 580 or newer: update it, or install"
            ),
        ),
        (
            {"CUDA_VISIBLE_DEVICES": "GPU-1", "driver": NEW},
            r"\(GPU-1\).* 580.65.06. See whether `nvidia-smi`",
        ),
        (
            {"CUDA_VISIBLE_DEVICES": "2", "driver": NEW, "version": "2.13.0+cpu", "cuda": None},
            r"torch is 2.13.0\+cpu, built without CUDA, .* 580.65.06. Install a build with CUDA",
        ),
        ({"SLURM_JOB_GPUS": "3"}, r"\(3\).*driver is not to be found .*--nv"),
        ({"SLURM_STEP_GPUS": "0", "driver": OLD}, "550.54.14"),
    ],
)
def test_a_gpu_that_torch_cannot_use_is_a_sentence(machine, there, sentence):
    assert re.search(sentence, machine(**there)())


@pytest.mark.parametrize(
    "there",
    [
        {},
        {"devices": 1, "CUDA_VISIBLE_DEVICES": ""},
        {"CUDA_VISIBLE_DEVICES": "NoDevFiles"},
        {"SLURM_JOB_GPUS": ""},
    ],
)
def test_without_a_gpu_torch_is_not_even_imported(machine, there, monkeypatch):
    check = machine(**there)
    monkeypatch.setitem(sys.modules, "torch", None)  # importing it would fail
    assert check() is None


@pytest.mark.parametrize("unusable_gpu", ["stop", "ignore"])
def test_a_job_stops_unless_told_to_ignore_the_gpu(machine, tmp_path, unusable_gpu):
    machine(CUDA_VISIBLE_DEVICES="0")
    log, ran = tmp_path / "finetune/mnli.log", False
    expected = pytest.raises(SystemExit) if unusable_gpu == "stop" else nullcontext()
    with expected, jobs.job(script({"gpu": 1}, log, unusable_gpu)):
        ran = True
    assert ran == (unusable_gpu == "ignore")
    (line,) = log.read_text().splitlines()
    problem = "this job was given a GPU (0) that torch cannot use: torch is 2.13.0,"
    assert line.startswith(f"{'warning' if ran else 'error'}: {problem}")
    assert line.endswith(
        "on the CPU." if ran else "`unusable_gpu: ignore` in config/experiments.yaml."
    )
