"""One GPU for each job of a machine that has several: a scheduler without a device list counts
them, no more."""

import fcntl
import os
import re
import sys
import time
from contextlib import suppress
from itertools import takewhile
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
    """List the GPUs that this process may use, without asking a library that would take hold of
    one.

    Those that CUDA_VISIBLE_DEVICES names (numbers, UUIDs or MIG ids); where it is not set, this
    machine's, from 0.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return [str(index) for index, _ in enumerate(devices.glob("nvidia[0-9]*"))]
    # CUDA, too, reads up to the first that is none. NoDevFiles is what Slurm gives a job without a
    # GPU.
    return list(
        takewhile(
            lambda name: name not in ("", "-1", "NoDevFiles"), map(str.strip, visible.split(","))
        )
    )


def take_one(who: str, devices: Path = DEVICES, locks: Path = LOCKS) -> None:
    """Make a GPU that no other process has taken the only one that this process and its children
    see, until it ends.

    Waits for one, saying so on stderr as `who`. Does nothing where CUDA_VISIBLE_DEVICES names one
    already, as for a job of a cluster, or none, and where there is no GPU. Call it before CUDA
    starts.
    """
    names, chosen = given(devices), "CUDA_VISIBLE_DEVICES" in os.environ
    if len(names) <= chosen:
        return
    # Slurm may count the GPUs of each of its jobs from 0.
    where = f"-job{os.environ['SLURM_JOB_ID']}" if chosen and "SLURM_JOB_ID" in os.environ else ""
    paths = [
        locks / f"bertshift{where}-gpu{re.sub('[^A-Za-z0-9-]', '_', name)}.lock" for name in names
    ]
    taken = _first_free(paths)
    if taken is None:
        print(
            f"{who}: all {len(names)} GPUs are taken by other jobs; waiting for one.",
            file=sys.stderr,
        )
        started = time.monotonic()
        while (taken := _first_free(paths)) is None:
            time.sleep(SECONDS_BETWEEN_TRIES)
        print(
            f"{who}: GPU {names[taken]}, after {time.monotonic() - started:.0f} s of waiting.",
            file=sys.stderr,
        )
    if not chosen:
        # CUDA counts the fastest first if not told otherwise, and all jobs must mean the same by a
        # number.
        os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    os.environ["CUDA_VISIBLE_DEVICES"] = names[taken]


def unusable(devices: Path = DEVICES, driver: Path = DRIVER) -> str | None:
    """Say why torch cannot use the GPU that this process was given, and what to do; None if it can
    or there is none.

    Imports torch only if the process was given a GPU, by CUDA_VISIBLE_DEVICES, Slurm or a device
    file.
    """
    names = given(devices)
    if "CUDA_VISIBLE_DEVICES" not in os.environ:
        names += filter(
            None, (os.environ.get(name) for name in ("SLURM_STEP_GPUS", "SLURM_JOB_GPUS"))
        )
    if not names:
        return None
    import torch

    if torch.cuda.is_available():
        return None
    known = re.search(r"\b\d+\.[\d.]+\b", driver.read_text()) if driver.exists() else None
    installed = (
        f"NVIDIA's driver is {known[0]}"
        if known
        else f"NVIDIA's driver is not to be found ({driver})"
    )
    build = torch.version.cuda
    oldest = OLDEST_DRIVER.get(build and build.partition(".")[0])
    if build is None:
        remedy = (
            "Install a build with CUDA: unset pip's index of CPU builds (PIP_EXTRA_INDEX_URL,"
            " PIP_INDEX_URL), then make clean-venv venv."
        )
    elif known and oldest and int(known[0].partition(".")[0]) < oldest:
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
        f" {torch.__version__}, built {f'for CUDA {build}' if build else 'without CUDA'}, and"
        f" {installed}. {remedy}"
    )


def _first_free(paths: list[Path]) -> int | None:
    for index, path in enumerate(paths):
        if _lock(path):
            return index
    return None


def _lock(path: Path) -> bool:
    file = _opened(path)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return False
    with suppress(PermissionError):
        os.utime(file)  # or what cleans up old files might take this one away
    _held.append(file)
    return True


def _opened(path: Path) -> int:
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
