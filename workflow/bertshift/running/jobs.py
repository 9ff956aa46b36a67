import errno
import fcntl
import gc
import io
import json
import os
import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bertshift.errors import UserError
from bertshift.files import write_text
from bertshift.running import gpus, warm
from bertshift.running.redaction import redact


class _Tee(io.TextIOBase):
    """A stream that writes to several streams, without secrets."""

    def __init__(self, *streams):
        self.streams = streams

    def write(self, text: str) -> int:
        redacted = redact(text)
        for stream in self.streams:
            # Where a log is on a full disk, the terminal has the text, and the work continues.
            with suppress(OSError):
                stream.write(redacted)
                stream.flush()
        return len(text)

    def flush(self) -> None:
        for stream in self.streams:
            with suppress(OSError):
                stream.flush()


# Messages of safetensors and NumPy for a full disk; their errors lack its number.
FULL = re.compile(r"os error 28|^\d+ requested and \d+ written$")


def _advise(error: BaseException | None) -> str | None:
    """Say what to do about an error that the machine caused."""
    while error is not None:
        number = getattr(error, "errno", None)
        if number in (errno.ENOSPC, errno.EDQUOT) or FULL.search(str(error)):
            return (
                "no space left on the disk; free some and call the same command again: what is"
                " finished is kept, and training goes on from its last checkpoint."
            )
        if type(error).__name__ == "OutOfMemoryError":  # torch's; not every job has imported torch
            return (
                "the GPU's memory does not hold this; leave the GPU to this job alone, take one"
                " with more, or make what it is about smaller (max_length, probes.edge.width,"
                " probes.structural.rank)."
            )
        error = error.__context__
    return None


# Params that are not settings: digests of code, what the list of figures says of one, the contents
# of the user's own files.
NO_SETTINGS = ("code", "training_code", "drawing", "shows", "own")


def _check_gpu(unusable_gpu: str) -> None:
    """Stop or warn where the job cannot use its GPU: on a CPU an hour of a GPU's work takes a
    day."""
    if problem := gpus.unusable():
        if unusable_gpu == "stop":
            raise UserError(
                f"{problem} To compute on the CPU instead, write `unusable_gpu: ignore` in"
                " config/experiments.yaml."
            )
        print(f"warning: {problem} The job computes on the CPU.", file=sys.stderr)


def settings_of(snakemake) -> dict:
    """Read the settings that the rule has as params, each as JSON with its name."""
    settings = {}
    for name, text in snakemake.params.items():
        if name not in NO_SETTINGS:
            settings |= json.loads(text)
    return settings


def _write_cost(log: Path, started: float) -> None:
    """Write the job's cost next to its log, in the columns of Snakemake's benchmarks: seconds,
    maximal megabytes of resident memory, and CPU seconds, including those of child processes."""
    process = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.monotonic() - started
    megabytes = process.ru_maxrss / 1024
    cpu_seconds = process.ru_utime + process.ru_stime + children.ru_utime + children.ru_stime
    text = f"s\tmax_rss\tcpu_time\n{seconds:.2f}\t{megabytes:.2f}\t{cpu_seconds:.2f}\n"
    write_text(log.with_suffix(".cost.tsv"), text)


def _lock_log(log: io.TextIOBase) -> None:
    """Lock the job's log until this process ends. UserError where another process holds it: the
    same job of a snakemake that has died, which would write the same files."""
    try:
        fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UserError(
            "another process is at work on this job; wait until it has ended, or end it, and call"
            " the same command again."
        ) from None
    except OSError:  # a file system without locks
        pass


def _go_online(downloads: bool) -> None:
    """Let the hub's libraries download, or else only read their cache, in this process and its
    children."""
    for name in warm.OFFLINE:
        os.environ.pop(name, None)
        if not downloads:
            os.environ[name] = "1"


@contextmanager
def job(snakemake, downloads: bool = False) -> Iterator[dict]:
    """Run the body of a script, which gets the rule's settings, with the environment of a job:
    threads, a GPU for rules that ask for one, a log without secrets, no downloads unless
    `downloads`, and errors as one sentence. The job's cost is written next to its log.

    Where there is a server for warm starts, a fork of it runs the script instead, and this does
    not return. Enter it before numpy, torch, matplotlib or a library of the hub is imported: they
    read the environment once.
    """
    if snakemake.threads == warm.THREADS and not downloads:
        warm.hand_over()
    started = time.monotonic()
    _go_online(downloads)
    for name in (
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "RAYON_NUM_THREADS",
    ):
        os.environ[name] = str(snakemake.threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    # Figures are files; a notebook's shell may name a backend that is not installed.
    os.environ["MPLBACKEND"] = "agg"
    # Importing torch and transformers makes half a million objects and no garbage: with fewer
    # collections it is a sixth faster.
    gc.set_threshold(20_000, 50, 100)
    path = Path(str(snakemake.log))
    path.parent.mkdir(parents=True, exist_ok=True)
    terminal = sys.stderr
    with open(path, "a", encoding="utf-8") as log:
        sys.stderr = _Tee(terminal, log)
        try:
            _lock_log(log)
            log.truncate(0)
            if snakemake.resources.get("gpu", 0):
                gpus.take_one(f"{path.parent.name}/{path.stem}")
                _check_gpu(snakemake.config["unusable_gpu"])
            yield settings_of(snakemake)  # the script may write into it
            _write_cost(path, started)
        except UserError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(1)
        except KeyboardInterrupt:
            print("error: interrupted; call the same command again to go on.", file=sys.stderr)
            sys.exit(128 + signal.SIGINT)
        except Exception as error:  # noqa: BLE001 - the log must have every error
            traceback.print_exc()
            if advice := _advise(error):
                print(f"error: {advice}", file=sys.stderr)
            sys.exit(1)
        finally:
            sys.stderr = terminal
