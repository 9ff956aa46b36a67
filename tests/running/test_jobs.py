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


def snakemake(log, **more):
    return SimpleNamespace(threads=1, params={}, resources={}, log=log, **more)


FULL = "error: no space left on the disk; free some and call the same command again"


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        (KeyboardInterrupt(), "error: interrupted; call the same command again"),
        (OSError(errno.ENOSPC, "No space left on device"), FULL),
        (SafetensorError("Error while serializing: No space left on device (os error 28)"), FULL),
        (OSError("160000 requested and 8192 written"), FULL),  # NumPy's, which has no number
        (torch.cuda.OutOfMemoryError(), "error: the GPU's memory does not hold this; leave"),
    ],
)
def test_what_a_machine_or_its_user_ends_is_an_error_with_advice(
    tmp_path, monkeypatch, fault, advice
):
    monkeypatch.setattr(os, "environ", os.environ.copy())
    log = tmp_path / "job.log"
    with pytest.raises(SystemExit), job(snakemake(log)):
        try:
            raise fault
        except Exception as error:
            raise RuntimeError("while saving") from error
    assert log.read_text().splitlines()[-1].startswith(advice)


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
