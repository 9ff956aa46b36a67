"""A process that has imported the library once, and forks for each job: a job then starts in about ten milliseconds.

Importing torch and transformers takes about four seconds of CPU time, more than most of the demo's jobs compute.
"""

import gc
import importlib
import json
import os
import pkgutil
import resource
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import bertshift
from bertshift.running import codegraph
from bertshift.running.network import OFFLINE

# A fork has the threads that its parent has imported numpy and torch with.
THREADS = 1
ALONE = {
    "OMP_NUM_THREADS": str(THREADS),
    "OPENBLAS_NUM_THREADS": str(THREADS),
    "MPLBACKEND": "agg",
    **dict.fromkeys(OFFLINE, "1"),
}
LONGEST_MESSAGE = 65_536


@dataclass(frozen=True)
class Ended:
    """How a job went: its exit status, seconds, seconds of CPU time with that of the processes that it started, and
    megabytes of its memory at most (resident). Of a job that a signal ended, the last two are not known: 0."""

    status: int
    seconds: float
    cpu: float
    megabytes: float

    @property
    def record(self) -> dict:
        """Name all but the status as Snakemake's `BenchmarkRecord` does."""
        load = {"cpu_time": self.cpu, "cpu_usage": 100 * self.cpu}
        return {"running_time": self.seconds, "max_rss": self.megabytes, "data_collected": True} | load


class Forker:
    """The process, as its only client sees it: it starts when first needed, and ends with this one."""

    def __init__(self):
        self._lock, self._process, self._channel, self._ready = threading.Lock(), None, None, False
        self._missed = False

    def run(self, script: str, temporary: str | None) -> Ended | None:
        """Run a script in a fork until it ends; None if there is no fork to be had, now or at all.

        The fork has this process's variables of when the forking process started, and its own folder for temporary files.
        A fork that a signal ended has status 1.
        """
        with self._lock:
            answers = self._ask(script, temporary)
        if answers is None:
            return None
        with answers, answers.makefile() as lines:
            if not lines.readline():  # it has begun
                return None
            begun = time.monotonic()
            status, cpu, megabytes = json.loads(lines.readline() or "[1, 0, 0]")
            return Ended(status, time.monotonic() - begun, cpu, megabytes)

    def _ask(self, script: str, temporary: str | None) -> socket.socket | None:
        if self._process is None:
            self._start()
        if (status := self._process.poll()) is not None:
            self._miss(status)
            return None
        with suppress(OSError):  # not ready, or just ended
            self._ready = self._ready or bool(self._channel.recv(1, socket.MSG_DONTWAIT))
        if not self._ready:
            return None
        ours, theirs = socket.socketpair()
        with theirs, suppress(OSError):
            socket.send_fds(self._channel, [json.dumps([script, temporary]).encode()], [theirs.fileno()])
            return ours
        ours.close()
        return None

    def _miss(self, status: int) -> None:
        """Say once that the process has ended: what it wrote stands above, and nothing else would tell."""
        if not self._missed:
            print(
                f"Every job from now on imports the library by itself, which takes seconds: the process that does so once for "
                f"all ended with status {status}. The run goes on; the next one starts a new process.",
                file=sys.stderr,
            )
        self._missed = True

    def _start(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Ctrl-C is for the jobs. What this thread blocks, the process that it starts blocks from its first moment on.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", __name__, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    env=os.environ | ALONE,
                    pass_fds=[theirs.fileno()],
                )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def import_library() -> None:
    codegraph.watch()
    gc.disable()
    for module in pkgutil.walk_packages(bertshift.__path__, "bertshift."):
        importlib.import_module(module.name)
    gc.enable()
    gc.freeze()  # or the first collection in each fork writes to, and so copies, all that is imported


def serve(channel: socket.socket) -> None:
    """Fork for each request on the channel, until its other end is closed.

    ConnectionError where that has never read, as its process has ended.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no ended fork waits for this process
    channel.send(b"r")
    while True:
        request, answers, *_ = socket.recv_fds(channel, LONGEST_MESSAGE, 1)
        if not request:
            return
        with socket.socket(fileno=answers[0]) as answer:
            if os.fork() == 0:
                channel.close()
                _run(*json.loads(request), answer)


def _run(script: str, temporary: str | None, answer: socket.socket) -> None:
    """Be the job: this ends the process. Who asked for it may have ended meanwhile: then a job does not begin."""
    status = 1
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.environ |= dict.fromkeys(("TMPDIR", "TMP", "TEMP"), temporary) if temporary else {}
        with suppress(OSError):  # the name that `ps` and `top` show
            Path("/proc/self/comm").write_text(Path(script).stem.rpartition(".")[2])
        try:
            answer.send(b"\n")
        except ConnectionError:
            sys.exit(1)
        sys.argv, sys.path[0] = [script], os.path.dirname(script)
        runpy.run_path(script, run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as Python does at the end of a script
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        with suppress(ConnectionError):
            answer.send(json.dumps([status, *used()]).encode() + b"\n")
        os._exit(status)  # to free what is imported would take longer than to start


def used() -> tuple[float, float]:
    """Measure the CPU seconds of this process and of those that it has started, and its peak resident megabytes."""
    own, started = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in (own, started)), own.ru_maxrss / 1024


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        import_library()
        with suppress(ConnectionError):
            serve(channel)
