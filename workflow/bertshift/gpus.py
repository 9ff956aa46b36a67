"""One GPU for each job of a machine that has several: a scheduler without a device list counts them, no more."""

import fcntl
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

DEVICES = Path("/dev")
# Not tempfile.gettempdir(), which may be a folder of each user, or of each job.
LOCKS = Path("/tmp")
SECONDS_BETWEEN_TRIES = 2.0

_held: list[int] = []  # open files: their locks end with the process, however it ends


def count(devices: Path = DEVICES) -> int:
    """How many GPUs this machine has, without asking a library that would take hold of one."""
    return len(list(devices.glob("nvidia[0-9]*")))


def take_one(who: str, devices: Path = DEVICES, locks: Path = LOCKS) -> None:
    """Make a GPU that no other process has taken the only one that this process and its children see, until it ends.

    Waits for one, saying so on stderr as `who`. Does nothing where CUDA_VISIBLE_DEVICES says already what to use, as on
    a cluster, and where there is no GPU. Call it before CUDA starts.
    """
    number = count(devices)
    if number == 0 or "CUDA_VISIBLE_DEVICES" in os.environ:
        return
    paths = [locks / f"bertshift-gpu{index}.lock" for index in range(number)]
    taken = _first_free(paths)
    if taken is None:
        print(f"{who}: all {number} GPUs are taken by other jobs; waiting for one.", file=sys.stderr)
        started = time.monotonic()
        while (taken := _first_free(paths)) is None:
            time.sleep(SECONDS_BETWEEN_TRIES)
        print(f"{who}: GPU {taken}, after {time.monotonic() - started:.0f} s of waiting.", file=sys.stderr)
    # CUDA counts the fastest first if not told otherwise, and all jobs must mean the same by a number.
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    os.environ["CUDA_VISIBLE_DEVICES"] = str(taken)


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
    """Another user's file is opened without O_CREAT, which Linux refuses in a shared folder (fs.protected_regular)."""
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
