import csv
import errno
import fcntl
import os
import time
from types import SimpleNamespace

import pytest
import torch
from safetensors import SafetensorError

from bertshift.running.jobs import job


def full_disk():
    raise OSError(errno.ENOSPC, "No space left on device")


def weights_on_a_full_disk():
    raise SafetensorError(
        "Error while serializing: I/O error: No space left on device (os error 28)"
    )


def array_on_a_full_disk():
    raise OSError("160000 requested and 8192 written")  # NumPy's, which has no number


def out_of_memory():
    raise torch.cuda.OutOfMemoryError("CUDA out of memory.")


def interrupted():
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("fail", "advice"),
    [
        (interrupted, "error: interrupted; call the same command again"),
        (full_disk, "error: no space left on the disk; free some and call the same command again"),
        (weights_on_a_full_disk, "error: no space left on the disk"),
        (array_on_a_full_disk, "error: no space left on the disk"),
        (
            out_of_memory,
            "error: the GPU's memory does not hold this; leave the GPU to this job alone",
        ),
    ],
)
def test_what_a_machine_or_its_user_ends_is_an_error_with_advice(
    tmp_path, monkeypatch, fail, advice
):
    monkeypatch.setattr(os, "environ", os.environ.copy())
    log = tmp_path / "job.log"
    with (
        pytest.raises(SystemExit),
        job(SimpleNamespace(threads=1, params={}, resources={}, log=log)),
    ):
        try:
            fail()
        except Exception as error:
            raise RuntimeError("while saving") from error
    assert log.read_text().splitlines()[-1].startswith(advice)


def snakemake(log, **more):
    return SimpleNamespace(threads=1, params={}, resources={}, log=log, **more)


def test_a_job_records_what_it_took(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "environ", os.environ.copy())
    with job(snakemake(tmp_path / "job.log")):
        begun = time.process_time()
        while time.process_time() < begun + 0.3:
            pass
        assert os.environ["MPLBACKEND"] == "agg" and os.environ["HF_HUB_OFFLINE"] == "1"
    with job(snakemake(tmp_path / "online.log"), downloads=True):
        assert "HF_HUB_OFFLINE" not in os.environ
    [took] = csv.DictReader((tmp_path / "job.cost.tsv").read_text().splitlines(), delimiter="\t")
    assert (
        float(took["s"]) >= 0.3 and float(took["cpu_time"]) >= 0.3 and float(took["max_rss"]) > 50
    )


def test_beside_a_job_the_same_job_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "environ", os.environ.copy())
    log = tmp_path / "job.log"
    with open(log, "w") as held:
        held.write("at work")
        held.flush()
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(SystemExit), job(snakemake(log)):
            pytest.fail("it ran")
        assert (
            log.read_text().startswith("at work")
            and "another process is at work" in log.read_text()
        )
    with job(snakemake(log)):
        pass
    assert log.read_text() == ""
