"""What a job takes to begin: a fork of a process that has imported the library, against a Python of its own. And what it
takes to know its memory: to look from outside, as Snakemake does twice a second, against what the job says at its end.

    PYTHONPATH=workflow python benchmarks/job_starts.py [--rounds 7]

Each job imports what fine-tuning does and ends. Rounds alternate, as a shared machine is not equally fast all the time;
the ratio is the median over rounds.
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from bertshift.running.preloaded import Forker, used

SCRIPT = "import bertshift.training.finetuning"


def seconds(start):
    begun = time.perf_counter()
    start()
    return time.perf_counter() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    forker, ratios = Forker(), []
    with TemporaryDirectory() as folder:
        script = Path(folder) / "job.py"
        script.write_text(SCRIPT)

        def fork():
            return forker.run(str(script), None)

        begun = time.perf_counter()
        while fork() is None:
            time.sleep(0.05)
        print(f"first import: {time.perf_counter() - begun:.2f} s")
        for _ in range(rounds):
            own = seconds(lambda: subprocess.run([sys.executable, script], check=True))
            forked = seconds(fork)
            ratios.append(own / forked)
            print(f"own Python {own:.2f} s, fork {forked:.3f} s, ratio {ratios[-1]:.0f}")
        process = psutil.Process(forker._process.pid)  # as large as a job that has just begun
        looks = [seconds(process.memory_full_info) for _ in range(rounds)]
        said = statistics.median(seconds(used) for _ in range(rounds))
    print(f"median ratio {statistics.median(ratios):.0f}")
    look = statistics.median(looks)
    print(
        f"a look from outside {1e3 * look:.1f} ms, {200 * look:.1f} % of a core at two a second; ratio {look / said:.0f}"
    )


if __name__ == "__main__":
    main()
