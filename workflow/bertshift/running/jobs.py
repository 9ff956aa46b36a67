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
    def __init__(self, *streams):
        self.streams = streams

    def write(self, text: str) -> int:
        shown = redact(text)
        for stream in self.streams:
            # A log on a full disk: the terminal has the text, and the work goes on.
            with suppress(OSError):
                stream.write(shown)
                stream.flush()
        return len(text)

    def flush(self) -> None:
        for stream in self.streams:
            with suppress(OSError):
                stream.flush()


# Words of safetensors and NumPy for a full disk, in errors of their own, without its number.
FULL = re.compile(r"os error 28|^\d+ requested and \d+ written$")


def _advice(error: BaseException | None) -> str | None:
    """Say what to do about an error that the machine is the cause of."""
    while error is not None:
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or FULL.search(
            str(error)
        ):
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


# Params that are no settings: digests of code, a figure's description, the contents of the user's
# own files.
NO_SETTINGS = ("code", "training_code", "shows", "own")


def _check_gpu(unusable_gpu: str) -> None:
    """Stop or warn where the job cannot use its GPU: on a CPU an hour of a GPU's work takes a day,
    so nobody is to find out at the end."""
    if problem := gpus.unusable():
        if unusable_gpu == "stop":
            raise UserError(
                f"{problem} To compute on the CPU instead, write `unusable_gpu: ignore` in"
                " config/experiments.yaml."
            )
        print(f"warning: {problem} The job computes on the CPU.", file=sys.stderr)


def settings_of(snakemake) -> dict:
    """Read the settings that the rule has as params, each as JSON with its name."""
    texts = (text for name, text in snakemake.params.items() if name not in NO_SETTINGS)
    return {name: value for text in texts for name, value in json.loads(text).items()}


def _write_cost(log: Path, begun: float) -> None:
    """Write beside its log what the job took, in the columns of Snakemake's benchmarks: seconds,
    megabytes of resident memory at most, and CPU seconds with those of the processes that it
    started."""
    own, started = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    cpu = sum(one.ru_utime + one.ru_stime for one in (own, started))
    row = [time.monotonic() - begun, own.ru_maxrss / 1024, cpu]
    text = "s\tmax_rss\tcpu_time\n" + "\t".join(f"{value:.2f}" for value in row) + "\n"
    write_text(log.with_suffix(".cost.tsv"), text)


def _be_alone(log: io.TextIOBase) -> None:
    """Hold the job's log until this process ends. Raise UserError where another process holds it:
    the same job of a snakemake that has died, which would write the same files."""
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
    """Let the hub's libraries download, or else read their cache alone, in this process and those
    that it starts."""
    for name in warm.OFFLINE:
        os.environ.pop(name, None)
        if not downloads:
            os.environ[name] = "1"


@contextmanager
def job(snakemake, downloads: bool = False) -> Iterator[dict]:
    """Run the body of every script, which gets the rule's settings, inside what a job needs:
    threads, a GPU for rules that ask for one, a log without secrets, no downloads unless it is to
    download, and errors as one sentence. What the job took is written beside its log.

    Where there is a server for warm starts, a fork of it runs the script instead, and this does
    not return. Enter it before numpy, torch, matplotlib or a library of the hub is imported: they
    look once.
    """
    if snakemake.threads == warm.THREADS and not downloads:
        warm.hand_over()
    begun = time.monotonic()
    _go_online(downloads)
    for name in (
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "RAYON_NUM_THREADS",
    ):
        os.environ[name] = str(snakemake.threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    # Pictures are files; a notebook's shell names what may not be installed.
    os.environ["MPLBACKEND"] = "agg"
    # Importing torch and transformers makes half a million objects and no garbage: with fewer
    # looks at them a sixth faster.
    gc.set_threshold(20_000, 50, 100)
    path = Path(str(snakemake.log))
    path.parent.mkdir(parents=True, exist_ok=True)
    terminal = sys.stderr
    with open(path, "a", encoding="utf-8") as log:
        sys.stderr = _Tee(terminal, log)
        try:
            _be_alone(log)
            log.truncate(0)
            if snakemake.resources.get("gpu", 0):
                gpus.take_one(f"{path.parent.name}/{path.stem}")
                _check_gpu(snakemake.config["unusable_gpu"])
            yield settings_of(snakemake)  # the script may write into it
            _write_cost(path, begun)
        except UserError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(1)
        except KeyboardInterrupt:
            print("error: interrupted; call the same command again to go on.", file=sys.stderr)
            sys.exit(128 + signal.SIGINT)
        except Exception as error:  # noqa: BLE001 - the log must have it, whatever it is
            traceback.print_exc()
            if advice := _advice(error):
                print(f"error: {advice}", file=sys.stderr)
            sys.exit(1)
        finally:
            sys.stderr = terminal
