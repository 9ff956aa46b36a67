import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.logging import show_logs
from snakemake_interface_logger_plugins.common import LogEvent

from bertshift.errors import UserError
from bertshift.running import driver

# A driver that starts one process, says its number, and waits. Of what runs in the background a shell may let SIGINT be ignored.
DRIVER = """
import pathlib, signal, subprocess, sys, time
from bertshift.running import driver
signal.signal(signal.SIGINT, signal.default_int_handler)
driver.stop_jobs_when_interrupted(driver.begin(pathlib.Path(sys.argv[1]), False))
print(subprocess.Popen(["sleep", "600"]).pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path):
    locks = tmp_path / ".snakemake/locks"
    locks.mkdir(parents=True)
    (locks / "0.output.lock").write_text("results/claims.tsv\n")
    return tmp_path


@pytest.fixture
def other(folder):
    """Another driver in this folder, and the number of the process that it started."""
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(folder)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
    )
    process.started = int(process.stdout.readline())
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def begin(folder, monkeypatch):
    """The messages of a driver that begins here."""
    monkeypatch.setattr(driver.atexit, "register", lambda *_, **__: None)
    monkeypatch.setenv(driver.VARIABLE, "")

    def begin(submits=False):
        said, before = [], records(folder)
        try:
            driver.begin(folder, submits, said.append)
        finally:  # as at its end
            for path in set(records(folder)) - set(before):
                path.unlink()
        return said

    return begin


def locked(folder):
    return list((folder / ".snakemake/locks").iterdir()) != []


def records(folder):
    return sorted((folder / driver.RECORDS).glob("*.json"))


def test_beside_a_live_driver_none_begins(folder, other, begin):
    with pytest.raises(
        UserError, match=rf"\(process {other.pid} on .* is at work in this folder; .*kill {other.pid} "
    ):
        begin()
    assert locked(folder) and other.poll() is None and alive(other.started)


def test_a_dead_driver_loses_its_lock_and_its_processes(folder, other, begin):
    other.kill()
    other.wait()
    assert alive(other.started)
    start = time.monotonic()
    (said,) = begin()
    assert f"process {other.pid}" in said and time.monotonic() - start < driver.SECONDS_TO_STOP
    assert not locked(folder) and not alive(other.started) and not records(folder)


def test_a_driver_that_is_interrupted_alone_stops_its_jobs(other):
    other.send_signal(signal.SIGINT)
    assert other.wait(60) and not alive(other.started)
    assert "Call the same command to go on" in other.stdout.read()


def test_a_lock_of_unknown_origin_stays(folder, begin):
    begin()
    assert locked(folder)


@pytest.mark.parametrize("text", ["{half", "[]", '{"name": "bertshift-00000000"}', ""])
def test_a_damaged_record_counts_as_none(folder, begin, text):
    record = folder / driver.RECORDS / "bertshift-00000000.json"
    record.parent.mkdir()
    record.write_text(text)
    begin()
    assert locked(folder) and driver.at_work(folder) == []


def test_a_dead_driver_beside_a_live_one_lifts_nothing(folder, other, begin):
    record = json.loads(records(folder)[0].read_text())
    write(folder, record | {"name": "bertshift-00000000", "born": "1"})  # its number is another process's now
    with pytest.raises(UserError, match="is at work"):
        begin()
    assert locked(folder) and len(records(folder)) == 2


def test_a_driver_of_an_earlier_boot_is_dead(folder, other, begin):
    record = json.loads(records(folder)[0].read_text())
    write(folder, record | {"boot": "earlier"})
    if record["machine"]:
        begin()
        assert not locked(folder)


def test_a_driver_elsewhere_is_left_to_the_user(folder, other, begin):
    record = json.loads(records(folder)[0].read_text())
    write(folder, record | {"boot": "another", "host": "login2"})
    with pytest.raises(UserError, match=r"login2.*call the same command there, or delete .*\.json"):
        begin()
    assert locked(folder) and alive(other.started)


def test_a_driver_that_was_a_slurm_job_is_dead_when_its_job_is_gone(folder, other, begin, monkeypatch):
    record = json.loads(records(folder)[0].read_text())
    write(folder, record | {"boot": "another", "host": "node7", "slurm_job": "12"})
    with monkeypatch.context() as without_slurm:
        without_slurm.setenv("PATH", "/nowhere")
        assert not driver.at_work(folder)
    monkeypatch.setattr(driver, "_slurm", lambda *_: "12|snakemake|/elsewhere\n")
    assert len(driver.at_work(folder)) == 1
    with pytest.raises(UserError, match="on node7.* is at work"):
        begin()
    monkeypatch.setattr(driver, "_slurm", lambda *_: "")
    begin()
    assert not locked(folder)


def test_only_the_jobs_of_the_dead_in_this_folder_are_cancelled(folder, monkeypatch):
    jobs = [
        f"1|bertshift-00000001_a|{folder}",
        f"2|bertshift-00000002_b|{folder}",
        "3|bertshift-00000001_c|/elsewhere",
        f"4|another|{folder}",
        f"5|lab_bertshift-00000003_d|{folder}",
    ]
    cancelled = []

    def slurm(command, *rest):
        if command == "scancel":
            cancelled.extend(rest)
        return "\n".join(line for line in jobs if line.split("|")[0] not in cancelled)

    monkeypatch.setattr(driver, "_slurm", slurm)
    assert driver.end_jobs(folder, "bertshift-00000002", needed=True) == ["1", "5"] == cancelled


def test_the_slurm_jobs_of_a_driver_have_its_name_after_that_of_the_user(folder, monkeypatch):
    monkeypatch.setattr(driver.atexit, "register", lambda *_, **__: None)
    monkeypatch.setattr(driver, "stop_jobs_when_interrupted", lambda *_: None)
    monkeypatch.setattr(driver, "_queue", list)
    monkeypatch.setenv(driver.VARIABLE, "")
    slurm, local = SimpleNamespace(jobname_prefix="mine"), SimpleNamespace()
    driver.take_over(folder, slurm)
    (record,) = records(folder)
    assert slurm.jobname_prefix == f"mine_{record.stem}" and json.loads(record.read_text())["submits"]
    record.unlink()
    driver.take_over(folder, local)
    assert not vars(local) and len(records(folder)) == 1


def test_nothing_starts_while_slurm_does_not_say_what_runs(folder, begin, monkeypatch, other):
    other.kill()
    other.wait()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match="squeue failed"):
        begin(submits=True)
    assert locked(folder)


def test_the_log_that_tells_why_a_job_failed_is_shown(tmp_path):
    empty, _, slurms = logs = [str(tmp_path / name) for name in ("empty.log", "missing.log", "12.log")]
    Path(empty).touch()
    Path(slurms).write_text("slurmstepd: error: execve(): python: No such file or directory\n")
    record = logging.makeLogRecord({"event": LogEvent.JOB_ERROR, "log": logs})
    driver.keep_telling_logs(record)
    assert any("execve" in line for line in show_logs(record.log))


def write(folder, record):
    for path in records(folder):
        if path.stem == record["name"]:
            path.unlink()
    path = folder / ".snakemake/drivers" / f"{record['name']}.json"
    path.write_text(json.dumps(record))


def alive(pid):
    return driver._born(pid) not in ("", "dead")
