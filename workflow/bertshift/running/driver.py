"""The snakemake process that drives a run: who it is, and how the next one takes over when it has died."""

import atexit
import logging
import os
import platform
import re
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import psutil
from snakemake_interface_logger_plugins.common import LogEvent

from bertshift.errors import UserError
from bertshift.files import remembered, write_json

# In the environment of all that a driver starts, on its own machine.
VARIABLE = "BERTSHIFT_DRIVER"
# Within the folder where a driver runs.
RECORDS = Path(".snakemake/drivers")
_NAME = re.compile("bertshift-[0-9a-f]{8}")
# As long as Slurm waits by default between telling a job to stop and killing it.
SECONDS_TO_STOP = 30.0


def begin(folder: Path, submits: bool, say: Callable[[str], None] = print) -> str:
    """Register this process as the driver of the runs in `folder` and return its name, unique among all drivers.

    What a driver that died has left behind ends first: its processes on this machine, its Slurm jobs (known by the
    driver's name within theirs, if `submits`, or if it did), and Snakemake's lock. Training saves a checkpoint when told
    to stop, so what is started again goes on from there.

    Raises UserError as `dead_drivers` does, and if Slurm does not answer.
    """
    records = folder / RECORDS
    me = _describe(submits)
    mine = records / f"{me['name']}.json"
    write_json(mine, me)  # before looking at others: of two that start at once, neither misses the other
    atexit.register(mine.unlink, missing_ok=True)
    dead = dead_drivers(folder, me["name"])
    os.environ[VARIABLE] = me["name"]

    jobs = []
    if submits or any(driver["submits"] for driver in dead.values()):
        jobs = end_jobs(folder, me["name"], needed=bool(dead), say=say)
    processes = end_processes({driver["name"] for driver in dead.values()})
    if dead:
        for lock in (folder / ".snakemake" / "locks").glob("*.lock"):
            lock.unlink()
        for path in dead:
            path.unlink(missing_ok=True)
    if dead or jobs:
        who = " and ".join(map(_title, dead.values())) or "A snakemake of which nothing else is known"
        say(
            f"{who} died here. What it left running is stopped (Slurm jobs: {len(jobs)}, processes on this machine: "
            f"{processes}); training goes on from its last checkpoint."
        )
    return me["name"]


def take_over(folder: Path, settings: object, say: Callable[[str], None] = print) -> None:
    """Begin as the driver in `folder`, and stop its jobs when interrupted.

    settings: those of Snakemake's executor; where it submits jobs to Slurm, their names begin with the driver's.
    """
    submits = hasattr(settings, "jobname_prefix")
    name = begin(folder, submits, say)
    stop_jobs_when_interrupted(name, say)
    if submits:
        settings.jobname_prefix = "_".join(filter(None, [settings.jobname_prefix, name]))


def stop_jobs_when_interrupted(name: str, say: Callable[[str], None] = print) -> None:
    """Let a SIGINT of this process, the driver of this name, stop its jobs too: a terminal sends them one, `kill` does not.

    Snakemake alone would wait for them, and not take note of what they made.
    """

    def stop(*_):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # who cannot wait ends this by a second one
        try:
            say(
                "Interrupted: jobs are told to stop. Call the same command to go on: what is finished is kept, and training "
                "goes on from its last checkpoint."
            )
            end_processes({name})
        finally:
            raise KeyboardInterrupt

    # Else it is not to be interrupted: started by a script in the background.
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        with suppress(ValueError):  # not the main thread, which alone is interrupted
            signal.signal(signal.SIGINT, stop)


def dead_drivers(folder: Path, me: str | None = None) -> dict[Path, dict]:
    """Read the records of drivers in `folder` that died; all but that of the name `me`.

    Raises UserError if one of them is alive, or may be. Two at once would count the same cores and GPUs twice, and the
    first to end would lift the lock of both.
    """
    others = {path: driver for path, driver in _recorded(folder).items() if driver["name"] != me}
    for path, driver in others.items():
        alive = is_alive(driver)
        if alive is None:
            raise UserError(
                f"{_title(driver)} runs in this folder, and this machine cannot tell whether it is still alive. If "
                f"it is dead, call the same command there, or delete {path} here and call snakemake --unlock."
            )
        if alive:
            raise UserError(
                f"{_title(driver)} is at work in this folder; one at a time. Call this again when it has ended, or end "
                f"it (Ctrl-C there, or kill {driver['pid']} on {driver['host']}): what it has finished is kept. Dry runs "
                "(-n), `snakemake plan` and --report may run beside it."
            )
    return others


def at_work(folder: Path) -> list[str]:
    """Name each driver in `folder` that is alive, as far as this machine can tell."""
    found = []
    for driver in _recorded(folder).values():
        with suppress(UserError):
            found += [_title(driver)] if is_alive(driver) else []
    return found


