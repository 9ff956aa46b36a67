import errno
import gc
import io
import json
import os
import re
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bertshift.errors import UserError
from bertshift.running import codegraph, gpus, network, own_files
from bertshift.running.redaction import redact


class _Tee(io.TextIOBase):
    def __init__(self, *streams):
        self.streams = streams

    def write(self, text: str) -> int:
        shown = redact(text)
        for stream in self.streams:
            with suppress(OSError):  # a log on a full disk: the terminal has the text, and the work goes on
                stream.write(shown)
                stream.flush()
        return len(text)

    def flush(self) -> None:
        for stream in self.streams:
            with suppress(OSError):
                stream.flush()


# What safetensors and NumPy say of a full disk in errors of their own, without its number.
FULL = re.compile(r"os error 28|^\d+ requested and \d+ written$")


def _advice(error: BaseException | None) -> str | None:
    """Say what to do about an error that the machine is the cause of."""
    while error is not None:
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or FULL.search(str(error)):
            return (
                "no space left on the disk; free some and call the same command again: what is finished is kept, and "
                "training goes on from its last checkpoint."
            )
        if type(error).__name__ == "OutOfMemoryError":  # torch's; not every job has imported torch
            return (
                "the GPU's memory does not hold this; leave the GPU to this job alone, take one with more, or make "
                "what it is about smaller (max_length, probes.edge.width, probes.structural.rank)."
            )
        error = error.__context__
    return None


def _check_gpu(unusable_gpu: str) -> None:
    """Stop or warn where the job cannot use its GPU: on a CPU an hour of a GPU's work takes a day, so nobody
    is to find out at the end."""
    if problem := gpus.unusable():
        if unusable_gpu == "stop":
            raise UserError(
                f"{problem} To compute on the CPU instead, write `unusable_gpu: ignore` in config/experiments.yaml."
            )
        print(f"warning: {problem} The job computes on the CPU.", file=sys.stderr)


def settings_of(snakemake):
    """Read what the rule's request said beside the files; None for a rule that says nothing."""
    told = snakemake.params.get("settings")
    return told and json.loads(told)


def _check_origins(code: str | None, settings) -> None:
    """Raise UserError where the code or the user's own files are not those that the job was planned with."""
    if code:
        codegraph.check(code)
    if isinstance(settings, dict) and "own" in settings:
        own_files.check(settings["own"])


@contextmanager
def job(snakemake, downloads: bool = False) -> Iterator[dict | list | None]:
    """Run the body of every script, which gets the rule's settings, inside what a job needs: threads, a GPU
    for rules that ask for one, log without secrets, no network unless it downloads, and errors as one
    sentence. The code and the user's own files must be those that the job was planned with, when it begins
    and when it ends.

    Enter it before numpy, torch, matplotlib or a library of the hub is imported: they look once.
    """
    network.allow(downloads)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ[name] = str(snakemake.threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ["MPLBACKEND"] = "agg"  # pictures are files; a notebook's shell names what may not be installed
    # Importing torch and transformers makes half a million objects and no garbage: with fewer looks at them a sixth faster.
    gc.set_threshold(20_000, 50, 100)
    path = Path(str(snakemake.log))
    path.parent.mkdir(parents=True, exist_ok=True)
    terminal = sys.stderr
    with open(path, "w", encoding="utf-8") as log:
        sys.stderr = _Tee(terminal, log)
        try:
            if snakemake.resources.get("gpu", 0):
                gpus.take_one(f"{path.parent.name}/{path.stem}")
                _check_gpu(snakemake.config["unusable_gpu"])
            code, settings = snakemake.params.get("code"), settings_of(snakemake)
            codegraph.watch()
            _check_origins(code, settings)
            with network.as_allowed():
                yield settings_of(snakemake)  # the script may write into it
            _check_origins(code, settings)
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
