"""One GPU for each job of a machine that has several: a scheduler without a device list only
counts them."""

import fcntl
import math
import os
import re
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

DEVICES = Path("/dev")
DRIVER = Path("/proc/driver/nvidia/version")
# NVIDIA's oldest driver on Linux for any CUDA of a major version (CUDA release notes, minor
# version compatibility).
OLDEST_DRIVER = {"12": 525, "13": 580}
# Not tempfile.gettempdir(), which may be a folder of each user, or of each job.
LOCKS = Path("/tmp")
SECONDS_BETWEEN_TRIES = 2.0

_held: list[int] = []  # open files: their locks end with the process, however it ends


def given(devices: Path = DEVICES) -> list[str]:
    """List the GPUs that this process may use, without a library that would occupy one.

    CUDA_VISIBLE_DEVICES names them (numbers, UUIDs or MIG ids); where it is not set, these are the
    machine's, numbered from 0.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        number = len(list(devices.glob("nvidia[0-9]*")))
        return list(map(str, range(number)))
    names = []
    for name in map(str.strip, visible.split(",")):
        # As CUDA does, read up to the first name of no GPU. Slurm gives NoDevFiles to a job
        # without a GPU.
        if name in ("", "-1", "NoDevFiles"):
            break
        names.append(name)
    return names


def take_one(who: str, devices: Path = DEVICES, locks: Path = LOCKS) -> None:
    """Choose a GPU that no other process has taken, and hide all others from this process and its
    children, until it ends.

    Where all are taken it waits, and prints so on stderr as `who`. It does nothing where
    CUDA_VISIBLE_DEVICES names one already, as for a job of a cluster, or none, and where there is
    no GPU. Call it before CUDA starts.
    """
    names = given(devices)
    is_restricted = "CUDA_VISIBLE_DEVICES" in os.environ
    if not names or (is_restricted and len(names) == 1):
        return
    prefix = "bertshift"
    if is_restricted and "SLURM_JOB_ID" in os.environ:
        # Slurm may count the GPUs of each of its jobs from 0.
        prefix += f"-job{os.environ['SLURM_JOB_ID']}"
    lock_files = {}
    for name in names:
        safe_name = re.sub("[^A-Za-z0-9-]", "_", name)
        lock_files[name] = locks / f"{prefix}-gpu{safe_name}.lock"
    taken = _take_first_free(lock_files)
    if taken is None:
        print(
            f"{who}: all {len(names)} GPUs are taken by other jobs; waiting for one.",
            file=sys.stderr,
        )
        started = time.monotonic()
        while (taken := _take_first_free(lock_files)) is None:
            time.sleep(SECONDS_BETWEEN_TRIES)
        waited = time.monotonic() - started
        print(f"{who}: GPU {taken}, after {waited:.0f} s of waiting.", file=sys.stderr)
    if not is_restricted:
        # By default CUDA counts the fastest GPU first; a number must mean the same GPU in all
        # jobs.
        os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    os.environ["CUDA_VISIBLE_DEVICES"] = taken


def unusable(devices: Path = DEVICES, driver: Path = DRIVER) -> str | None:
    """Say why torch cannot use the GPU that this process was given, and what to do; None if it can
    or there is none.

    Imports torch only if the process was given a GPU, by CUDA_VISIBLE_DEVICES, Slurm or a device
    file.
    """
    names = given(devices)
    if "CUDA_VISIBLE_DEVICES" not in os.environ:
        for variable in ("SLURM_STEP_GPUS", "SLURM_JOB_GPUS"):
            if os.environ.get(variable):
                names.append(os.environ[variable])
    if not names:
        return None
    import torch

    if torch.cuda.is_available():
        return None
    version = re.search(r"\b\d+\.[\d.]+\b", driver.read_text()) if driver.exists() else None
    if version:
        installed = f"NVIDIA's driver is {version[0]}"
        major_version = int(version[0].partition(".")[0])
    else:
        installed = f"NVIDIA's driver is not to be found ({driver})"
        major_version = math.inf
    build = torch.version.cuda
    build_text = f"for CUDA {build}" if build else "without CUDA"
    oldest = OLDEST_DRIVER.get(build.partition(".")[0], 0) if build else 0
    if build is None:
        remedy = (
            "Install a build with CUDA: unset pip's index of CPU builds (PIP_EXTRA_INDEX_URL,"
            " PIP_INDEX_URL), then make clean-venv venv."
        )
    elif major_version < oldest:
        remedy = (
            f"This CUDA needs driver {oldest} or newer: update it, or install a build of torch for"
            " an older CUDA (https://pytorch.org/get-started)."
        )
    else:
        remedy = (
            "See whether `nvidia-smi` shows the GPU on this machine; from a container it is seen"
            ' with --apptainer-args="--nv".'
        )
    return (
        f"this job was given a GPU ({names[0]}) that torch cannot use: torch is"
        f" {torch.__version__}, built {build_text}, and {installed}. {remedy}"
    )


def _take_first_free(lock_files: Mapping[str, Path]) -> str | None:
    """Lock the first free GPU until this process ends, and return its name; None if all are
    taken."""
    return next((name for name, file in lock_files.items() if _lock(file)), None)


def _lock(path: Path) -> bool:
    file = _open_lock_file(path)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return False
    with suppress(PermissionError):
        os.utime(file)  # so that no clean-up of old files deletes it
    _held.append(file)
    return True


def _open_lock_file(path: Path) -> int:
    """Open a file. Another user's is opened without O_CREAT, which Linux refuses in a shared
    folder (fs.protected_regular)."""
    flags = os.O_RDONLY | os.O_NOFOLLOW
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        pass
    umask = os.umask(0)  # other users are to lock it too
    try:
        return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        return os.open(path, flags)
    finally:
        os.umask(umask)