def keep_telling_logs(record: logging.LogRecord) -> bool:
    """Take logs that are empty or missing from the record of a failed job: Snakemake shows none that follow one."""
    if getattr(record, "event", None) == LogEvent.JOB_ERROR:
        record.log = [log for log in record.log if _text(log)] or record.log
    return True


def is_alive(driver: dict) -> bool | None:
    """Tell whether the process of a record runs; None if this machine cannot tell."""
    here = _describe()
    if all(driver[key] == here[key] for key in ("boot", "processes")):
        return _runs(driver["pid"], driver["born"])
    if driver["slurm_job"]:
        return driver["slurm_job"] in {job for job, *_ in _queue()}
    # This machine under an earlier boot; containers and diskless nodes may share either name alone.
    if all(driver[key] == here[key] for key in ("host", "machine", "processes")) and here["machine"]:
        return False
    return None


def end_jobs(folder: Path, me: str, needed: bool, say: Callable[[str], None] = print) -> list[str]:
    """Cancel the Slurm jobs that a driver of another name than `me` submitted in `folder`; wait until they are gone."""

    def left() -> list[str]:
        named = [(job, _NAME.search(name), where) for job, name, where in _queue()]
        return [job for job, name, where in named if name and name[0] != me and _same(where, folder)]

    try:
        jobs = left()
    except UserError:
        if needed:
            raise
        return []  # then the first job of this run says so
    if jobs:
        say(f"Slurm is to end {len(jobs)} jobs of a snakemake that died here: {' '.join(jobs)}")
        _slurm("scancel", *jobs)
    while left():
        time.sleep(1.0)
    return jobs


def end_processes(names: Iterable[str]) -> int:
    """Stop the processes on this machine that the drivers of these names started; how many there were."""
    found = [process for process in psutil.process_iter() if _started_by(process) in names]
    for stop in (psutil.Process.terminate, psutil.Process.kill):
        end = time.monotonic() + SECONDS_TO_STOP
        for process in found:
            with suppress(psutil.Error):
                stop(process)
                process.resume()  # one that is suspended would not notice
        while any(map(_is_left, found)) and time.monotonic() < end:
            time.sleep(0.1)
    return len(found)


def _started_by(process: psutil.Process) -> str | None:
    with suppress(psutil.Error):  # gone meanwhile, or another user's
        return process.environ().get(VARIABLE)


def _is_left(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.status() != psutil.STATUS_ZOMBIE  # which some containers never clear away
    return False


def _describe(submits: bool = False) -> dict:
    return {
        "name": f"bertshift-{secrets.token_hex(4)}",
        "pid": os.getpid(),
        "born": _born(os.getpid()),
        "since": datetime.now().isoformat(sep=" ", timespec="minutes"),
        "host": platform.node(),
        "machine": _text("/etc/machine-id"),
        "boot": _text("/proc/sys/kernel/random/boot_id") or str(psutil.boot_time()),
        "processes": os.readlink("/proc/self/ns/pid") if os.path.islink("/proc/self/ns/pid") else "",
        # Only on its node: the shell of an interactive allocation may outlive the job.
        "slurm_job": os.environ.get("SLURM_JOB_ID", "") if "SLURMD_NODENAME" in os.environ else "",
        "submits": submits,
    }


def _title(driver: dict) -> str:
    return f"The snakemake of {driver['since']} (process {driver['pid']} on {driver['host']})"


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _recorded(folder: Path) -> dict[Path, dict]:
    """Read the records in `folder`; a damaged one counts as none: Snakemake's own lock still refuses a second run."""
    kinds = {key: type(value) for key, value in _describe().items()}
    found = {path: remembered(path) for path in sorted((folder / RECORDS).glob("*.json"))}
    return {
        path: driver
        for path, driver in found.items()
        if all(isinstance(driver.get(key), kind) for key, kind in kinds.items())
    }


def _born(pid: int) -> str:
    """Read the start time in ticks since boot, which no set clock moves; "" if unknown, "dead" of a zombie."""
    fields = _text(f"/proc/{pid}/stat").rpartition(") ")[2].split()
    if not fields:
        return ""
    return "dead" if fields[0] in "ZX" else fields[19]


def _runs(pid: int, born: str) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return _born(pid) in ("", born)  # where it cannot be read, a process of that number counts


def _same(where: str, folder: Path) -> bool:
    return os.path.realpath(where) == os.path.realpath(folder)


def _queue() -> list[list[str]]:
    """List id, name and working folder of every Slurm job that is queued, running or ending."""
    lines = _slurm("squeue", "--noheader", "--format=%A|%j|%Z").splitlines()
    return [line.strip().split("|", 2) for line in lines]


def _slurm(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        reason = (getattr(error, "stderr", None) or str(error)).strip()
        raise UserError(
            f"{command[0]} failed ({reason}), so jobs of an earlier snakemake may still run here; call again when Slurm answers."
        ) from None
    return done.stdout
