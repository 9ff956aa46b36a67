import errno
import os
from types import SimpleNamespace

import pytest
import torch
from safetensors import SafetensorError

from bertshift.running.jobs import job


def full_disk():
    raise OSError(errno.ENOSPC, "No space left on device")


def weights_on_a_full_disk():
    raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")


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
