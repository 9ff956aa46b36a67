import errno
import json
import os
from types import SimpleNamespace

import pytest
import torch
from safetensors import SafetensorError

from bertshift.running import codegraph, own_files
from bertshift.running.jobs import job


def full_disk():
    raise OSError(errno.ENOSPC, "No space left on device")


def weights_on_a_full_disk():
    raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")


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
        (out_of_memory, "error: the GPU's memory does not hold this; leave the GPU to this job alone"),
    ],
)
def test_what_a_machine_or_its_user_ends_is_an_error_with_advice(tmp_path, monkeypatch, fail, advice):
    monkeypatch.setattr(os, "environ", os.environ.copy())
    log = tmp_path / "job.log"
    with pytest.raises(SystemExit), job(SimpleNamespace(threads=1, params={}, resources={}, log=log)):
        try:
            fail()
        except Exception as error:
            raise RuntimeError("while saving") from error
    assert log.read_text().splitlines()[-1].startswith(advice)


def edit(file):
    file.write_text("another row")


@pytest.mark.parametrize(("before", "during"), [(edit, None), (None, edit), (None, None), (None, os.utime)])
def test_a_job_fails_whose_own_files_are_not_those_that_it_was_planned_with(
    tmp_path, monkeypatch, before, during
):
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "train.tsv"
    file.write_text("a row")
    told = {"settings": json.dumps({"own": own_files.contents([str(file)])})}
    log, ran = tmp_path / "job.log", []
    snakemake = SimpleNamespace(threads=1, params=told, resources={}, log=log)
    try:
        before and before(file)
        with job(snakemake):
            ran.append(os.environ["MPLBACKEND"] == "agg")
            during and during(file)
        ended = 0
    except SystemExit as end:
        ended = end.code
    assert ended == (edit in (before, during)) and bool(ran) != bool(before)
    assert (f"error: {file} was edited after this run had been planned" in log.read_text()) == bool(ended)


def test_a_job_fails_whose_code_is_not_that_which_it_was_planned_with(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "environ", os.environ.copy())
    told = codegraph.told([codegraph.PACKAGE.parent / "scripts/world.py"])
    for code, ends in ((told, False), ("0" * 12 + told[12:], True)):
        snakemake = SimpleNamespace(threads=1, params={"code": code}, resources={}, log=tmp_path / "job.log")
        ran = []
        try:
            with job(snakemake):
                ran.append(True)
        except SystemExit:
            ran.append("ended")
        assert ran == (["ended"] if ends else [True])
    assert (
        "error: workflow/scripts/world.py, or a module that it imports, was edited"
        in snakemake.log.read_text()
    )
