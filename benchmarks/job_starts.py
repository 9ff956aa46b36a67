"""What a job takes to begin: a fork of a process that has imported the library, against a Python of its own.

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

from bertshift.running.preloaded import Forker

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
    print(f"median ratio {statistics.median(ratios):.0f}")


if __name__ == "__main__":
    main()
